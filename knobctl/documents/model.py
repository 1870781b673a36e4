"""Documents: what a YAML document of ours is once it is read, and what layers resolve to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.text import decimal_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from knobctl.documents.tree import Spot, Text, Tree, Value
    from knobctl.finding import Location
    from knobctl.knobs import Catalogue, KnobValue


class Kind(StrEnum):
    """The kind keys: exactly one of them says what a document is."""

    TENANT = "tenant"
    LAYER = "layer"
    POLICY = "policy"
    WAIVER = "waiver"
    FLEET = "fleet"


RULE_KINDS: Final = frozenset({Kind.POLICY, Kind.WAIVER})
"""What says how documents are judged."""


class Written(NamedTuple):
    """A knob's value as one document writes it. Places and characters are looked up when asked for."""

    value: KnobValue
    document: Document
    spot: Spot

    @property
    def literal(self) -> str:
        """The characters that stand in the file, such as `0.30` or `1e-3`."""
        return self.document.text.text[self.spot.start : self.spot.end]

    @property
    def location(self) -> Location:
        """Where the value stands."""
        return self.document.text.location(self.spot.start, self.spot.end)

    @property
    def via(self) -> Location | None:
        """The alias or merge key through which the value arrived."""
        return self.document.text.location(self.spot.via) if self.spot.via >= 0 else None

    @property
    def exact(self) -> Fraction:
        """The number exactly as written, where it is one."""
        return exact_number(self.literal, self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One document of ours, with the text it stands in. Plain values; positions on demand."""

    kind: Kind
    name: str
    """The value of the kind key; empty where it is no text."""
    value: Mapping[str, Value]
    text: Text
    tree: Tree
    index: int = 0
    """Which document of its file, from 0."""

    @property
    def source(self) -> str:
        """The file, as findings name it."""
        return self.text.source

    def spot(self, *path: str | int) -> Spot | None:
        """Where a value stands; None where the document has no such value."""
        spot: Spot | None = self.tree.spot
        for step in path:
            children = spot.children if spot else None
            if isinstance(children, dict):
                spot = children.get(step) if isinstance(step, str) else None
            elif isinstance(children, list) and isinstance(step, int) and step < len(children):
                spot = children[step]
            else:
                return None
        return spot

    def location(self, *path: str | int) -> Location:
        """The place of a value; of the nearest value around it where there is none."""
        steps = list(path)
        while (spot := self.spot(*steps)) is None:
            steps.pop()
        if not steps and self.kind.value in self.value:
            spot = self.spot(self.kind.value) or spot
        return self.text.location(spot.start, spot.end)

    def key_location(self, *path: str | int) -> Location:
        """The place of the key under which a value stands."""
        spot = self.spot(*path)
        if spot is None:
            return self.location(*path)
        return self.text.location(spot.key, spot.key + len(str(path[-1])))

    def literal(self, *path: str | int) -> str:
        """The characters of a value as they stand in the file; empty where there is none."""
        spot = self.spot(*path)
        return self.text.text[spot.start : spot.end] if spot else ""

    @property
    def knobs(self) -> Mapping[str, Value]:
        """What stands under `knobs`, by the names as written; empty where that is no mapping."""
        knobs = self.value.get("knobs")
        return knobs if isinstance(knobs, dict) else {}

    @property
    def owner(self) -> str | None:
        """Who is asked about a tenant or layer; None where it names nobody."""
        owner = self.value.get("owner")
        return owner if isinstance(owner, str) else None

    @property
    def evidence(self) -> tuple[str, ...]:
        """The files that a tenant or layer names as evidence, in its order."""
        named = self.value.get("evidence")
        return tuple(map(str, named)) if isinstance(named, list) else ()

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels; empty where there are none."""
        labels = self.value.get("labels")
        return (
            {key: str(value) for key, value in labels.items()} if isinstance(labels, dict) else {}
        )

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of the layers that a tenant names, in its order: later ones win."""
        layers = self.value.get("layers")
        return (
            tuple(name for name in layers if isinstance(name, str))
            if isinstance(layers, list)
            else ()
        )

    @property
    def is_known_sound(self) -> bool:
        """Whether nothing is wrong with it, as was found out when the same bytes were read before."""
        return False

    def values(self, catalogue: Catalogue) -> Mapping[str, KnobValue]:
        """The accepted knobs of a tenant or layer without their places; as `written`."""
        return {name: written.value for name, written in self.written(catalogue).items()}

    def written(self, catalogue: Catalogue) -> dict[str, Written]:
        """The accepted knobs of a tenant or layer, by canonical name; what is wrong is left out."""
        found: dict[str, Written] = {}
        around = self.spot("knobs")
        spots = around.children if around else None
        if not isinstance(spots, dict):
            return found
        twice = {
            trouble.related[0][1]
            for trouble in self.tree.troubles
            if trouble.rule == "duplicate-key"
        }
        for key, value in self.knobs.items():
            if twice and spots[key].key in twice:
                continue
            knob = catalogue.by_any_name.get(key)
            if knob is None or not knob.accepts(value):
                continue
            spot = spots[key]
            found[knob.name] = Written(knob.canonical(value), self, spot)  # type: ignore[arg-type]  # accepted, so a number or a text
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Effective:
    """One tenant's layers resolved: what is to be sent, what is then in force, and where it comes from."""

    tenant: str
    document: Document
    catalogue: Catalogue
    desired: Mapping[str, KnobValue]
    """The canonical set to be sent: knobs at 0 or UNSPECIFIED are not in it."""
    origins: Mapping[str, tuple[Written, ...]] = field(default_factory=dict)
    """By knob, everything that writes it: the winner first, then what it hides, nearest first."""

    @property
    def values(self) -> Mapping[str, KnobValue]:
        """What is in force: every knob, the platform default where none is set."""
        return self.catalogue.effective(self.desired)

    def origin(self, name: str) -> Written | None:
        """What writes a knob's winning value; None where it is at the platform default unwritten."""
        chain = self.origins.get(name)
        return chain[0] if chain else None

    def hidden(self, name: str) -> tuple[Written, ...]:
        """What the winning value overrides, nearest first."""
        return self.origins.get(name, ())[1:]

    def exact(self, name: str) -> Fraction:
        """A numeric knob's effective value exactly as the document writes it."""
        if name in self.desired and (origin := self.origin(name)):
            return origin.exact
        return exact_number("", self.catalogue.effective(self.desired)[name])

    def location(self, name: str) -> Location:
        """Where a finding about a knob stands: at its value, else at the `tenant:` line."""
        origin = self.origin(name)
        return origin.location if origin else self.document.location("tenant")


def exact_number(literal: str, value: KnobValue) -> Fraction:
    """A number as an exact fraction: of its decimal text, or of the shortest text that reads back to it.

    Source: contract, documents: "A floor is compared exactly as written".
    """
    if isinstance(value, str):
        raise TypeError(f"{value!r} is a mode and has no exact value")
    from fractions import Fraction  # validating a fleet needs none

    if not value:  # 0e999999999 is a zero too, and its fraction would never be ready
        return Fraction(0)
    try:
        exact = Fraction(literal)
    except (ValueError, ZeroDivisionError):
        return Fraction(decimal_text(float(value))) if isinstance(value, float) else Fraction(value)
    return exact if float(exact) == value else Fraction(decimal_text(float(value)))
