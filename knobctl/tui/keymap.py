"""The keymap file: the user's own keys for the actions of the table."""

from __future__ import annotations

from string import ascii_letters, digits, punctuation
from typing import TYPE_CHECKING, Final, TypeAlias

from textual.keys import key_to_character

from knobctl.documents.reader import read_bytes
from knobctl.errors import InputError
from knobctl.text import nearest, visible
from knobctl.tui.actions import EVERYWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knobctl.documents.tree import Spot, Text, Value
    from knobctl.tui.actions import Action

Keymap: TypeAlias = "Mapping[str, tuple[str, ...]]"
"""By the id of an action, the keys that start it instead of the table's."""

FILE: Final = "keymap.yaml"
_NAMED: Final = (
    *("escape", "enter", "tab", "shift+tab", "space", "up", "down", "left", "right"),
    *("home", "end", "pageup", "pagedown", "insert"),
    *(f"f{number}" for number in range(1, 13)),
)
_SHORTENED: Final = {
    "slash": "/",
    "backslash": "\\",
    "at": "@",
    "minus": "-",
    "plus": "+",
    "underscore": "_",
}
"""What Textual names shorter than Unicode does, and does not find again itself."""
_SAME: Final = {"ctrl+h": "Backspace", "ctrl+i": "Tab", "ctrl+j": "Enter", "ctrl+m": "Enter"}
_RESERVED: Final = {
    "ctrl+c": "it never does anything but explain how to leave",
    "backspace": "who corrects a typing mistake must not start anything",
    "delete": "who corrects a typing mistake must not start anything",
    **{key: f"terminals cannot tell it from {name}" for key, name in _SAME.items()},
}
_CONTROL: Final = frozenset(f"ctrl+{letter}" for letter in ascii_letters[:26])
_IGNORED: Final = frozenset({"ambiguous-scalar"})
"""What is wrong with a value elsewhere: `y` and `n` are keys here."""


def read_keymap(raw: bytes, source: str, actions: Sequence[Action]) -> Keymap:
    """Read a keymap file.

    Args:
        raw: Its bytes.
        source: Its name, for what is wrong with it.
        actions: The table.

    Raises:
        InputError: With `file:line:column`, if an id is unknown, a key illegal, or a key would mean two
            things in one place.
    """
    text = read_bytes(raw, source)
    ids, spots = _written(text)
    known = {action.id: action for action in actions}
    keymap: dict[str, tuple[str, ...]] = {}
    for name, value in ids.items():
        if name not in known:
            close = nearest(name, known)
            hint = f"did you mean {close}?" if close else "knobctl tui --print-keymap lists all"
            raise _fault(text, spots[name].key, f"there is no action {visible(name)!r}", hint)
        keymap[name] = tuple(_keys(text, name, value, spots[name]))
    _refuse_clashes(text, keymap, spots, actions)
    return keymap


def _written(text: Text) -> tuple[Mapping[str, Value], Mapping[str, Spot]]:
    """The actions that a file names, and where; none where it is empty."""
    troubles = [*text.troubles, *(trouble for tree in text.trees for trouble in tree.troubles)]
    for trouble in troubles:
        if trouble.rule not in _IGNORED:
            raise _fault(text, trouble.start, trouble.message, trouble.hint)
    if not text.trees or text.trees[0].value is None:
        return {}, {}
    tree = text.trees[0]
    if not isinstance(tree.value, dict) or not isinstance(tree.spot.children, dict):
        raise _fault(text, tree.spot.start, "a keymap is `keys:` with an action a line below it")
    for name, spot in tree.spot.children.items():
        if name != "keys":
            message = f"{visible(name)!r} is no part of a keymap; write `keys:`"
            raise _fault(text, spot.key, message)
    ids, spot = tree.value.get("keys"), tree.spot.children.get("keys")
    if ids is None or spot is None:
        return {}, {}
    if not isinstance(ids, dict) or not isinstance(spot.children, dict):
        raise _fault(text, spot.start, "`keys:` names an action a line: `refresh: R`")
    return ids, spot.children


def keys_of(action: Action, keymap: Keymap) -> tuple[str, ...]:
    """The keys of an action: the user's, else the table's."""
    return keymap.get(action.id, action.keys)


