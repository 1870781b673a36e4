"""Reads many sets of one engine at little cost: what a config means is worked out once for all that have it."""

from __future__ import annotations

import re
from sys import intern
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from knobctl.engine.answers import NonsenseError, parse_object
from knobctl.engine.interface import NOTHING, LiveSet
from knobctl.engine.wire import knob_value, list_field, live_set, read_config, text_field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.knobs import Catalogue, KnobValue

    Meaning: TypeAlias = tuple[Mapping[str, KnobValue], Mapping[str, Any]]
    """The set, and what the schema does not know; see `read_config`."""

REMEMBERED: Final = 1 << 13
"""How many configs, and orders of their fields, are kept in mind: most fleets have far fewer."""
LONGEST_CONFIG: Final = 1 << 10
"""Characters of a config that is kept in mind: no engine fills the memory."""
MOST_FIELDS: Final = 1 << 16
"""How many fields are: knobs with a value."""
LONGEST_FIELD: Final = 80
"""Characters of one."""
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


class SetReader:
    """Reads pages of sets as `live_set` does, and as strictly.

    A page that is laid out as usual is cut into its sets, and a config that was not seen before into its
    fields: what each means is known from before. What is not plain (unknown knobs, another order than
    that of the schema, values that a knob does not take) is left to `live_set`.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._places = {knob.name: place for place, knob in enumerate(catalogue)}
        self._known: dict[str, Meaning] = {}
        self._fields: dict[str, tuple[str, KnobValue]] = {}
        """By its text, a knob's canonical name and value; never a zero, which has a sign."""
        self._orders: set[tuple[str, ...]] = set()

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
            meaning = self._plain(text) or read_config(parse_object(text.encode()), self._catalogue)
        except NonsenseError:
            return None
        if len(text) <= LONGEST_CONFIG:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[text] = meaning
        return meaning

    def _plain(self, text: str) -> Meaning | None:
        """Read a config if it is plain. Where each of its pieces is a field, so that no comma stands in one, it is JSON."""
        pieces = text[1:-1].split(",")
        try:
            knobs = dict(map(self._fields.__getitem__, pieces))
        except KeyError:
            if len(self._fields) >= MOST_FIELDS:
                self._fields.clear()
            if not all(piece in self._fields or self._learned(piece) for piece in pieces):
                return None
            knobs = dict(map(self._fields.__getitem__, pieces))
        order = tuple(knobs)
        if len(order) < len(pieces) or (order not in self._orders and not self._is_order(order)):
            return None
        return knobs, NOTHING

    def _learned(self, piece: str) -> bool:
        """Work out what a field means, as `read_config` does, and keep it in mind if it is plain."""
        try:
            ((name, raw),) = parse_object(f"{{{piece}}}".encode()).items()
        except ValueError:  # no field, or several
            return False
        knob = self._catalogue.by_any_name.get(name)
        value = knob_value(knob, raw) if knob else None
        if not knob or not value or value == knob.unset or len(piece) > LONGEST_FIELD:
            return False
        self._fields[piece] = knob.name, knob.canonical(value)
        return True

    def _is_order(self, names: tuple[str, ...]) -> bool:
        """Whether names of knobs stand in the order of the schema; kept in mind."""
        places = [self._places[name] for name in names]
        if places != sorted(places):
            return False
        if len(self._orders) >= REMEMBERED:
            self._orders.clear()
        self._orders.add(names)
        return True

    def _listed(self, item: Any) -> LiveSet:  # noqa: ANN401  any JSON may come
        if not isinstance(item, dict):
            raise NonsenseError("a listed set that is no object")
        tenant = text_field(item, "tenantId", "tenant_id")
        if not tenant:
            raise NonsenseError("a listed set without its tenant")
        return live_set(item, self._catalogue, tenant=tenant, revision="")
