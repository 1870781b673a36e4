"""Records of evidence for tests: what squad2 measured of a floor of 0.34, and others like it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from knobctl.checks.evidence_record import Corpus, Kind, Record, Share, measured_knobs, record_bytes
from knobctl.knobs import load_catalogue

CATALOGUE: Final = load_catalogue()
LOST: Final = Share(115, 3034, 115 / 3034, 0.0314, 0.0453)
RECORD: Final = Record(
    kind=Kind.SIMULATION,
    made_at=datetime.now(UTC).replace(microsecond=0),
    made_by="knobctl 1.0",
    tenant="squad2",
    knobs=measured_knobs(CATALOGUE, CATALOGUE.effective({"retrieval_min_score": 0.34})),
    before=measured_knobs(CATALOGUE, CATALOGUE.defaults),
    questions=6068,
    questions_digest="ab" * 32,
    labelled=6068,
    encoder="all-MiniLM-L6-v2",
    rankers=("vector", "bm25", "recency"),
    engine="embedded",
    corpus=Corpus(chunks=100, documents=35, fingerprint="cd" * 32),
    figures={"answerable_lost": LOST, "vector_only_best_lost": Share(45, 45, 1.0, 0.921, 1.0)},
)
SENTENCE: Final = (
    "3.8% of 3,034 answerable questions lose their document (3.1..4.5%); "
    f"45 of 45 vector-only best matches lost; {RECORD.made_at.date()}, 6,068 questions"
)


def changed(record: Record = RECORD, **parts: Any) -> Record:
    """A record with other parts."""
    return Record(**({name: getattr(record, name) for name in Record.__slots__} | parts))


def record_text(record: Record = RECORD, **parts: Any) -> str:
    """The file of a record with other parts."""
    return record_bytes(changed(record, **parts)).decode()
