"""The catalogue: the knobs of one engine, read from its JSON Schema."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from knobctl.errors import InputError
from knobctl.knobs.knob import Direction, Knob, KnobType, KnobValue
from knobctl.shipped import shipped
from knobctl.text import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from knobctl.fusion.formula import Formula

SHIPPED_SCHEMA = "context-engine-knobs.v1.schema.json"
RANKERS = ("vector", "bm25", "recency")
"""The order in which fusion sums; rankers of other engines follow in the order of their schema."""


@dataclass(frozen=True)
class Catalogue:
    """The knobs of one engine, in the order of its schema. Iterates over them."""

    knobs: tuple[Knob, ...]
    schema: Mapping[str, Any]
    """The JSON Schema itself."""

    def __iter__(self) -> Iterator[Knob]:
        return iter(self.knobs)

    def __len__(self) -> int:
        return len(self.knobs)

    def __getitem__(self, name: str) -> Knob:
        return self.by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    @cached_property
    def by_name(self) -> Mapping[str, Knob]:
        """Knobs by canonical name."""
        return {knob.name: knob for knob in self.knobs}

    @cached_property
    def by_any_name(self) -> Mapping[str, Knob]:
        """Knobs by canonical name and by wire name."""
        return {knob.json_name: knob for knob in self.knobs} | dict(self.by_name)

    @cached_property
    def by_role(self) -> Mapping[str, Knob]:
        """Knobs by role, where they have one."""
        return {knob.role: knob for knob in self.knobs if knob.role}

    @cached_property
    def defaults(self) -> Mapping[str, KnobValue]:
        """The platform default of every knob."""
        return {knob.name: knob.default for knob in self.knobs}

    @cached_property
    def unset(self) -> Mapping[str, KnobValue | None]:
        """By knob, the value that means the platform default; None where none does."""
        return {knob.name: knob.unset for knob in self.knobs}

    @cached_property
    def rankers(self) -> tuple[str, ...]:
        """The rankers that the schema gives a weight or a depth, in summation order."""
        found = dict.fromkeys(
            role.rsplit(".", 1)[1]
            for role in self.by_role
            if role.startswith(("fusion.weight.", "depth."))
        )
        return tuple(
            sorted(
                found,
                key=lambda name: (
                    name not in RANKERS,
                    RANKERS.index(name) if name in RANKERS else 0,
                ),
            )
        )

    @cached_property
    def arithmetic(self) -> tuple[Knob, ...]:
        """The knobs that the arithmetic of fusion stands on."""
        return tuple(
            knob
            for role, knob in self.by_role.items()
            if role == "floor.fused" or role.startswith(("fusion.", "depth.", "ranker."))
        )

    @cached_property
    def formula(self) -> Formula:
        """How the engine turns ranks into a score, as the roles of fusion say."""
        # Most commands need no arithmetic, and importing it takes longer than reading the schema.
        from knobctl.fusion.formula import Formula, Weighs, scale_named

        floor, constant = self.by_role.get("floor.fused"), self.by_role.get("fusion.k")
        weights = [knob for role, knob in self.by_role.items() if role.startswith("fusion.weight.")]
        return Formula(
            scale=scale_named(floor.scale if floor else None),
            first_rank=constant.first_rank if constant else 1,
            weighs=Weighs(weights[0].weighs) if weights else Weighs.SCORE,
        )

    @property
    def ceilings_move(self) -> bool:
        """Whether another rank constant moves the ceilings: it does where the sum is not divided."""
        floor = self.by_role.get("floor.fused")
        return floor is not None and (floor.scale or "").startswith("rrf_raw")

    def nearest(self, name: str) -> str | None:
        """The known name most like a mistyped one, in either spelling; None where nothing is near."""
        return nearest(name, self.by_any_name, cutoff=0.7)

    def canonical(self, values: Mapping[str, KnobValue]) -> dict[str, KnobValue]:
        """The set as the wire holds it: canonical names and types, unset knobs left out, in schema order.

        Args:
            values: Accepted values by either spelling of the name.
        """
        named = {self.by_any_name[name].name: value for name, value in values.items()}
        return {
            knob.name: knob.canonical(named[knob.name])
            for knob in self.knobs
            if knob.name in named and named[knob.name] != knob.unset
        }

    def effective(self, values: Mapping[str, KnobValue]) -> dict[str, KnobValue]:
        """What is in force under a canonical set: every knob, unset ones at the platform default."""
        return {**self.defaults, **values}


class Same:
    """A catalogue that is the same only as itself, to remember by: its schema is no hashable value."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue

    def __hash__(self) -> int:
        return id(self.catalogue)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.catalogue is self.catalogue


