"""Reads many sets of one engine at little cost: what a config means is worked out once for all that have it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from operator import getitem
from sys import intern
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from knobctl.engine.answers import NonsenseError, no_constant, parse_object
from knobctl.engine.interface import NOTHING, LiveSet
from knobctl.engine.wire import knob_value, list_field, live_set, read_config, text_field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from knobctl.knobs import Catalogue, Knob, KnobValue

    Meaning: TypeAlias = tuple[Mapping[str, KnobValue], Mapping[str, Any]]
    """The set, and what the schema does not know; see `read_config`."""

REMEMBERED: Final = 1 << 13
"""How many configs, shapes of one, and values of a knob are kept in mind: most fleets have far fewer."""
LONGEST_CONFIG: Final = 1 << 10
"""Characters of a config that is kept in mind: no engine fills the memory."""
LONGEST_VALUE: Final = 32
"""As much, of a value."""
MUCH: Final = 2 << 20
"""From so many characters of configs on the quicker parser is worth the 40 ms that loading it takes."""
_KINDS: Final = frozenset({str, int, float})
_TEXT: Final = r'"([^"\\\x00-\x1f]*)"'
_SET: Final = re.compile(
    r'\{"config": ?(\{[^}]*\})'
    rf'(?:, ?"revision": ?{_TEXT})?(?:, ?"updatedAt": ?{_TEXT})?(?:, ?"updatedBy": ?{_TEXT})?'
    rf', ?"tenantId": ?{_TEXT}\}}'
)
"""A set in a page, its fields in the order of the contract's message."""
_STEP: Final = _SET.groups + 1
_HEAD: Final = re.compile(r'\{"configs": ?\[')
_TAIL: Final = re.compile(rf'\](?:, ?"nextPageToken": ?{_TEXT})?\}}')
_BETWEEN: Final = frozenset({",", ", "})
_decoded: Final = json.JSONDecoder(parse_constant=no_constant).decode


@dataclass(frozen=True, slots=True)
class Shape:
    """What all configs share that have the same plain fields, with values of the same types."""

    knobs: tuple[Knob, ...]
    names: tuple[str, ...]
    """Their canonical names, in the order of the schema."""
    meanings: tuple[dict[Any, KnobValue], ...]
    """For each knob the canonical values of those that came so far; never a zero, which has a sign."""
    texts: int
    """How many texts such a config holds, names included."""


