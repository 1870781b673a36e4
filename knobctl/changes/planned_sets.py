"""Verifies the knob sets of a plan, which somebody may have written by hand. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.errors import InputError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.knobs import Catalogue, KnobValue


AGAIN: Final = "make a new one: knobctl plan -o FILE"


class KnownSets:
    """Reads sets that a catalogue accepts. A fleet has few values: what was looked at once is known."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._names = [knob.name for knob in catalogue]
        self._canonical: set[tuple[str, type, KnobValue]] = set()
        """Knobs with values that stand in a canonical set as they are."""

    def read(self, values: Mapping[str, KnobValue], where: str) -> dict[str, KnobValue]:
        """Give the canonical set.

        Args:
            values: By either name of a knob.
            where: What it is the set of, for words.

        Raises:
            InputError: If a knob is unknown, or its value is none that it accepts.
        """
        known = self._canonical
        if all((name, type(value), value) in known for name, value in values.items()):
            return {name: values[name] for name in self._names if name in values}
        self._verify(values, where)
        canonical = self.catalogue.canonical(values)
        # 0.0 and -0.0 are equal, and only one of them is accepted.
        known.update((name, type(value), value) for name, value in canonical.items() if value)
        return canonical

    def _verify(self, values: Mapping[str, KnobValue], where: str) -> None:
        for name, value in values.items():
            if name not in self.catalogue:
                raise InputError(f"{where}: {visible(name)} is no knob of the schema", hint=AGAIN)
            if not self.catalogue[name].accepts(value):
                raise InputError(
                    f"{where}: {name} is {visible(str(value))}; it must lie in "
                    f"{self.catalogue[name].range_text}",
                    hint=AGAIN,
                )
