"""Builds values and spots from libyaml's events, and notes what is wrong on the way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from knobctl.documents.scalars import (
    CORE,
    NOT_CLEAN,
    SHORT,
    ambiguous,
    clip,
    key_trouble,
    plain,
    short_key_trouble,
    short_plain,
    tagged,
)
from knobctl.documents.tree import Spot, TextStop, Tree, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.documents.tree import Value

MAX_DEPTH: Final = 32
MAX_NODES: Final = 10_000

Event: TypeAlias = Any
"""An event of libyaml. The stubs give all kinds one base class without the attributes that are read here."""

_PROPERTIES: Final = re.compile(r"(?:[&!][^\s,\[\]{}]*\s*(?:#[^\n]*\s*)*)*").match
"""The anchor and tag before a node: libyaml's marks begin at them."""
_new: Final = tuple.__new__


class _Anchor(NamedTuple):
    value: Value
    spot: Spot
    nodes: int
    height: int


class Builder:
    """Builds the documents of one text."""

    __slots__ = ("_anchors", "_next", "_nodes", "_open", "_parser", "_text", "_troubles")

    def __init__(self, text: str) -> None:
        self._parser = CParser(text)
        self._next = self._parser.get_event
        self._text = text
        self._anchors: dict[str, _Anchor] = {}
        self._open: set[str] = set()
        self._nodes = 0
        self._troubles: list[Trouble] = []

    def trees(self) -> Iterator[Tree]:
        """Give one document after the other.

        Raises:
            TextStop: At something that is not supported or beyond a limit.
            yaml.YAMLError: At something that is no YAML.
        """
        try:
            self._next()  # the stream's start
            while type(start := self._next()) is not StreamEndEvent:
                yield self._tree(start)
        finally:
            self._parser.dispose()

    def _tree(self, start: Event) -> Tree:
        if start.version or start.tags:
            at = start.start_mark.index
            message = "a % directive changes how every scalar below it is read"
            hint = "remove the line; documents are YAML 1.2"
            raise TextStop(Trouble("unsupported-yaml", message, at, self._line_end(at), hint))
        self._anchors, self._open, self._nodes, self._troubles = {}, set(), 0, []
        event: Event = self._next()
        value, spot = self._node(event, event.start_mark.index, 0)
        self._next()  # the document's end
        return Tree(value, spot, self._troubles)

    def _line_end(self, at: int) -> int:
        end = self._text.find("\n", at)
        return len(self._text) if end < 0 else end

    def _node(self, event: Event, key: int, depth: int) -> tuple[Value, Spot]:
        kind = type(event)
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _too_many(event.start_mark.index)
        if kind is ScalarEvent:
            return self._scalar(event, key)
        if kind is AliasEvent:
            return self._alias(event, key, depth)
        if depth >= MAX_DEPTH:
            raise _too_deep(event.start_mark.index)
        return self._collection(event, key, depth)

    def _scalar(self, event: Event, key: int) -> tuple[Value, Spot]:
        start, end = event.start_mark.index, event.end_mark.index
        if event.anchor is not None or event.tag is not None:
            start = self._after_properties(start, end)
        value: Value
        if event.implicit[0]:
            value = plain(event.value, start, end, self._troubles)
        elif event.tag is None or event.tag in {"!", CORE + "str"}:
            value = event.value
        else:
            tag = event.tag.removeprefix(CORE)
            if tag == event.tag or tag not in {"int", "float", "bool", "null"}:
                raise self._tag(event)
            value = tagged(tag, event.value, start, end, self._troubles)
        spot = Spot(key, start, end)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchor(value, spot, 1, 0)
        return value, spot

    def _after_properties(self, start: int, end: int) -> int:
        found = _PROPERTIES(self._text, start, end)
        return found.end() if found else start

    def _collection(self, event: Event, key: int, depth: int) -> tuple[Value, Spot]:
        anchor, before, start = event.anchor, self._nodes, event.start_mark.index
        if event.tag is not None and event.tag not in {"!", CORE + "map", CORE + "seq"}:
            raise self._tag(event)
        if anchor is not None or event.tag is not None:
            start = self._after_properties(start, len(self._text))
        if anchor is not None:
            self._open.add(anchor)
        value: Value
        children: dict[str, Spot] | list[Spot]
        if type(event) is MappingStartEvent:
            value, children, end, merge = self._mapping(depth + 1)
        else:
            value, children, end = self._sequence(depth + 1)
            merge = -1
        if not event.flow_style:
            # libyaml ends a block where the next thing begins; it ends with its last line.
            end = self._block_end(start, end)
        spot = Spot(key, start, end, children, merge=merge)
        if anchor is not None:
            self._open.discard(anchor)
            nodes = self._nodes - before + 1
            self._anchors[anchor] = _Anchor(value, spot, nodes, _height(value))
        return value, spot

    def _block_end(self, start: int, end: int) -> int:
        return start + len(self._text[start:end].rstrip())

    def _sequence(self, depth: int) -> tuple[list[Value], list[Spot], int]:
        values: list[Value] = []
        spots: list[Spot] = []
        while True:
            event: Event = self._next()
            kind = type(event)
            if kind is SequenceEndEvent:
                return values, spots, event.end_mark.index
            value, spot = self._node(event, event.start_mark.index, depth)
            values.append(value)
            spots.append(spot)

    def _mapping(  # noqa: C901, PLR0912, PLR0915  the loop that the speed of a fleet hangs on: calls cost more than branches
        self, depth: int
    ) -> tuple[dict[str, Value], dict[str, Spot], int, int]:
        values: dict[str, Value] = {}
        spots: dict[str, Spot] = {}
        merge: tuple[Value, Spot] | None = None
        get = self._next
        while True:
            event: Event = get()
            kind = type(event)
            if kind is not ScalarEvent or event.anchor is not None or event.tag is not None:
                if kind is MappingEndEvent:
                    if merge is not None:
                        self._merge(values, spots, *merge)
                    return values, spots, event.end_mark.index, merge[1].key if merge else -1
                at = self._odd_key(event)
            else:
                at = event.start_mark.index
            name: str = event.value
            if event.implicit[0] and (
                short_key_trouble(name) if len(name) <= SHORT else key_trouble(name)
            ):
                self._note_key(name, at, event.end_mark.index)
            inner: Event = get()
            # The common case, without a call: a scalar with neither anchor nor tag.
            kind = type(inner)
            if kind is ScalarEvent and inner.anchor is None and inner.tag is None:
                self._nodes += 1
                if self._nodes > MAX_NODES:
                    raise _too_many(at)
                start, end = inner.start_mark.index, inner.end_mark.index
                value = inner.value
                if inner.implicit[0]:
                    clean: Any = short_plain(value) if len(value) <= SHORT else NOT_CLEAN
                    value = (
                        plain(inner.value, start, end, self._troubles)
                        if clean is NOT_CLEAN
                        else clean
                    )
                spot: Spot = _new(Spot, (at, start, end, None, -1, -1))
            else:
                value, spot = self._node(inner, at, depth)
            if name in values or (name == "<<" and event.implicit[0]):
                if name in values:
                    self._troubles.append(_duplicate(name, spots[name].key, at))
                elif merge is not None:
                    self._troubles.append(_duplicate(name, merge[1].key, at))
                else:
                    merge = value, spot
            else:
                values[name] = value
                spots[name] = spot

    def _odd_key(self, event: Event) -> int:
        """The place of a key that has an anchor or a tag; other odd keys are refused."""
        start, end = event.start_mark.index, event.end_mark.index
        if type(event) is not ScalarEvent:
            message = "a key must be plain text, no alias, list or mapping"
            raise TextStop(Trouble("unsupported-yaml", message, start, end))
        if event.tag is not None and event.tag not in {"!", CORE + "str"}:
            raise self._tag(event)
        start = self._after_properties(start, end)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchor(event.value, Spot(start, start, end), 1, 0)
        return start

    def _note_key(self, name: str, start: int, end: int) -> None:
        if key_trouble(name) == "ambiguous-scalar":
            other = "a truth value" if name.isalpha() else "a number"
            self._troubles.append(ambiguous(name, start, end, other))
            return
        shown = clip(name) or "null"
        message = f"the key {shown} is read as a number, truth value or null, not as text"
        self._troubles.append(
            Trouble("unsupported-yaml", message, start, end, f"quote it: '{shown}'")
        )

    def _merge(
        self, values: dict[str, Value], spots: dict[str, Spot], merged: Value, spot: Spot
    ) -> None:
        pairs: list[tuple[Value, Spot]] = [(merged, spot)]
        if isinstance(merged, list) and isinstance(spot.children, list):
            pairs = list(zip(merged, spot.children, strict=True))
        for source, place in pairs:
            if not isinstance(source, dict) or not isinstance(place.children, dict):
                message = "a merge key << takes a mapping or a list of mappings"
                self._troubles.append(Trouble("yaml-syntax", message, spot.start, spot.end))
                continue
            for name, value in source.items():
                if name not in values:
                    values[name] = value
                    spots[name] = place.children[name]._replace(via=spot.key)

    def _alias(self, event: Event, key: int, depth: int) -> tuple[Value, Spot]:
        at, end = event.start_mark.index, event.end_mark.index
        name = event.anchor
        if name in self._open:
            message = f"*{clip(name)} stands inside itself"
            raise TextStop(Trouble("yaml-limits", message, at, end, "remove the cycle"))
        anchor = self._anchors.get(name)
        if anchor is None:
            message = f"*{clip(name)} has no anchor &{clip(name)} before it"
            raise TextStop(Trouble("yaml-syntax", message, at, end))
        self._nodes += anchor.nodes - 1
        if self._nodes > MAX_NODES:
            raise _too_many(at)
        if depth + anchor.height > MAX_DEPTH:
            raise _too_deep(at)
        return anchor.value, anchor.spot._replace(key=key, via=at)

    def _tag(self, event: Event) -> TextStop:
        at = event.start_mark.index
        end = at + len(self._text[at : at + 200].split(maxsplit=1)[0])
        message = "tags are not read; nothing in a document is code"
        return TextStop(Trouble("unsupported-yaml", message, at, end, "remove the tag"))


def _height(value: Value) -> int:
    """How many levels of lists and mappings a value has."""
    children = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    )
    return 0 if children is None else 1 + max(map(_height, children), default=0)


def _duplicate(name: str, first: int, second: int) -> Trouble:
    hint = (
        "write one merge key with a list of aliases: <<: [*a, *b], or use layers"
        if name == "<<"
        else "keep one of the two; neither is used"
    )
    message = f"{clip(name)} is written twice in one mapping"
    related = (("written first here", first),)
    return Trouble("duplicate-key", message, second, second + len(name), hint, related)


def _too_many(at: int) -> TextStop:
    message = f"more than {MAX_NODES:,} nodes once aliases are followed"
    hint = "split the document, or write layers instead of aliases"
    return TextStop(Trouble("yaml-limits", message, at, at, hint))


def _too_deep(at: int) -> TextStop:
    message = f"nested deeper than {MAX_DEPTH} levels"
    return TextStop(Trouble("yaml-limits", message, at, at, "flatten it"))
