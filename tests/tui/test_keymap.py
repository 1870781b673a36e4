"""The keymap file: keys of one's own, and where the file is wrong when it is."""

from __future__ import annotations

from string import ascii_letters

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.errors import InputError
from knobctl.tui.actions import ACTIONS, EVERYWHERE, Action
from knobctl.tui.keymap import clash, key_words, keymap_text, keys_of, read_keymap
from tests.running import Knobctl

TABLE = (
    Action(id="quit", keys=("q",), title="q", help="h", places=(EVERYWHERE,), command="quit"),
    Action(id="open", keys=("enter",), title="o", help="h", places=("fleet",), command="open"),
    Action(id="undo", keys=("u",), title="u", help="h", places=("tenant",), command="undo"),
    Action(id="unset", keys=("x",), title="x", help="h", places=("tenant",), command="unset"),
    Action(id="arm", title="a", help="h", places=(EVERYWHERE,), command="arm"),
)


def read(text: str) -> dict[str, tuple[str, ...]]:
    """Read a text as the file."""
    return dict(read_keymap(text.encode(), "keymap.yaml", TABLE))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("keys:\n", {}),
        ("keys: {quit: Q}", {"quit": ("Q",)}),
        ("keys:\n  quit: [f10, ctrl+x]\n", {"quit": ("f10", "ctrl+x")}),
        ("keys:\n  quit: question_mark\n", {"quit": ("?",)}),
        ("keys:\n  quit: ' '\n", {"quit": ("space",)}),
        ("keys:\n  quit: y\n", {"quit": ("y",)}),
        ("keys:\n  quit: 1\n", {"quit": ("1",)}),
        ("keys:\n  quit: F1\n", {"quit": ("f1",)}),
        ("keys: {undo: x, unset: u}", {"undo": ("x",), "unset": ("u",)}),
        ("keys: {arm: a}", {"arm": ("a",)}),
    ],
)
def test_an_action_gets_the_keys_that_the_file_gives_it(
    text: str, found: dict[str, tuple[str, ...]]
) -> None:
    """One key or several, by character or by name; two may change places."""
    assert read(text) == found


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("keys:\n  qiut: q\n", "2:3", "no action 'qiut'"),
        ("keys:\n  quit: ctrl+enter\n", "2:9", "no key that every terminal sends"),
        ("keys:\n  quit: ctrl+m\n", "2:9", "cannot tell it from Enter"),
        ("keys:\n  quit: ctrl+c\n", "2:9", "cannot be given away"),
        ("keys:\n  quit: [q, delete]\n", "2:13", "cannot be given away"),
        ("keys:\n  quit: []\n", "2:9", "has no key"),
        ("keys:\n  quit: true\n", "2:9", "a key is text"),
        ("keys:\n  quit: 12\n", "2:9", "a key is text"),
        ("keys:\n  quit: {a: b}\n", "2:9", "a key is text"),
        ("keys:\n  quit: é\n", "2:9", "no key that every terminal sends"),
        ("keys:\n  undo: q\n", "2:9", "would mean two things on the tenant screen"),
        ("keys:\n  undo: x\n", "2:9", "undo and unset"),
        ("keys:\n  quit: u\n", "2:9", "would mean two things"),
        ("keys:\n  quit: q\n  quit: Q\n", "3:3", "quit"),
        ("keys:\n\tquit: q\n", "2:1", "a tab indents"),
        ("kyes:\n  quit: q\n", "1:1", "no part of a keymap"),
        ("- q\n", "1:1", "a keymap is"),
        ("keys: q\n", "1:7", "an action a line"),
        ("keys: {\x1b: q}", "1:8", "control character"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, place: str, said: str) -> None:
    """File, line and column, and nothing is half applied."""
    with pytest.raises(InputError) as caught:
        read(text)
    assert caught.value.message.startswith(f"keymap.yaml:{place}: "), caught.value.message
    assert said in caught.value.message


def test_a_mistyped_id_is_told_the_nearest() -> None:
    """As everywhere."""
    with pytest.raises(InputError) as caught:
        read("keys: {qiut: q}")
    assert caught.value.hint == "did you mean quit?"


def test_bytes_that_are_no_text_are_told_so() -> None:
    """By the reader that all documents go through."""
    with pytest.raises(InputError, match="no UTF-8"):
        read_keymap(b"keys: {quit: \xff}", "keymap.yaml", TABLE)


def test_the_printed_file_reads_back_as_what_it_prints() -> None:
    """It can be saved as it is, and changes nothing."""
    text = keymap_text(ACTIONS, {}, "keymap.yaml")
    keymap = read_keymap(text.encode(), "keymap.yaml", ACTIONS)
    assert clash(ACTIONS, keymap) is None
    for action in ACTIONS:
        assert action.id in text
        assert [key_words(key) for key in keys_of(action, keymap)] == [
            key_words(key) for key in action.keys
        ]


@given(st.dictionaries(st.sampled_from([one.id for one in TABLE]), st.sampled_from(ascii_letters)))
@settings(deadline=None, max_examples=100)
def test_a_file_is_refused_exactly_where_a_key_would_mean_two_things(keys: dict[str, str]) -> None:
    """And else taken as it is."""
    text = "keys:\n" + "".join(f'  {id_}: "{key}"\n' for id_, key in keys.items())
    given = {id_: (key,) for id_, key in keys.items()}
    if clash(TABLE, given):
        with pytest.raises(InputError, match="would mean two things"):
            read(text)
    else:
        assert read(text) == given


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("question_mark", "?"),
        ("ctrl+d", "Ctrl-D"),
        ("shift+tab", "Shift-Tab"),
        ("f1", "F1"),
        ("escape", "Esc"),
        ("enter", "Enter"),
        ("U", "U"),
        ("less_than_sign", "<"),
        ("plus", "+"),
        ("minus", "-"),
        ("space", "Space"),
        ("slash", "/"),
        ("left_square_bracket", "["),
        ("pageup", "PgUp"),
    ],
)
def test_a_key_is_written_as_people_do(key: str, words: str) -> None:
    """In the footer and in the help."""
    assert key_words(key) == words


def test_the_command_prints_the_file_and_refuses_a_wrong_one(knobctl: Knobctl) -> None:
    """Without a terminal: it is an answer like others."""
    printed = knobctl("tui", "--print-keymap")
    assert printed.code == 0
    assert '  quit: "q"  # quit (everywhere; :quit)' in printed.out
    path = knobctl.folder.with_name(f"{knobctl.folder.name}-home") / "config/knobctl/keymap.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("keys:\n  quit: Q\n", encoding="utf-8")
    assert '  quit: "Q"' in knobctl("tui", "--print-keymap").out
    path.write_text("keys:\n  quiet: Q\n", encoding="utf-8")
    refused = knobctl("tui", "--print-keymap")
    assert refused.code == 4
    assert "keymap.yaml:2:3: there is no action 'quiet'" in refused.err
    assert "did you mean quit?" in refused.err
