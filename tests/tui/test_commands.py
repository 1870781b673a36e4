"""What a `:` line means, how it can go on, and what was typed before."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.errors import UsageError
from knobctl.tui.actions import Action
from knobctl.tui.commands import MOST, History, common_start, completions, parse, usage

QUIT = Action(id="quit", title="quit", help="Leave.", places=("x",), command="quit", aliases=("q",))
THEME = Action(
    id="theme", title="theme", help="Colours.", places=("x",), command="theme", argument="theme"
)
TENANT = Action(
    id="tenant", title="t", help="Open.", places=("x",), command="tenant", argument="tenant"
)
ALL = (QUIT, THEME, TENANT)
OFFERS = {
    "theme": lambda typed: (name for name in ("dark", "light") if name.startswith(typed)),
    "tenant": lambda typed: (f"t{number}" for number in range(100_000) if typed in f"t{number}"),
}


@pytest.mark.parametrize("text", ["quit", ":quit", "q", " : q ", ":q"])
def test_a_command_goes_by_its_name_and_its_short_one(text: str) -> None:
    """With or without the colon."""
    assert parse(text, ALL).action is QUIT


def test_what_follows_the_name_is_the_argument() -> None:
    """Whole: a reason has blanks."""
    assert parse(":tenant  acme eu ", ALL).argument == "acme eu"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("quti", "did you mean :quit"),
        ("xyzzy", "Tab lists all"),
        ("", "no command"),
        (":", "no command"),
        ("quit now", "takes nothing after it"),
        ("\x1b[2Jquit", r"\\x1b\[2Jquit"),
    ],
)
def test_what_is_no_command_is_said_in_words(text: str, said: str) -> None:
    """With the nearest one, and nothing of it unescaped."""
    with pytest.raises(UsageError, match=said) as caught:
        parse(text, ALL)
    assert "\x1b" not in caught.value.message


def test_a_name_is_completed_and_then_its_argument() -> None:
    """Short names are offered only to who begins to type them."""
    assert completions("", ALL, OFFERS) == ["quit", "tenant", "theme"]
    assert completions(":t", ALL, OFFERS) == ["tenant", "theme"]
    assert completions("q", ALL, OFFERS) == ["quit", "q"]
    assert completions("theme d", ALL, OFFERS) == ["theme dark"]
    assert completions("quit x", ALL, OFFERS) == []
    assert completions("nothing x", ALL, OFFERS) == []


def test_of_a_hundred_thousand_tenants_fifty_are_offered() -> None:
    """And the rest is not even looked at."""
    found = completions("tenant t9", ALL, OFFERS)
    assert len(found) == MOST
    assert found[0] == "tenant t9"


def test_a_command_says_what_it_takes() -> None:
    """In capitals, as in `--help`."""
    assert (usage(QUIT), usage(THEME)) == (":quit", ":theme THEME")


@given(st.lists(st.text("ab", max_size=4), max_size=5))
@settings(deadline=None, max_examples=80)
def test_a_common_start_is_one(lines: list[str]) -> None:
    """And there is no longer one."""
    start = common_start(lines)
    assert all(line.startswith(start) for line in lines)
    if lines and all(len(line) > len(start) for line in lines):
        assert len({line[len(start)] for line in lines}) > 1


def test_the_history_is_walked_and_what_was_being_typed_comes_back() -> None:
    """The same line twice is one line of it."""
    history = History()
    assert history.older("typed") == "typed"
    for line in ("theme dark", "theme dark", "tenant acme"):
        history.add(line)
    assert history.older("ty") == "tenant acme"
    assert history.older("?") == "theme dark"
    assert history.older("?") == "theme dark"
    assert history.newer("?") == "tenant acme"
    assert history.newer("?") == "ty"
    assert not history.walks


def test_the_history_does_not_grow_for_ever() -> None:
    """A session may last for days."""
    history = History()
    for number in range(500):
        history.add(str(number))
    assert history.lines == [str(number) for number in range(400, 500)]
