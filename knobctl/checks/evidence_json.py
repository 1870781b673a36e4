"""A record as its JSON: laid out with its digest, and read back where nothing speaks against it. Pure."""

from __future__ import annotations

import json
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from knobctl.canonical import canonical
from knobctl.checks.evidence_record import Corpus, Estimate, Kind, Record, Sample, Share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.checks.evidence_record import Figure
    from knobctl.knobs import Catalogue, KnobValue

FORMAT: Final = "knobctl-evidence"
FORMAT_VERSION: Final = 1
_ROUNDING: Final = 5e-4
"""Of a share that somebody wrote with three digits."""


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
        figures={
            name: _read_figure(name, one) for name, one in document.get("figures", {}).items()
        },
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


def _read_figure(name: str, figure: Any) -> Figure:  # noqa: ANN401  a part of a JSON document
    if isinstance(figure, dict):
        read = Share(**figure) if "numerator" in figure else Estimate(**figure)
        if why := _contradiction(read):
            raise ValueError(f"its figure {name} contradicts itself: {why}")
        return read
    number: float | None = figure
    return number


def _contradiction(figure: Share | Estimate) -> str | None:
    """Why a figure can be no measurement; the sentence is made of counts, and policies read the ends."""
    low, value, high = figure.low, figure.value, figure.high
    if isinstance(figure, Share):
        number, of = figure.numerator, figure.denominator
        if number > of:
            return f"{number} of {of}"
        if not of:
            known = any(one is not None for one in (low, value, high))
            return "a share of nothing" if known else None
        if value is not None and abs(value - number / of) > _ROUNDING:
            return f"{number} of {of} is not {value}"
        low, high = (0 if low is None else low), (1 if high is None else high)
        if not 0 <= low <= number / of + _ROUNDING or not number / of - _ROUNDING <= high <= 1:
            return f"{number} of {of} is not within {low} and {high}"
    elif low is not None and high is not None and low > high:
        return f"{low} is above {high}"
    return None


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