def key_words(key: str) -> str:
    """Write a key as people do: `?`, `Ctrl-D`, `F1`, `Enter`."""
    names = {"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn"}
    *modifiers, last = key.split("+") if len(key) > 1 else [key]
    if modifiers:
        return "-".join(
            (*map(str.capitalize, modifiers), last.upper() if len(last) == 1 else last.capitalize())
        )
    return names.get(last) or (
        _character(last) if len(last) == 1 or _character(last) != last else last.capitalize()
    )


def keymap_text(actions: Iterable[Action], keymap: Keymap, path: str) -> str:
    """Write a keymap file with every action, ready to be saved and cut down.

    Args:
        actions: The table.
        keymap: What the user has by now.
        path: Where the file belongs.
    """
    parts = [
        "# The keys of `knobctl tui`. What you leave out keeps its usual key; every action has its",
        f"# `:` command too. The file belongs at {visible(path)}",
        "keys:",
    ]
    for action in actions:
        keys = [f'"{_escaped(_character(key))}"' for key in keys_of(action, keymap)]
        where = ", ".join(action.places)
        if keys:
            value = keys[0] if len(keys) == 1 else f"[{', '.join(keys)}]"
            parts.append(f"  {action.id}: {value}  # {action.title} ({where}; :{action.command})")
        else:
            parts.append(f"  # {action.id}:  # {action.title} ({where}; only :{action.command})")
    return "\n".join(parts) + "\n"


def _escaped(character: str) -> str:
    return f"\\{character}" if character in '"\\' else character


def _keys(text: Text, name: str, value: Value, spot: Spot) -> Iterable[str]:
    """The keys of one line, which is a key or a list of keys."""
    pairs: list[tuple[Value, Spot]] = [(value, spot)]
    if isinstance(value, list) and isinstance(spot.children, list):
        pairs = list(zip(value, spot.children, strict=True))
    if not pairs:
        message = f"{name} has no key; leave the line out to keep the usual one"
        raise _fault(text, spot.start, message)
    for each, place in pairs:
        key = str(each) if type(each) is int and 0 <= each <= 9 else each
        if not isinstance(key, str):
            raise _fault(text, place.start, f'{name}: a key is text, such as R, "?" or ctrl+r')
        yield _legal(text, key, place)


def _legal(text: Text, written: str, spot: Spot) -> str:
    key = _character(written if len(written) == 1 else written.lower())
    if key in _RESERVED:
        raise _fault(text, spot.start, f"{key} cannot be given away: {_RESERVED[key]}")
    if (
        key in _NAMED
        or key in _CONTROL
        or (len(key) == 1 and key in ascii_letters + digits + punctuation)
    ):
        return key
    close = nearest(key, (*_NAMED, "ctrl+r"))
    hint = f"did you mean {close}?" if close else None
    message = f"{visible(written)!r} is no key that every terminal sends: one character, ctrl+ and a letter, or {', '.join(_NAMED[:4])}, f1 and the like"
    raise _fault(text, spot.start, message, hint)


def _character(key: str) -> str:
    """Spell a key in one way: `question_mark` and `?` are the same."""
    if key == "space" or len(key) == 1:
        return "space" if key == " " else key
    character = _SHORTENED.get(key) or key_to_character(key)
    return character if character and character.isprintable() and character != " " else key


def _refuse_clashes(
    text: Text, keymap: Keymap, spots: Mapping[str, Spot], actions: Sequence[Action]
) -> None:
    found = clash(actions, keymap)
    if found:
        key, one, other, place = found
        mine, others = (one, other) if one in keymap else (other, one)
        where = "everywhere" if place == EVERYWHERE else f"on the {place} screen"
        raise _fault(
            text,
            spots[mine].start,
            f"{key_words(key)} would mean two things {where}: {mine} and {others}",
            f"give {others} another key as well",
        )


def clash(
    actions: Sequence[Action], keymap: Keymap | None = None
) -> tuple[str, str, str, str] | None:
    """Find a key that means two things in one place: the key, both actions, the place."""
    places = dict.fromkeys(place for action in actions for place in action.places)
    for place in places:
        taken: dict[str, str] = {}
        for action in actions:
            if place in action.places or EVERYWHERE in action.places:
                for key in map(_character, keys_of(action, keymap or {})):
                    if key in taken and taken[key] != action.id:
                        return key, taken[key], action.id, place
                    taken[key] = action.id
    return None


def _fault(text: Text, at: int, message: str, hint: str | None = None) -> InputError:
    place = text.location(at)
    return InputError(f"{text.source}:{place.line}:{place.column}: {message}", hint=hint)
