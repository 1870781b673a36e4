"""The record of what was measured for a set of knobs: aggregates alone; see `evidence_json` for its file. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Protocol

from knobctl.canonical import canonical
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from knobctl.knobs import Catalogue, KnobValue

_PATIENCE: Final = "ranker.timeout"
"""How long a ranker is waited for says nothing of what it finds."""


class Kind(StrEnum):
    """How it was measured."""

    SIMULATION = "simulation"
    RECOMMENDATION = "recommendation"
    CALIBRATION = "calibration"


class Counted(Protocol):
    """A share as statistics give it: counts, and an interval where there is something to divide by."""

    @property
    def numerator(self) -> int:
        """So many."""

    @property
    def denominator(self) -> int:
        """Of so many."""

    @property
    def value(self) -> float | None:
        """The share."""

    @property
    def low(self) -> float | None:
        """The lower end of its interval, 95 % two-sided."""

    @property
    def high(self) -> float | None:
        """The upper end."""


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, with the interval of the share."""

    numerator: int
    denominator: int
    value: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, rate: Counted) -> Share:
        """Take over a share with its interval."""
        return cls(rate.numerator, rate.denominator, rate.value, rate.low, rate.high)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number that is no share, with its interval, 95 % two-sided."""

    value: float | None
    low: float | None = None
    high: float | None = None


Figure = float | Share | Estimate | None
"""One of the things that came out; None where it could not be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """What was searched; of a sample, the corpora of its tenants together."""

    chunks: int
    documents: int | None = None
    fingerprint: str | None = None
    """Of what the engine says of it, hexadecimal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The tenants that were measured together."""

    tenants: tuple[str, ...]
    layer: str | None = None
    """The layer whose tenants they were drawn from; None where they were named one by one."""
    of: int | None = None
    """How many tenants took the layer."""
    seed: int | None = None
    """Of the draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What was measured, under what, and what came out."""

    kind: Kind
    made_at: datetime
    """With its zone."""
    made_by: str | None = None
    """The program and its version."""
    tenant: str | None
    """Whose corpus and questions they were; None where it was a sample of tenants."""
    knobs: Mapping[str, KnobValue]
    """The values in force while it was measured, see `measured_knobs`; of a sample, what is the same in all."""
    before: Mapping[str, KnobValue] = field(default_factory=dict)
    """The other set of a simulation: the same knobs, as they were."""
    questions: int
    questions_digest: str | None = None
    """SHA-256 of the questions, hexadecimal."""
    labelled: int | None = None
    """Of how many of them somebody said whether they can be answered, or by what."""
    encoder: str
    rankers: tuple[str, ...] = ()
    """Those that were live."""
    engine: str | None = None
    """What kind of engine was asked: embedded, http."""
    corpus: Corpus
    figures: Mapping[str, Figure] = field(default_factory=dict)
    """By name in snake_case."""
    sample: Sample | None = None

    @property
    def measured_tenants(self) -> tuple[str, ...]:
        """Whose corpus was searched."""
        if self.sample:
            return self.sample.tenants
        return (self.tenant,) if self.tenant else ()


def measured_knobs(
    catalogue: Catalogue, values: Mapping[str, KnobValue], *, also: Collection[str] = ()
) -> dict[str, KnobValue]:
    """Choose of the effective values those on which a measurement depends.

    Args:
        catalogue: The knobs; those with a role rank, weigh, cut or gate.
        values: What is in force.
        also: Further knobs that the measurement speaks for: those that a simulation changes.
    """
    return {
        knob.name: values[knob.name]
        for knob in catalogue.knobs
        if (knob.role is not None and knob.role != _PATIENCE) or knob.name in also
    }


def measured_for(record: Record) -> str:
    """Name whom a record speaks of: a tenant, or a sample of tenants."""
    sample = record.sample
    if sample is None:
        return str(record.tenant)
    names = count(len(sample.tenants), "tenant")
    return f"{names} of layer {sample.layer}" if sample.layer else names


def described_corpus(described: Mapping[str, Any]) -> Corpus:
    """A corpus as an engine's Describe tells of it."""
    return Corpus(
        chunks=int(described.get("chunks", 0)),
        documents=int(described.get("documents", 0)),
        fingerprint=corpus_digest(described),
    )


def corpus_digest(described: Mapping[str, Any]) -> str:
    """Name a corpus by what an engine says of it: its version, its size, its sources, its youngest chunk."""
    about = {key: value for key, value in described.items() if key != "embedder"}
    return sha256(canonical(about)).hexdigest()
