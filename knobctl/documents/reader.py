"""Reads YAML 1.2 (and so JSON) into plain values with a position for every key and value.

One pass over libyaml's events builds values, positions, and what is wrong with them. The measured
alternatives (a loader plus a second, positioned parse) cost twice as much and disagree with each
other about twenty spellings; see `tests/documents/test_reader.py` for the list that is pinned here.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from yaml.cyaml import CParser
from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)
from yaml.reader import ReaderError

from knobctl.finding import Location

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.events import Event

MAX_BYTES: Final = 1024 * 1024
MAX_DEPTH: Final = 32
MAX_NODES: Final = 10_000

Value: TypeAlias = "None | bool | int | float | str | list[Value] | dict[str, Value]"


class Spot(NamedTuple):
    """Where a node stands in the text: character offsets, from 0, ends exclusive."""

    key: int
    """Start of the key; of the node itself where it has none."""
    start: int
    end: int
    children: dict[str, Spot] | list[Spot] | None = None
    """Spots of a mapping's values or a sequence's items."""
    via: int = -1
    """Where the alias or merge key stands through which the node was reached; -1 if written here."""


class Trouble(NamedTuple):
    """Something wrong at one place of a text, not yet a finding: severity depends on what stands there."""

    rule: str
    message: str
    start: int
    end: int
    hint: str | None = None
    related: tuple[tuple[str, int], ...] = ()


@dataclass(slots=True)
class Tree:
    """One document of a stream: its value, and where everything in it stands."""

    value: Value
    spot: Spot
    troubles: list[Trouble] = field(default_factory=list)


@dataclass(slots=True)
class Text:
    """A text as read, and its documents. Offsets count characters after a byte-order mark."""

    source: str
    """The name that findings carry."""
    text: str
    trees: list[Tree] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    """What makes the text as a whole unreadable, or readable only up to there."""
    _starts: list[int] | None = None

    def location(self, start: int, end: int | None = None) -> Location:
        """Turn offsets into lines and columns, both from 1."""
        line, column = self._line_column(start)
        end_line, end_column = self._line_column(start if end is None else end)
        return Location(self.source, line, column, end_line, end_column)

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its end."""
        starts = self._line_starts()
        stop = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : stop].rstrip("\r\n")

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        return self._starts

    def _line_column(self, offset: int) -> tuple[int, int]:
        from bisect import bisect_right

        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1


_LINE_END: Final = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
_INT: Final = re.compile(r"[-+]?[0-9]+\Z").match
_BASED_INT: Final = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z").match
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z").match
_CONSTANTS: Final[dict[str, Value]] = (
    dict.fromkeys(("", "~", "null", "Null", "NULL"))
    | dict.fromkeys(("true", "True", "TRUE"), True)
    | dict.fromkeys(("false", "False", "FALSE"), False)
    | dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf)
    | dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf)
    | dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan)
)
_OTHER_DIALECT: Final = re.compile(
    r"(?:yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)\Z"
    r"|[-+]?[1-9][0-9]*(?::[0-5]?[0-9])+(?:\.[0-9]*)?\Z"  # base 60
    r"|[-+]?[0-9][0-9]*_[0-9_]*(?:\.[0-9_]*)?\Z"  # digit groups
    r"|0b[01_]+\Z"
).match
_CORE: Final = "tag:yaml.org,2002:"


def read_bytes(raw: bytes, source: str) -> Text:
    """Read a file's bytes: UTF-8, with or without a byte-order mark.

    Args:
        raw: The file's content.
        source: The name that findings carry.

    Returns:
        The text with its documents; what is wrong stands in `troubles`. Never raises for bad input.
    """
    if len(raw) > MAX_BYTES:
        message = f"{len(raw):,} bytes; a file may hold {MAX_BYTES:,}"
        return Text(source, "", troubles=[Trouble("yaml-limits", message, 0, 0, "split the file")])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig", "replace")
        message = f"byte 0x{raw[error.start]:02x} is no UTF-8"
        trouble = Trouble(
            "yaml-syntax", message, len(before), len(before), "save the file as UTF-8"
        )
        return Text(source, before, troubles=[trouble])
    return read_text(text, source)


def read_text(text: str, source: str) -> Text:
    """Read a text without byte-order mark; see `read_bytes`."""
    result = Text(source, text)
    if len(text) > MAX_BYTES:
        message = f"{len(text):,} characters; a text may hold {MAX_BYTES:,}"
        result.troubles.append(Trouble("yaml-limits", message, 0, 0, "split it"))
        return result
    try:
        for tree in _Builder(text).trees():
            result.trees.append(tree)
    except _Stop as stop:
        result.troubles.append(stop.trouble)
    except ReaderError as error:
        position = min(int(error.position), len(text))
        result.troubles.append(
            Trouble(
                "yaml-syntax",
                "a control character that YAML forbids",
                position,
                position + 1,
                "remove it",
            )
        )
    except MarkedYAMLError as error:
        result.troubles.append(_syntax_trouble(error, text))
    except YAMLError as error:
        result.troubles.append(Trouble("yaml-syntax", str(error), 0, 0))
    return result


