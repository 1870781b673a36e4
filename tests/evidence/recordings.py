"""Recordings for tests: the shipped one, and small ones made from scores."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from knobctl import load_catalogue
from knobctl.evidence.measured import Measured, measured_for
from knobctl.evidence.reading import read_recording
from knobctl.evidence.recording import Corpus, Heading, Label, Question, Recording, Why, written
from knobctl.fusion import NORMALISED, exact
from knobctl.knobs.fusion_setup import fusion_setup

EXAMPLES: Final = Path(__file__).parents[2] / "examples" / "squad2-dev"
SHIPPED: Final = EXAMPLES / "scores.jsonl"
WITHOUT_RECENCY: Final = EXAMPLES / "scores-without-recency.jsonl"
CATALOGUE: Final = load_catalogue()
RANKERS: Final = ("vector", "bm25", "recency")


def read(path: Path) -> Recording:
    """Read a file."""
    with path.open("rb") as stream:
        return read_recording(stream, path.name)


def read_text(text: str | bytes, name: str = "scores.jsonl") -> Recording:
    """Read a text as if it were a file."""
    raw = text.encode() if isinstance(text, str) else text
    return read_recording(io.BytesIO(raw), name)


def lines(path: Path = SHIPPED) -> list[Any]:
    """The lines of a file as plain JSON, read without anything of ours."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def text_of(objects: Iterable[Any]) -> str:
    """The lines as a file."""
    return "".join(json.dumps(one) + "\n" for one in objects)


def heading(questions: int, **changes: Any) -> Heading:
    """The platform defaults with open floors, measured on the last day of November."""
    values: dict[str, Any] = {
        "made_at": datetime(2026, 11, 30, 8, tzinfo=UTC),
        "made_by": "knobctl 0.1.0",
        "engine": "embedded",
        "tenant": "acme",
        "encoder": "all-MiniLM-L6-v2",
        "corpus": Corpus(digest="0" * 64, documents=9, chunks=9),
        "knobs": CATALOGUE.effective({"retrieval_min_score": 0.0001}),
        "weights": dict.fromkeys(RANKERS, Fraction(1)),
        "k": 60,
        "depths": {"vector": 50, "bm25": 50, "recency": 20},
        "formula": NORMALISED,
        "floor": 0.0001,
        "expansion_floor": 0.0001,
        "top_k": 40,
        "questions": questions,
    }
    return Heading(**{**values, **changes})


def recording(questions: Sequence[Question], **changes: Any) -> Recording:
    """Some questions under `heading`."""
    return Recording(
        source="scores.jsonl",
        digest="0" * 64,
        heading=heading(len(questions), **changes),
        questions=tuple(questions),
    )


def question(number: int, fused: float | None, label: Label | None = None, **more: Any) -> Question:
    """One question; without a score everything was below the floor."""
    why = Why.BELOW_FLOOR if fused is None else None
    return Question(
        **{"id": f"q{number}", "source": "made", "fused": fused, "why": why, "label": label, **more}
    )


def file_of(made: Recording) -> str:
    """A recording as its file."""
    return "".join(written(made.heading, made.questions))


def measured(made: Recording, tenant: str | None = None, **knobs: Any) -> Measured:
    """A recording beside a tenant with these knobs and otherwise the platform defaults."""
    values = CATALOGUE.effective(knobs)
    setup = fusion_setup(CATALOGUE, values, lambda name: exact(str(values[name])))
    assert setup is not None
    return measured_for(made, setup, tenant=tenant, catalogue=CATALOGUE, values=values)