def load_catalogue(schema: Path | str | None = None) -> Catalogue:
    """Read the knobs of the shipped schema, or of another engine's.

    Args:
        schema: A JSON Schema whose properties carry `x-knob`; None for the shipped one.

    Raises:
        InputError: If the file is unreadable, is no JSON Schema of knobs, or gives one role twice.
    """
    return _load(str(schema) if schema else None)


@lru_cache(maxsize=8)
def _load(schema: str | None) -> Catalogue:
    from pathlib import Path

    path = Path(schema) if schema else shipped("schemas") / SHIPPED_SCHEMA
    return read_catalogue(path.read_bytes, str(path), foreign=schema is not None)


def read_catalogue(read: Callable[[], bytes], path: str, *, foreign: bool = True) -> Catalogue:
    """Read the knobs of a schema, wherever its bytes come from.

    Args:
        read: Gives the bytes.
        path: The name that messages carry.
        foreign: Whether it is another engine's, which nobody has looked at yet.

    Raises:
        InputError: If it is unreadable, is no JSON Schema of knobs, or gives one role twice.
    """
    try:
        document = json.loads(read())
    except OSError as error:
        raise InputError(f"the schema {path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"the schema {path} is no JSON: {error}") from error
    if foreign:
        from knobctl.knobs.foreign import verify_schema

        verify_schema(document, path)
    properties = document["properties"]
    knobs = [
        _knob(name, prop, number) for number, (name, prop) in enumerate(properties.items(), start=1)
    ]
    if foreign:
        from knobctl.knobs.foreign import verify_knobs

        verify_knobs(knobs, path)
    return Catalogue(knobs=tuple(knobs), schema=document)


def _knob(name: str, prop: Mapping[str, Any], number: int) -> Knob:
    extra = prop.get("x-knob", {})
    proto = extra.get("proto", {})
    kind = _type(prop, proto)
    minimum, maximum = _bounds(prop, kind)
    return Knob(
        name=name,
        json_name=proto.get("json_name") or _camel(name),
        type=kind,
        minimum=minimum,
        maximum=maximum,
        choices=tuple(prop.get("enum", ())),
        default=_default(prop, extra, kind),
        title=prop.get("title", name),
        description=prop.get("description", ""),
        zero=extra.get("zero", "0 = platform default"),
        off=extra.get("off", ""),
        known=extra.get("known", ""),
        unit=extra.get("unit", ""),
        scope=extra.get("scope", ""),
        scale=extra.get("scale"),
        group=extra.get("group", ""),
        role=extra.get("role"),
        read_clearance=int(extra.get("clearance", {}).get("read", "L3")[1:]),
        edit_clearance=int(extra.get("clearance", {}).get("edit", "L4")[1:]),
        field_number=proto.get("number", number),
        needs_evidence=extra.get("evidence", False),
        interacts_with=tuple(extra.get("interacts_with", ())),
        origin=extra.get("origin", ""),
        is_absent_when_unset="unset" in extra,
        direction=Direction(extra["direction"]) if "direction" in extra else None,
        first_rank=extra.get("first_rank", 1),
        weighs=extra.get("weighs", "score"),
    )


def _default(prop: Mapping[str, Any], extra: Mapping[str, Any], kind: KnobType) -> KnobValue:
    """The default as its knob holds it: a double that is written as 1 is 1.0."""
    default: KnobValue = extra.get("default", prop.get("default", prop.get("enum", [0])[0]))
    whole = kind is KnobType.DOUBLE and type(default) is int and abs(default) < 2**1023
    return float(default) if whole else default


def _type(prop: Mapping[str, Any], proto: Mapping[str, Any]) -> KnobType:
    if "type" in proto:
        return KnobType(proto["type"])
    if "enum" in prop:
        return KnobType.MODE
    return KnobType.INT32 if prop.get("type") == "integer" else KnobType.DOUBLE


def _bounds(
    prop: Mapping[str, Any], kind: KnobType
) -> tuple[int | float | None, int | float | None]:
    if kind is KnobType.MODE:
        return None, None
    for part in (prop, *prop.get("anyOf", ())):
        if "minimum" in part and "maximum" in part:
            return part["minimum"], part["maximum"]
    limit = 2**31 - 1 if kind is KnobType.INT32 else 1.7976931348623157e308
    return prop.get("minimum", -limit), prop.get("maximum", limit)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
