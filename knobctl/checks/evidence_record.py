"""The record of what was measured for a set of knobs: one JSON document with a digest, aggregates alone. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Protocol

from knobctl.canonical import canonical
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from knobctl.knobs import Catalogue, KnobValue

FORMAT: Final = "knobctl-evidence"
FORMAT_VERSION: Final = 1
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


def record_document(record: Record) -> dict[str, Any]:
    """Lay a record out as its JSON, digest included; what is not known is left out.

    Raises:
        NoCanonicalFormError: If a number in it is not finite, for instance.
    """
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": record.kind.value,
        "made_at": record.made_at.isoformat(),
        **_known(made_by=record.made_by),
        "measured": _measured(record),
        "figures": {name: figure_json(figure) for name, figure in record.figures.items()},
        **({"sample": _sample(record.sample)} if record.sample else {}),
    }
    return {**content, "digest": record_digest(content)}


def record_bytes(record: Record) -> bytes:
    """Write a record as the file that lies in a repository and is reviewed there.

    Raises:
        NoCanonicalFormError: As `record_document`.
    """
    return json.dumps(record_document(record), indent=2, allow_nan=False).encode() + b"\n"


def record_digest(document: Mapping[str, Any]) -> str:
    """SHA-256, lower-case hex, over the RFC 8785 form of a record's JSON without its `digest`.

    Raises:
        NoCanonicalFormError: If it has no such form.
    """
    content = {key: part for key, part in document.items() if key != "digest"}
    return sha256(canonical(content)).hexdigest()


def read_record(document: Mapping[str, Any], catalogue: Catalogue) -> Record:
    """Read a record whose JSON its schema accepts.

    Args:
        document: The JSON.
        catalogue: The knobs, for names and values.

    Raises:
        ValueError: Saying why it is no evidence: another digest, no knob, no value of it, no time.
    """
    stated = document.get("digest")
    if stated is not None and stated != record_digest(document):
        raise ValueError("its digest is not that of its content: it was changed after it was made")
    measured = document["measured"]
    corpus = measured["corpus"]
    return Record(
        kind=Kind(document["kind"]),
        made_at=_time(document["made_at"]),
        made_by=document.get("made_by"),
        tenant=measured.get("tenant"),
        knobs=_values(measured["knobs"], catalogue),
        before=_values(measured.get("before", {}), catalogue),
        questions=int(measured["questions"]),
        questions_digest=measured.get("questions_digest"),
        labelled=measured.get("labelled"),
        encoder=measured["encoder"],
        rankers=tuple(measured.get("rankers", ())),
        engine=measured.get("engine"),
        corpus=Corpus(
            chunks=int(corpus["chunks"]),
            documents=corpus.get("documents"),
            fingerprint=corpus.get("fingerprint"),
        ),
        figures={name: _read_figure(one) for name, one in document.get("figures", {}).items()},
        sample=_read_sample(document["sample"]) if "sample" in document else None,
    )


def _measured(record: Record) -> dict[str, Any]:
    corpus = record.corpus
    return {
        **_known(tenant=record.tenant),
        "knobs": dict(record.knobs),
        **({"before": dict(record.before)} if record.before else {}),
        "questions": record.questions,
        **_known(questions_digest=record.questions_digest, labelled=record.labelled),
        "encoder": record.encoder,
        **({"rankers": list(record.rankers)} if record.rankers else {}),
        **_known(engine=record.engine),
        "corpus": {
            **_known(documents=corpus.documents),
            "chunks": corpus.chunks,
            **_known(fingerprint=corpus.fingerprint),
        },
    }


def _known(**parts: object) -> dict[str, object]:
    return {name: part for name, part in parts.items() if part is not None}


def _sample(sample: Sample) -> dict[str, Any]:
    return {
        **_known(layer=sample.layer),
        "tenants": list(sample.tenants),
        **_known(of=sample.of, seed=sample.seed),
    }


def _read_sample(sample: Mapping[str, Any]) -> Sample:
    return Sample(
        tenants=tuple(sample["tenants"]),
        layer=sample.get("layer"),
        of=sample.get("of"),
        seed=sample.get("seed"),
    )


def figure_json(figure: Figure) -> Any:  # noqa: ANN401  a part of a JSON document
    """A figure as a record's JSON has it."""
    if isinstance(figure, Share):
        counts = {"numerator": figure.numerator, "denominator": figure.denominator}
        return {**counts, "value": figure.value, "low": figure.low, "high": figure.high}
    if isinstance(figure, Estimate):
        return {"value": figure.value, "low": figure.low, "high": figure.high}
    return figure


def _read_figure(figure: Any) -> Figure:  # noqa: ANN401  a part of a JSON document
    if isinstance(figure, dict):
        return Share(**figure) if "numerator" in figure else Estimate(**figure)
    number: float | None = figure
    return number


def _values(written: Mapping[str, KnobValue], catalogue: Catalogue) -> dict[str, KnobValue]:
    """The values in force, in the catalogue's order: an unset one is the default."""
    for name, value in written.items():
        if name not in catalogue:
            raise ValueError(f"it measured {name}, which is no knob")
        if not catalogue[name].accepts(value):
            raise ValueError(f"it measured {name} {value}, which is no value of it")
    return {
        knob.name: knob.canonical(written[knob.name])
        if written[knob.name] != knob.unset
        else knob.default
        for knob in catalogue.knobs
        if knob.name in written
    }


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"made_at is {text}; there is no such time") from error