class SetReader:
    """Reads pages of sets as `live_set` does, and as strictly.

    A page that is laid out as usual is cut into its sets, and of these only configs are parsed that
    were not seen before. What is plain in one (known knobs in the order of the schema, values that they
    take) goes a short way. Everything else is left to `live_set`.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._places = {knob.name: place for place, knob in enumerate(catalogue)}
        self._known: dict[str, Meaning] = {}
        self._shapes: dict[tuple[object, ...], Shape] = {}
        self._meanings: dict[tuple[str, type], dict[Any, KnobValue]] = {}
        self._parsed = 0

    def page(self, body: bytes, strictly: Callable[[bytes], dict[str, Any]]) -> dict[str, Any]:
        """Read a page of List: its `configs` are sets then, all else is as it came.

        Args:
            body: The answer.
            strictly: Reads an object and refuses one that holds a key twice.

        Raises:
            NonsenseError: As `live_set`, or where an item does not name its tenant.
        """
        page = self._cut(body)
        if page is None:
            page = strictly(body)
            page["configs"] = [self._listed(item) for item in list_field(page, "configs")]
        return page

    def _cut(self, body: bytes) -> dict[str, Any] | None:
        """Read a page in which nothing stands but sets laid out as usual, and where the next page begins.

        All of its text is looked at: what stands before, between and behind the sets, and each config.
        """
        try:
            pieces = _SET.split(body.decode())
        except UnicodeDecodeError:
            return None  # read strictly, it says why
        tail = _TAIL.fullmatch(pieces[-1])
        if not (tail and _HEAD.fullmatch(pieces[0])) or not _BETWEEN.issuperset(
            pieces[_STEP:-1:_STEP]
        ):
            return None
        configs, revisions, times, people, tenants = (
            pieces[place::_STEP] for place in range(1, _STEP)
        )
        known = self._known
        found = [known.get(config) or self._meaning(config) for config in configs]
        meanings = [meaning for meaning in found if meaning]
        if len(meanings) < len(found) or "" in tenants:
            return None
        page: dict[str, Any] = {
            "configs": [
                # Few people write many sets, and many sets have a low revision.
                LiveSet(
                    tenant, knobs, intern(own or ""), at or None, intern(by or "") or None, unknown
                )
                for tenant, (knobs, unknown), own, at, by in zip(
                    tenants, meanings, revisions, times, people, strict=True
                )
            ]
        }
        if tail[1] is not None:
            page["nextPageToken"] = tail[1]
        return page

    def _meaning(self, text: str) -> Meaning | None:
        """Work out what a config means; None where it is not strictly JSON."""
        try:
            config = self._config(text)
            meaning = self._plain(config, text)
            if meaning is None and self._learned(config):
                meaning = self._plain(config, text)
            if meaning is None:
                meaning = read_config(parse_object(text.encode()), self._catalogue)
        except (ValueError, RecursionError):
            return None
        if len(text) <= LONGEST_CONFIG:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[text] = meaning
        return meaning

    def _config(self, text: str) -> dict[str, Any]:
        """Parse a config without looking for keys that stand there twice."""
        self._parsed += len(text)
        if self._parsed < MUCH:
            config: dict[str, Any] = _decoded(text)
            return config
        from pydantic_core import from_json

        config = from_json(text, allow_inf_nan=False, cache_strings="keys")
        return config

    def _plain(self, config: Mapping[str, Any], text: str) -> Meaning | None:
        """Read a config if it is plain and looks like others.

        Each text has two quotes. A parser that drops what stands there twice drops a key with it: then
        there are more quotes than the texts that were read have. Quotes in texts only add to them.
        """
        values = config.values()
        try:
            shape = self._shapes[*config, *map(type, values)]
            meant: Iterator[KnobValue] = map(getitem, shape.meanings, values)
            knobs = dict(zip(shape.names, meant, strict=False))
        except (LookupError, TypeError):
            return None
        return (knobs, NOTHING) if text.count('"') == 2 * shape.texts else None

    def _learned(self, config: Mapping[str, Any]) -> bool:
        """Work out what values mean, as `read_config` does, and keep it in mind if they are plain."""
        shape = self._shape(config)
        if not shape:
            return False
        for knob, meanings, raw in zip(shape.knobs, shape.meanings, config.values(), strict=True):
            value = knob_value(knob, raw)
            if not value or value == knob.unset or len(str(raw)) > LONGEST_VALUE:
                return False
            if len(meanings) >= REMEMBERED:
                meanings.clear()
            meanings[raw] = knob.canonical(value)
        if len(self._shapes) >= REMEMBERED:
            self._shapes.clear()
        self._shapes[*config, *map(type, config.values())] = shape
        return True

    def _shape(self, config: Mapping[str, Any]) -> Shape | None:
        """The shape of a config; None if it has none that is plain."""
        knobs = [self._catalogue.by_any_name.get(name) for name in config]
        kinds = [type(raw) for raw in config.values()]
        known = tuple(knob for knob in knobs if knob)
        places = [self._places[knob.name] for knob in known]
        if len(known) < len(knobs) or places != sorted(set(places)) or not _KINDS.issuperset(kinds):
            return None
        return Shape(
            knobs=known,
            names=tuple(knob.name for knob in known),
            meanings=tuple(
                self._meanings.setdefault((knob.name, kind), {})
                for knob, kind in zip(known, kinds, strict=True)
            ),
            texts=len(kinds) + kinds.count(str),
        )

    def _listed(self, item: Any) -> LiveSet:  # noqa: ANN401  any JSON may come
        if not isinstance(item, dict):
            raise NonsenseError("a listed set that is no object")
        tenant = text_field(item, "tenantId", "tenant_id")
        if not tenant:
            raise NonsenseError("a listed set without its tenant")
        return live_set(item, self._catalogue, tenant=tenant, revision="")
