"""Records of evidence for tests: what `simulate` measured of a floor of 0.34 on squad2-dev, and others like it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from knobctl.checks.evidence_json import record_bytes
from knobctl.checks.evidence_record import Corpus, Kind, Record, Share, measured_knobs
from knobctl.knobs import load_catalogue

CATALOGUE: Final = load_catalogue()
CUT: Final = Share(26, 2153, 26 / 2153, 0.0079, 0.0176)
RECORD: Final = Record(
    kind=Kind.SIMULATION,
    made_at=datetime.now(UTC).replace(microsecond=0),
    made_by="knobctl 1.0",
    tenant="squad2",
    knobs=measured_knobs(CATALOGUE, CATALOGUE.effective({"retrieval_min_score": 0.34})),
    before=measured_knobs(CATALOGUE, CATALOGUE.defaults),
    questions=6065,
    questions_digest="ab" * 32,
    labelled=2153,
    encoder="all-MiniLM-L6-v2",
    rankers=("vector", "bm25", "recency"),
    engine="embedded",
    corpus=Corpus(chunks=100, documents=35, fingerprint="cd" * 32),
    figures={
        "answerable_cut": CUT,
        "answerable_lost": Share(3, 2153, 3 / 2153, 0.0003, 0.0041),
        "vector_only_best_lost": Share(24, 24, 1.0, 0.8575, 1.0),
    },
)
FINDING: Final = "1.2% of 2,153 answerable questions lose their document to the floors (0.7..1.8%)"
SENTENCE: Final = (
    f"{FINDING}; 3 of 2,153 in the prompt; 24 of 24 vector-only best matches under them; "
    f"{RECORD.made_at.date()}, 6,065 questions"
)


def changed(record: Record = RECORD, **parts: Any) -> Record:
    """A record with other parts."""
    return Record(**({name: getattr(record, name) for name in Record.__slots__} | parts))


def record_text(record: Record = RECORD, **parts: Any) -> str:
    """The file of a record with other parts."""
    return record_bytes(changed(record, **parts)).decode()
