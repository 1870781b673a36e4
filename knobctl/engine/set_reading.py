"""Reads many sets of one engine at little cost: what a value means is worked out once for all of them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from knobctl.engine.interface import LiveSet
from knobctl.engine.wire import knob_value, live_set, text_field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.knobs import Catalogue, KnobValue

    Meaning: TypeAlias = tuple[int, str, KnobValue]
    """A knob's place in the schema, its canonical name and value."""

REMEMBERED: Final = 1 << 16
"""How many values are kept in mind: a fleet has far fewer."""
LONGEST_VALUE: Final = 32
"""Characters of a value that is kept in mind: no engine fills the memory."""
NOTHING: Final[Mapping[str, Any]] = {}
"""What is unknown in a set of which everything is known; the same one for all of them."""


class SetReader:
    """Reads the sets of one engine as `live_set` does.

    What is plain (known knobs in the order of the schema, values that they take, texts that are texts)
    goes the short way, which costs a quarter; everything else is left to `live_set`.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._places = {knob.name: place for place, knob in enumerate(catalogue)}
        self._meanings: dict[tuple[str, Any, type], Meaning] = {}

    def listed(self, item: Mapping[str, Any]) -> LiveSet | None:
        """Read one item of List; None where it does not name its tenant.

        Raises:
            NonsenseError: As `live_set`.
        """
        tenant = item.get("tenantId")
        if not tenant or tenant.__class__ is not str:
            tenant = text_field(item, "tenantId", "tenant_id")
        return self.read(item, tenant=tenant, revision="") if tenant else None

    def read(self, answer: Mapping[str, Any], *, tenant: str, revision: str | None) -> LiveSet:
        """Read one tenant's set; the arguments are those of `live_set`.

        Raises:
            NonsenseError: As `live_set`.
        """
        config = answer.get("config")
        knobs = self._plain(config) if config.__class__ is dict else None
        own, at, by = answer.get("revision"), answer.get("updatedAt"), answer.get("updatedBy")
        if (
            knobs is None
            or answer.get("tenantId") != tenant
            or not (own.__class__ is at.__class__ is by.__class__ is str and own and at and by)
            or answer.get("lastGood")
            or answer.get("last_good")
        ):
            return live_set(answer, self._catalogue, tenant=tenant, revision=revision)
        return LiveSet(
            tenant=tenant,
            knobs=knobs,
            # Few people write many sets, and many sets have a low revision.
            revision=sys.intern(own),
            updated_at=at,
            updated_by=sys.intern(by),
            unknown=NOTHING,
        )

    def _plain(self, config: Mapping[str, Any]) -> dict[str, KnobValue] | None:
        """The canonical set, if nothing in the config needs a closer look."""
        meanings, last = self._meanings, -1
        knobs: dict[str, KnobValue] = {}
        try:
            for name, raw in config.items():
                key = (name, raw, raw.__class__)
                meaning = meanings[key] if key in meanings else self._understood(*key)
                if meaning is None or meaning[0] <= last:
                    return None
                last = meaning[0]
                knobs[meaning[1]] = meaning[2]
        except TypeError:  # a list or an object, which is no value of a knob
            return None
        return knobs

    def _understood(self, name: str, raw: object, kind: type) -> Meaning | None:
        """Work out what a value means, as `wire.read_config` does, and keep it in mind."""
        knob = self._catalogue.by_any_name.get(name)
        value = None if knob is None or raw is None else knob_value(knob, raw)
        if knob is None or value is None or value == knob.unset:
            return None
        meaning = (self._places[knob.name], knob.name, knob.canonical(value))
        if not isinstance(raw, str) or len(raw) <= LONGEST_VALUE:
            if len(self._meanings) >= REMEMBERED:
                self._meanings.clear()
            self._meanings[name, raw, kind] = meaning
        return meaning
