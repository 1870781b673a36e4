"""The record of a measurement: what is written is read back, its digest is that of its content, nothing private fits in."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.canonical import NoCanonicalFormError
from knobctl.checks.evidence_files import Evidence, NoEvidence, evidence_in
from knobctl.checks.evidence_json import read_record, record_bytes, record_document
from knobctl.checks.evidence_record import (
    Corpus,
    Estimate,
    Figure,
    Kind,
    Record,
    Sample,
    Share,
    measured_knobs,
)
from knobctl.knobs import load_catalogue
from tests.cli.outputs import faults_of

CATALOGUE = load_catalogue()
SCHEMA = "evidence.v1.schema.json"
RECORD = Record(
    kind=Kind.SIMULATION,
    made_at=datetime(2026, 11, 30, 9, tzinfo=UTC),
    made_by="knobctl 1.0",
    tenant="acme",
    knobs=measured_knobs(CATALOGUE, CATALOGUE.effective({"retrieval_min_score": 0.34})),
    before=measured_knobs(CATALOGUE, CATALOGUE.defaults),
    questions=6068,
    questions_digest="ab" * 32,
    labelled=6068,
    encoder="all-MiniLM-L6-v2",
    rankers=("vector", "bm25", "recency"),
    engine="embedded",
    corpus=Corpus(documents=35, chunks=1204, fingerprint="cd" * 32),
    figures={
        "answerable_lost": Share(115, 3034, 0.0379, 0.0314, 0.0453),
        "ndcg@10_difference": Estimate(-0.01, -0.02, 0.0),
        "tokens_before": 812.5,
        "auc": None,
    },
    sample=None,
)
SAMPLE = Sample(tenants=("acme", "bolt"), layer="enterprise", of=40, seed=7)


def test_what_is_written_is_read_back_and_its_schema_accepts_it() -> None:
    """To the last part."""
    assert faults_of(json.loads(record_bytes(RECORD)), SCHEMA) == []
    assert evidence_in(record_bytes(RECORD), "e.json", CATALOGUE) == Evidence("e.json", RECORD)


def test_a_sample_is_of_no_single_tenant() -> None:
    """It lists whom it measured, in place of the tenant."""
    record = record_document(changed(tenant=None, sample=SAMPLE))
    assert faults_of(record, SCHEMA) == []
    assert "tenant" not in record["measured"]
    assert read_record(record, CATALOGUE).measured_tenants == ("acme", "bolt")
    assert faults_of(record_document(changed(tenant=None)), SCHEMA)


def test_the_digest_is_that_of_the_canonical_form_without_it() -> None:
    """By the library that wrote the standard down, and whatever the order and the spaces of the file."""
    document = json.loads(record_bytes(RECORD))
    stated = document.pop("digest")
    assert sha256(rfc8785.dumps(document)).hexdigest() == stated
    shuffled = {"digest": stated, **dict(reversed(document.items()))}
    assert read_record(json.loads(json.dumps(shuffled)), CATALOGUE) == RECORD


@pytest.mark.parametrize(
    "tampered",
    [
        {"made_at": "2026-11-30T10:00:00+00:00"},
        {"made_by": None},
        {"figures": {}},
        {"measured": {"questions": 9000}},
        {"sample": {"tenants": ["bolt"]}},
        {"digest": "0" * 64},
    ],
)
def test_a_record_that_was_changed_is_no_evidence(tampered: dict[str, Any]) -> None:
    """Whatever was changed: added, taken away, made better."""
    document = json.loads(record_bytes(RECORD))
    for name, part in tampered.items():
        if part is None:
            del document[name]
        elif name == "measured":
            document[name] |= part
        else:
            document[name] = part
    read = evidence_in(json.dumps(document).encode(), "e.json", CATALOGUE)
    assert isinstance(read, NoEvidence)
    assert "it was changed after it was made" in read.why


@pytest.mark.parametrize(
    ("figure", "why"),
    [
        (Share(120, 300, 0.004, 0.0, 0.009), "120 of 300 is not 0.004"),
        (Share(120, 300, 0.4, 0.0, 0.009), "120 of 300 is not within 0.0 and 0.009"),
        (Share(1, 300, None, 0.1, None), "1 of 300 is not within 0.1 and 1"),
        (Share(0, 300, 0.0, -1.0, 0.01), "0 of 300 is not within -1.0 and 0.01"),
        (Share(5, 3, None, None, None), "5 of 3"),
        (Share(0, 0, None, None, 0.01), "a share of nothing"),
        (Estimate(0.1, 0.3, 0.2), "0.3 is above 0.2"),
    ],
)
def test_a_figure_that_contradicts_itself_is_no_evidence(figure: Figure, why: str) -> None:
    """People read its counts and a policy the end of its interval: both must be of one measurement."""
    read = evidence_in(record_bytes(changed(figures={"lost": figure})), "e.json", CATALOGUE)
    assert read == NoEvidence("e.json", f"its figure lost contradicts itself: {why}")


@pytest.mark.parametrize(
    "private",
    [
        {"question": "what is my salary"},
        {"figures": {"what is my salary": 1}},
        {"figures": {"lost": "what is my salary"}},
        {"figures": {"lost": {"value": 1, "low": 1, "high": 1, "text": "what is my salary"}}},
        {"sample": {"tenants": ["what is my salary"]}},
        {"measured": {"rankers": ["what is my salary"]}},
        {"measured": {"engine": "https://user:secret@example.org"}},
        {"measured": {"questions_digest": "what is my salary"}},
        {"measured": {"corpus": {"chunks": 1, "fingerprint": "what is my salary"}}},
    ],
)
def test_there_is_no_place_for_private_text(private: dict[str, Any]) -> None:
    """The schema has numbers, digests and names of tenants, layers and knobs, and nothing beside them."""
    document = record_document(RECORD)
    del document["digest"]
    for name, part in private.items():
        document[name] = document[name] | part if name == "measured" else part
    assert faults_of(document, SCHEMA)


def test_what_is_no_number_cannot_be_written() -> None:
    """A figure that could not be measured is null; NaN is none."""
    with pytest.raises(NoCanonicalFormError):
        record_bytes(changed(figures={"auc": float("nan")}))


def test_a_measurement_depends_on_what_ranks_cuts_and_gates() -> None:
    """Not on how long a ranker is waited for, nor on what is cached; what a simulation changes is always there."""
    known = measured_knobs(CATALOGUE, CATALOGUE.defaults, also={"mmr_lambda"})
    assert {"retrieval_min_score", "rrf_k", "gate_mode", "mmr_lambda"} <= known.keys()
    assert not {"ranker_timeout_ms", "result_cache_mode"} & known.keys()


finite = st.floats(allow_nan=False, allow_infinity=False)
figures: st.SearchStrategy[Figure] = (
    st.none()
    | finite
    | st.builds(Estimate, finite)
    | st.builds(
        lambda value, ends: Estimate(value, *sorted(ends)), finite, st.tuples(finite, finite)
    )
    | st.builds(lambda n: Share(n, n + 3, n / (n + 3), 0.0, 1.0), st.integers(0, 10**6))
)


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.from_regex(r"\A[a-z][a-z0-9_@.]{0,20}\Z"), figures, max_size=5))
def test_every_figure_survives_the_file(found: dict[str, Figure]) -> None:
    """To the bit, with a digest that holds."""
    record = changed(figures=found)
    document = json.loads(record_bytes(record))
    assert faults_of(document, SCHEMA) == []
    assert read_record(document, CATALOGUE) == record


def changed(**parts: Any) -> Record:
    """The record with other parts."""
    return Record(**({name: getattr(RECORD, name) for name in Record.__slots__} | parts))