class _Stop(Exception):  # noqa: N818  it ends the reading of a text, and is caught where the reading began
    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.message)
        self.trouble = trouble


class _Anchor(NamedTuple):
    value: Value
    spot: Spot
    nodes: int


class _Builder:
    """Builds values and spots from libyaml's events."""

    __slots__ = ("_anchors", "_next", "_nodes", "_open", "_parser", "_text", "_troubles")

    def __init__(self, text: str) -> None:
        self._parser = CParser(text)
        self._next = self._parser.get_event
        self._text = text

    def trees(self) -> Iterator[Tree]:
        try:
            self._next()  # the stream's start
            while True:
                event = self._next()
                if isinstance(event, StreamEndEvent):
                    return
                assert isinstance(event, DocumentStartEvent)
                yield self._tree(event)
        finally:
            self._parser.dispose()

    def _tree(self, start: DocumentStartEvent) -> Tree:
        if start.version or start.tags:
            at = start.start_mark.index
            raise _Stop(
                Trouble(
                    "unsupported-yaml",
                    "a % directive changes how every scalar below it is read",
                    at,
                    at,
                    "remove the line; documents are YAML 1.2",
                )
            )
        self._anchors: dict[str, _Anchor] = {}
        self._open: set[str] = set()
        self._nodes = 0
        self._troubles: list[Trouble] = []
        event = self._next()
        value, spot = self._node(event, event.start_mark.index, 0)
        self._next()  # the document's end
        return Tree(value, spot, self._troubles)

    def _node(self, event: Event, key: int, depth: int) -> tuple[Value, Spot]:
        kind = type(event)
        self._nodes += 1
        if kind is ScalarEvent:
            start, end = event.start_mark.index, event.end_mark.index
            value: Value
            if event.implicit[0]:
                value = self._plain(event.value, start, end)
            elif event.tag is None or event.tag in {"!", _CORE + "str"}:
                value = event.value
            else:
                value = self._tagged(event, start, end)
            spot = Spot(key, start, end)
            if event.anchor is not None:
                self._anchors[event.anchor] = _Anchor(value, spot, 1)
            return value, spot
        if self._nodes > MAX_NODES:
            self._too_many(event.start_mark.index)
        if kind is AliasEvent:
            return self._alias(event, key)
        if depth >= MAX_DEPTH:
            at = event.start_mark.index
            raise _Stop(
                Trouble(
                    "yaml-limits", f"nested deeper than {MAX_DEPTH} levels", at, at, "flatten it"
                )
            )
        return self._collection(event, key, depth)

    def _collection(self, event: Event, key: int, depth: int) -> tuple[Value, Spot]:
        anchor, before = event.anchor, self._nodes
        if event.tag is not None and event.tag not in {"!", _CORE + "map", _CORE + "seq"}:
            self._unsupported_tag(event)
        if anchor is not None:
            self._open.add(anchor)
        value: Value
        children: dict[str, Spot] | list[Spot]
        if type(event) is MappingStartEvent:
            value, children, end = self._mapping(depth + 1)
        else:
            value, children, end = self._sequence(depth + 1)
        spot = Spot(key, event.start_mark.index, end, children)
        if anchor is not None:
            self._open.discard(anchor)
            self._anchors[anchor] = _Anchor(value, spot, self._nodes - before + 1)
        return value, spot

    def _sequence(self, depth: int) -> tuple[list[Value], list[Spot], int]:
        values: list[Value] = []
        spots: list[Spot] = []
        while True:
            event = self._next()
            if type(event) is SequenceEndEvent:
                return values, spots, event.end_mark.index
            value, spot = self._node(event, event.start_mark.index, depth)
            values.append(value)
            spots.append(spot)
            if self._nodes > MAX_NODES:
                self._too_many(spot.start)

    def _mapping(self, depth: int) -> tuple[dict[str, Value], dict[str, Spot], int]:
        values: dict[str, Value] = {}
        spots: dict[str, Spot] = {}
        merge: tuple[Value, Spot] | None = None
        get = self._next
        while True:
            event = get()
            if type(event) is MappingEndEvent:
                if merge is not None:
                    self._merge(values, spots, *merge)
                return values, spots, event.end_mark.index
            name = self._key(event)
            at = event.start_mark.index
            value, spot = self._node(get(), at, depth)
            if self._nodes > MAX_NODES:
                self._too_many(at)
            if name == "<<" and event.implicit[0]:
                if merge is None:
                    merge = value, spot
                else:
                    self._duplicate("<<", merge[1].key, at)
            elif name in values:
                self._duplicate(name, spots[name].key, at)
            else:
                values[name] = value
                spots[name] = spot

    def _key(self, event: Event) -> str:
        """Read a key: text, or a plain scalar that YAML 1.2 reads as text."""
        if type(event) is not ScalarEvent:
            if (
                type(event) is AliasEvent
                or isinstance(event, MappingStartEvent)
                or event.start_mark
            ):
                at, end = event.start_mark.index, event.end_mark.index
                raise _Stop(
                    Trouble(
                        "unsupported-yaml",
                        "a key must be plain text, no alias, list or mapping",
                        at,
                        end,
                    )
                )
        name: str = event.value
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchor(
                name, Spot(event.start_mark.index, event.start_mark.index, event.end_mark.index), 1
            )
        if event.implicit[0] and not name[:1].isalpha() or name in _CONSTANTS and event.implicit[0]:
            self._key_must_be_text(event, name)
        elif event.implicit[0] and _OTHER_DIALECT(name):
            self._ambiguous(name, event.start_mark.index, event.end_mark.index, "a truth value")
        return name

    def _key_must_be_text(self, event: Event, name: str) -> None:
        if name in _CONSTANTS or _INT(name) or _BASED_INT(name) or _FLOAT(name):
            self._troubles.append(
                Trouble(
                    "unsupported-yaml",
                    f"the key {name or 'null'} is read as a number, truth value or null, not as text",
                    event.start_mark.index,
                    event.end_mark.index,
                    f"quote it: '{name}'",
                )
            )

    def _merge(
        self, values: dict[str, Value], spots: dict[str, Spot], merged: Value, spot: Spot
    ) -> None:
        pairs: list[tuple[Value, Spot]] = [(merged, spot)]
        if isinstance(merged, list) and isinstance(spot.children, list):
            pairs = list(zip(merged, spot.children, strict=True))
        for source, place in pairs:
            if not isinstance(source, dict) or not isinstance(place.children, dict):
                self._troubles.append(
                    Trouble(
                        "yaml-syntax",
                        "a merge key << takes a mapping or a list of mappings",
                        spot.start,
                        spot.end,
                    )
                )
                continue
            for name, value in source.items():
                if name not in values:
                    values[name] = value
                    spots[name] = place.children[name]._replace(via=spot.key)

    def _alias(self, event: Event, key: int) -> tuple[Value, Spot]:
        at, end = event.start_mark.index, event.end_mark.index
        if event.anchor in self._open:
            raise _Stop(
                Trouble(
                    "yaml-limits",
                    f"*{event.anchor} stands inside itself",
                    at,
                    end,
                    "remove the cycle",
                )
            )
        anchor = self._anchors.get(event.anchor)
        if anchor is None:
            raise _Stop(
                Trouble(
                    "yaml-syntax",
                    f"*{event.anchor} has no anchor &{event.anchor} before it",
                    at,
                    end,
                )
            )
        self._nodes += anchor.nodes - 1
        if self._nodes > MAX_NODES:
            self._too_many(at)
        return anchor.value, anchor.spot._replace(key=key, via=at)

    def _plain(self, text: str, start: int, end: int) -> Value:
        """Read a plain scalar by the core schema of YAML 1.2."""
        first = text[:1]
        if first.isalpha() and text not in _CONSTANTS:
            if len(text) < 4 and _OTHER_DIALECT(text):
                self._ambiguous(text, start, end, "a truth value")
            return text
        if _INT(text):
            return self._integer(text, start, end)
        if _FLOAT(text):
            return self._float(text, start, end)
        if text in _CONSTANTS:
            value = _CONSTANTS[text]
            if isinstance(value, float):
                self._not_finite(text, start, end)
            return value
        if _BASED_INT(text):
            return int(text, 0)
        if _OTHER_DIALECT(text):
            self._ambiguous(text, start, end, _reading_1_1(text))
        return text

    def _integer(self, text: str, start: int, end: int) -> Value:
        if len(text) > 20:
            if len(text) > 400:
                self._not_finite(f"{text[:12]}... ({len(text)} digits)", start, end)
                return math.inf
            return float(text) if abs(float(text)) > 2**63 else int(text)
        digits = text.lstrip("+-")
        if len(digits) > 1 and digits[0] == "0" and digits.strip("0"):
            octal = int(digits, 8) if not set(digits) & {"8", "9"} else f'the text "{text}"'
            self._ambiguous(text, start, end, octal, f"write {int(text)} or 0o{digits.lstrip('0')}")
        value = int(text)
        if value == 0 and text[0] == "-":
            self._negative_zero(text, start, end)
            return -0.0
        return value

    def _float(self, text: str, start: int, end: int) -> Value:
        value = float(text)
        if value == 0:
            if text.lower().split("e", 1)[0].strip("+-0."):
                self._troubles.append(
                    Trouble(
                        "underflow-to-zero",
                        f"{text} is too small for a double and becomes 0, which means the platform default",
                        start,
                        end,
                        "write 0.0001 for practically none",
                    )
                )
            elif text[0] == "-":
                self._negative_zero(text, start, end)
        elif math.isinf(value):
            self._not_finite(text, start, end)
        return value

    def _tagged(self, event: Event, start: int, end: int) -> Value:
        tag = event.tag.removeprefix(_CORE)
        if tag not in {"int", "float", "bool", "null"} or tag == event.tag:
            self._unsupported_tag(event)
        value = self._plain(event.value, start, end)
        kinds = {"int": int, "float": (int, float), "bool": bool, "null": type(None)}
        if not isinstance(value, kinds[tag]) or (
            tag in {"int", "float"} and isinstance(value, bool)
        ):
            self._troubles.append(
                Trouble("yaml-syntax", f"{event.value} is no !!{tag}", start, end)
            )
        return float(value) if tag == "float" and isinstance(value, int) else value

    def _unsupported_tag(self, event: Event) -> None:
        at = event.start_mark.index
        end = at + len(self._text[at:].split(maxsplit=1)[0]) if at < len(self._text) else at
        raise _Stop(
            Trouble(
                "unsupported-yaml",
                "tags are not read; nothing in a document is code",
                at,
                end,
                "remove the tag",
            )
        )

    def _duplicate(self, name: str, first: int, second: int) -> None:
        hint = (
            "write one merge key with a list of aliases: <<: [*a, *b], or use layers"
            if name == "<<"
            else "keep one of the two; neither is used"
        )
        self._troubles.append(
            Trouble(
                "duplicate-key",
                f"{name} is written twice in one mapping",
                second,
                second + len(name),
                hint,
                (("written first here", first),),
            )
        )

    def _ambiguous(
        self, text: str, start: int, end: int, other: object, hint: str | None = None
    ) -> None:
        self._troubles.append(
            Trouble(
                "ambiguous-scalar",
                f"{text} is read as {_reading_1_2(text)} here (YAML 1.2) and as {other} by YAML 1.1 readers",
                start,
                end,
                hint or f"quote it if text is meant: '{text}'",
            )
        )

    def _negative_zero(self, text: str, start: int, end: int) -> None:
        self._troubles.append(
            Trouble(
                "negative-zero",
                f"{text} is a zero with a sign; a zero means the platform default",
                start,
                end,
                "write 0.0001 for practically none, or leave the line out to follow the default",
            )
        )

    def _not_finite(self, text: str, start: int, end: int) -> None:
        self._troubles.append(
            Trouble(
                "not-finite",
                f"{text} is no finite number",
                start,
                end,
                "write a number inside the range",
            )
        )

    def _too_many(self, at: int) -> None:
        raise _Stop(
            Trouble(
                "yaml-limits",
                f"more than {MAX_NODES:,} nodes once aliases are followed",
                at,
                at,
                "split the document, or write layers instead of aliases",
            )
        )


def _reading_1_2(text: str) -> str:
    return str(int(text)) if _INT(text) else f'the text "{text}"'


def _reading_1_1(text: str) -> str:
    if text.startswith("0b"):
        return f"the number {int(text.replace('_', ''), 2)}"
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.lstrip("+"))
    if ":" not in digits:
        return f"the number {text.replace('_', '')}"
    total = 0.0
    for part in digits.split(":"):
        total = total * 60 + float(part.replace("_", "") or 0)
    return f"the number {sign * total:g}"


def _syntax_trouble(error: MarkedYAMLError, text: str) -> Trouble:
    mark = error.problem_mark or error.context_mark
    at = min(mark.index, len(text)) if mark else 0
    line_start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    if "\t" in text[line_start : at + 1] and not text[line_start:at].strip():
        return Trouble(
            "yaml-syntax", "a tab indents this line", line_start, at + 1, "indent with spaces"
        )
    context = f" ({error.context})" if error.context else ""
    return Trouble("yaml-syntax", f"{error.problem or 'unreadable'}{context}", at, at)
