"""Reads many sets of one engine at little cost: what a value means is worked out once for all of them."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from operator import getitem, itemgetter
from typing import TYPE_CHECKING, Any, Final

from knobctl.engine.answers import NonsenseError, no_constant
from knobctl.engine.interface import NOTHING, LiveSet
from knobctl.engine.wire import knob_value, list_field, live_set, text_field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from knobctl.knobs import Catalogue, Knob, KnobValue

REMEMBERED: Final = 1 << 13
"""How many values of a knob, and how many shapes of a set, are kept in mind: a fleet has far fewer."""
LONGEST_VALUE: Final = 32
"""Characters of a value that is kept in mind: no engine fills the memory."""
MANY_BYTES: Final = 4 << 20
"""From so much on the quicker parser is worth the 40 ms that loading it takes."""
_FIELDS: Final = ("tenantId", "config", "revision", "updatedAt", "updatedBy")
_fields_of: Final = itemgetter(*_FIELDS)
_KINDS: Final = frozenset({str, int, float})


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

    What is plain (known knobs in the order of the schema, values that they take, texts that are texts)
    goes the short way, which costs a tenth; everything else is left to `live_set`.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._places = {knob.name: place for place, knob in enumerate(catalogue)}
        self._shapes: dict[tuple[object, ...], Shape] = {}
        self._meanings: dict[tuple[str, type], dict[Any, KnobValue]] = {}
        self._bytes_read = 0

    def page(self, body: bytes, strictly: Callable[[bytes], dict[str, Any]]) -> dict[str, Any]:
        """Read a page of List: its `configs` are sets then, all else is as it came.

        Args:
            body: The answer.
            strictly: Reads an object and refuses one that holds a key twice.

        Raises:
            NonsenseError: As `live_set`, or where an item does not name its tenant.
        """
        page = self._quickly(body)
        if page is None:
            page = strictly(body)
            page["configs"] = [self._listed(item) for item in list_field(page, "configs")]
        return page

    def _quickly(self, body: bytes) -> dict[str, Any] | None:
        """Read a page without looking for keys that stand there twice, and prove that there are none.

        Each text has two quotes. A parser that drops what stands there twice drops a key with it: then
        there are more quotes than the texts that were read have. Quotes in texts only add to them.
        """
        try:
            page = self._parsed(body)
            items = list_field(page, "configs")
            sets, texts = self._sets(items)
            texts += texts_in({**page, "configs": None})
        except (ValueError, RecursionError):
            return None  # read strictly, it says why
        if body.count(b'"') != 2 * texts:
            return None
        page["configs"] = sets
        return page

    def _parsed(self, body: bytes) -> dict[str, Any]:
        self._bytes_read += len(body)
        if self._bytes_read < MANY_BYTES:
            page = json.loads(body.decode(), parse_constant=no_constant)
        else:
            from pydantic_core import from_json

            page = from_json(body, allow_inf_nan=False, cache_strings="keys")
        if not isinstance(page, dict) or "configs" not in page:
            raise NonsenseError("no page")
        return page

    def _sets(self, items: Sequence[Any]) -> tuple[list[LiveSet], int]:
        """Read the items of a page, and count their texts."""
        sets, texts = [], 0
        for item in items:
            read = self._plain(item) or (self._learned(item) and self._plain(item))
            live, held = read or (self._listed(item), texts_in(item))
            sets.append(live)
            texts += held
        return sets, texts

    def _plain(self, item: Any) -> tuple[LiveSet, int] | None:  # noqa: ANN401  any JSON may come
        """Read an item if it is plain and looks like others; gives the number of its texts too."""
        try:
            tenant, config, own, at, by = _fields_of(item)
            values = config.values()
            shape = self._shapes[*config, *map(type, values)]
            meant: Iterator[KnobValue] = map(getitem, shape.meanings, values)
            knobs = dict(zip(shape.names, meant, strict=False))
        except (LookupError, TypeError, AttributeError):
            return None
        if not (tenant.__class__ is own.__class__ is at.__class__ is by.__class__ is str) or not (
            tenant and own and at and by
        ):
            return None
        texts = shape.texts + 2 * len(_FIELDS) - 1
        if len(item) != len(_FIELDS):
            if item.get("lastGood") or item.get("last_good"):
                return None
            texts = texts_in(item)
        # Few people write many sets, and many sets have a low revision.
        own, by = sys.intern(own), sys.intern(by)
        return LiveSet(tenant, knobs, own, at, by, NOTHING), texts

    def _learned(self, item: Any) -> bool:  # noqa: ANN401  any JSON may come
        """Work out what a config means, as `wire.read_config` does, and keep it in mind if it is plain."""
        config = item.get("config") if isinstance(item, dict) else None
        if not isinstance(config, dict) or not (shape := self._shape(config)):
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


def texts_in(value: Any) -> int:  # noqa: ANN401  any JSON may come
    """How many texts stand in a value, names of fields included."""
    if isinstance(value, dict):
        return len(value) + sum(map(texts_in, value.values()))
    if isinstance(value, list):
        return sum(map(texts_in, value))
    return int(isinstance(value, str))
