"""Two answers: whether they may be compared, and what differs."""

from __future__ import annotations

from typing import Any

from knobctl.diagnosis import Comparison, TenantKnobs, compare, diagnose
from knobctl.diagnosis.reading import from_object
from knobctl.knobs import load_catalogue
from tests.diagnosis.answers import FIELD_REPORT, assembled, hit, rankers, search

DEFAULTS = TenantKnobs.defaults(load_catalogue())


def compared(first: Any, second: Any) -> Comparison:
    """Compare two answers."""
    return compare(*(diagnose(from_object(one, "x"), DEFAULTS) for one in (first, second)))


def texts(found: Comparison) -> dict[str, str]:
    """The remarks by their ids."""
    return {remark.id: remark.text for remark in found.remarks}


def test_two_answers_of_one_corpus_may_be_compared() -> None:
    """The floor is what differs."""
    found = compared(search(FIELD_REPORT), search(FIELD_REPORT, 0.3))
    assert found.comparable == "same-corpus"
    said = texts(found)
    assert said["differs-floor"] == "0.7 -> 0.3"
    assert said["differs-outcome"] == "below_threshold -> ok"
    assert said["differs-removed"] == "12 -> 0"
    assert "differs-candidates" not in said
    assert said["only-second"].startswith("10 chunks: gates, policy, approvals")


def test_a_corpus_that_changed_makes_the_comparison_lie() -> None:
    """Said first."""
    found = compared(search(FIELD_REPORT), search(FIELD_REPORT, corpusVersion="c13"))
    assert found.comparable == "corpus-changed"
    assert "c12 and c13" in found.headline


def test_without_both_versions_nobody_knows() -> None:
    """An older engine states none."""
    found = compared(search(FIELD_REPORT), {"results": []})
    assert found.comparable == "corpus-unknown"
    assert "second retrieval" in found.headline


def test_other_live_rankers_make_the_same_score_mean_something_else() -> None:
    """1/3 is not 1/2."""
    found = compared(
        search(FIELD_REPORT),
        search([hit("a", active=("vector",), vector=1)], rankers=rankers(9, 0, 0)),
    )
    assert texts(found)["differs-live"].startswith("vector, bm25, recency -> vector: a score means")


def test_a_changed_scale_names_everything_that_is_compared_with_the_score() -> None:
    """A field that silently became another quantity misleads every reader of it."""
    raw = search(FIELD_REPORT) | {"bestRemovedScore": 0.0328, "scoreHistogram": [12] + [0] * 19}
    said = texts(compared(search(FIELD_REPORT), raw))["scale-mismatch"]
    for reader in ("retrieval_min_score", "gate_min_confident", "gate_expanded_floor", "minScore"):
        assert reader in said


def test_equal_answers_say_that_they_are() -> None:
    """The same chunks in the same order, and nothing else."""
    answer = assembled(FIELD_REPORT, 0.5)
    found = compared(answer, answer)
    assert texts(found) == {"same-chunks": "the same 3, in the same order"}
