"""Recorded rankings: of each question the ranks, scores and cosines of what every ranker found; no text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from knobctl.errors import InputError
from knobctl.evidence.judged_files import json_rows, lines_of
from knobctl.evidence.line_files import json_line, line_validators
from knobctl.evidence.recording import Corpus
from knobctl.evidence.simulating import Asked
from knobctl.text import rfc3339, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from knobctl.knobs import Catalogue, KnobValue

FORMAT: Final = "knobctl-rankings"
FORMAT_VERSION: Final = 1
SCHEMA: Final = "rankings.v1.schema.json"


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """One chunk that a ranker returned."""

    chunk: str
    document: str
    ranks: Mapping[str, int]
    """From 1, by the rankers that returned it."""
    score: float
    """Fused, under the set that was in force."""
    cosine: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What one pass of the rankers found."""

    rows: Mapping[str, int]
    """How many rows each ranker returned."""
    chunks: tuple[RankedChunk, ...]
    best_cosine: float | None = None
    """Of the closest chunk that was admitted."""
    is_whole: bool = True
    """Whether all that was found is here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One question."""

    asked: Asked
    first: Pass
    wide: Pass | None = None
    """The expansion pass; None where the question did not go through it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """Under what rankings were recorded."""

    made_at: datetime
    made_by: str
    engine: str
    tenant: str
    encoder: str
    corpus: Corpus
    knobs: Mapping[str, KnobValue]
    """The effective values while it was recorded, the floors open."""
    configured: Mapping[str, KnobValue]
    """The canonical set that was in force for the tenant's users."""
    questions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rankings:
    """A file of them."""

    source: str
    digest: str
    """SHA-256 of its lines, a line feed between each: of its bytes, as such files are written."""
    heading: Heading
    questions: tuple[Ranked, ...]


def written(heading: Heading, questions: Iterable[Ranked]) -> Iterator[str]:
    """The lines of a file."""
    corpus = heading.corpus
    yield json_line(
        {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "made_at": rfc3339(heading.made_at),
            "made_by": heading.made_by,
            "engine": heading.engine,
            "tenant": heading.tenant,
            "encoder": heading.encoder,
            "corpus": {
                "digest": corpus.digest,
                "documents": corpus.documents,
                "chunks": corpus.chunks,
            },
            "knobs": dict(heading.knobs),
            "configured": dict(heading.configured),
            "questions": heading.questions,
        }
    )
    for one in questions:
        yield json_line(
            {
                "id": one.asked.id,
                "source": one.asked.source,
                "tags": list(one.asked.tags),
                "first": _pass_object(one.first),
                "wide": _pass_object(one.wide) if one.wide else None,
            }
        )


def _pass_object(one: Pass) -> dict[str, Any]:
    return {
        "rows": dict(one.rows),
        "best_cosine": one.best_cosine,
        "is_whole": one.is_whole,
        "chunks": [
            [each.chunk, each.document, each.score, each.cosine, dict(each.ranks)]
            for each in one.chunks
        ],
    }


def read_rankings(path: Path, catalogue: Catalogue) -> Rankings:
    """Read recorded rankings.

    Args:
        path: The file.
        catalogue: The knobs: a set with others is another engine's.

    Raises:
        InputError: At the first line that is not as its schema says.
    """
    lines = lines_of(path)
    rows = json_rows(lines, path)
    number, first = next(rows, (1, {}))
    _judge(first, "heading", path, number)
    unknown = [one for one in (*first["knobs"], *first["configured"]) if one not in catalogue]
    if unknown:
        raise InputError(f"{visible(str(path))}:1: {visible(unknown[0])} is no knob")
    found: dict[str, Ranked] = {}
    for number, row in rows:
        _judge(row, "question", path, number)
        if row["id"] in found:
            raise InputError(
                f"{visible(str(path))}:{number}: {visible(row['id'])} stands here twice"
            )
        found[row["id"]] = _question(row)
    heading = _heading(first)
    if len(found) != heading.questions:
        raise InputError(
            f"{visible(str(path))} holds {len(found):,} questions, and its heading says {heading.questions:,}"
        )
    digest = sha256("\n".join(lines).encode()).hexdigest()
    return Rankings(source=str(path), digest=digest, heading=heading, questions=(*found.values(),))


def _heading(value: Mapping[str, Any]) -> Heading:
    return Heading(
        made_at=datetime.fromisoformat(value["made_at"]),
        made_by=value["made_by"],
        engine=value["engine"],
        tenant=value["tenant"],
        encoder=value["encoder"],
        corpus=Corpus(**value["corpus"]),
        knobs=value["knobs"],
        configured=value["configured"],
        questions=value["questions"],
    )


def _question(value: Mapping[str, Any]) -> Ranked:
    return Ranked(
        asked=Asked(id=value["id"], source=value["source"], tags=tuple(value["tags"])),
        first=_pass(value["first"]),
        wide=_pass(value["wide"]) if value["wide"] else None,
    )


def _pass(value: Mapping[str, Any]) -> Pass:
    return Pass(
        rows=value["rows"],
        chunks=tuple(
            RankedChunk(chunk, document, ranks, score, cosine)
            for chunk, document, score, cosine, ranks in value["chunks"]
        ),
        best_cosine=value["best_cosine"],
        is_whole=value["is_whole"],
    )


def _judge(value: object, what: str, path: Path, number: int) -> None:
    validator = line_validators(SCHEMA)[what]
    if not validator.is_valid(value):
        fault = next(iter(validator.iter_errors(value)))
        where = ".".join(map(str, fault.instance_path))
        raise InputError(
            f"{visible(str(path))}:{number}: {visible(f'{where}: ' if where else '')}{visible(str(fault.message)[:160])}",
            hint="what a line must hold: knobctl schema rankings; such a file comes of knobctl simulate --record",
        )
