"""What the palette offers for what is typed."""

from __future__ import annotations

import pytest

from knobctl.tui.actions import ACTIONS, FLEET, actions_of
from knobctl.tui.commands import MOST
from knobctl.tui.palette import matching, rows

HERE = actions_of(FLEET)
OFFERS = {
    "theme": lambda typed: (name for name in ("dark", "light") if name.startswith(typed)),
    "tenant": lambda typed: (f"t{number}" for number in range(100_000) if typed in f"t{number}"),
}


def lines(typed: str) -> list[str]:
    """The command lines that are offered."""
    return [row.line for row in rows(typed, HERE, OFFERS)]


def test_with_nothing_typed_everything_is_offered_once() -> None:
    """What is worth a place in the footer first."""
    assert sorted(lines("")) == sorted(action.command for action in HERE)
    assert lines("")[0] == "open"


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("q", "quit"),
        (":q", "quit"),
        ("th", "theme"),
        ("read-only again", "disarm"),
        ("does the same", "twin"),
        ("HELP", "help"),
        ("another theme", "theme"),
    ],
)
def test_a_name_comes_before_a_title_and_a_title_before_what_is_said(
    typed: str, first: str
) -> None:
    """All words have to fit."""
    assert lines(typed)[0] == first


def test_words_that_fit_nothing_offer_nothing() -> None:
    """One that does not fit is enough."""
    assert lines("theme xyzzy quux") == []
    assert matching("xyzzy", ACTIONS) == []


def test_behind_a_command_its_arguments_are_offered() -> None:
    """As whole lines."""
    assert lines("theme ") == ["theme dark", "theme light"]
    assert lines(":theme l") == ["theme light"]
    assert lines("quit ") == ["quit"]


def test_tenants_are_offered_behind_their_prefix_only() -> None:
    """Fifty of them at most; a tenant is opened by a command like another."""
    assert lines("t99999") == []
    assert lines("tenant:99999") == ["tenant t99999"]
    assert lines("tenant: t9999")[:2] == ["tenant t9999", "tenant t99990"]
    assert len(lines("tenant:")) == MOST
