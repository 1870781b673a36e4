"""Layers: later ones win, the tenant's own knobs win over all, and every value knows where it is from."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from knobctl.documents.kinds import sort_documents
from knobctl.documents.layers import resolve
from knobctl.documents.model import Effective
from knobctl.documents.reader import read_text
from knobctl.knobs import load_catalogue

CATALOGUE = load_catalogue()


def resolved(text: str) -> Effective:
    """Resolve the first document of a text over the others, in their order."""
    tenant, *layers = sort_documents(read_text(text, "t.yaml"), named=True).documents
    return resolve(tenant, layers, CATALOGUE)


def test_later_layers_win_and_the_tenant_wins_over_all() -> None:
    """With everything that was hidden, nearest first."""
    found = resolved(
        "tenant: t\nknobs: {rrf_k: 1}\n---\nlayer: a\nknobs: {rrf_k: 2, mmr_lambda: 0.2}\n"
        "---\nlayer: b\nknobs: {rrf_k: 3, mmr_lambda: 0.3, retrieval_min_score: 0.4}\n"
    )
    assert found.desired == {"rrf_k": 1, "mmr_lambda": 0.3, "retrieval_min_score": 0.4}
    assert [written.value for written in found.origins["rrf_k"]] == [1, 3, 2]
    assert [written.document.name for written in found.hidden("mmr_lambda")] == ["a"]
    assert found.location("retrieval_min_score").line == 8
    assert found.location("rrf_weight_bm25").line == 1
    assert found.values["rrf_weight_bm25"] == CATALOGUE["rrf_weight_bm25"].default


def test_a_literal_zero_hides_a_layer_and_means_the_platform_default() -> None:
    """It is not sent, and it is not the layer's value."""
    found = resolved(
        "tenant: t\nknobs: {retrieval_min_score: 0, recency_ranker_mode: KNOB_MODE_UNSPECIFIED}\n---\n"
        "layer: a\nknobs: {retrieval_min_score: 0.1, recency_ranker_mode: DISABLED}\n"
    )
    assert found.desired == {}
    assert found.values["retrieval_min_score"] == 0.3
    assert found.values["recency_ranker_mode"] == "ENABLED"
    assert found.hidden("retrieval_min_score")[0].value == 0.1


def test_both_spellings_are_one_knob() -> None:
    """The wire's name in a layer is hidden by the canonical one."""
    found = resolved("tenant: t\nknobs: {rrf_k: 1}\n---\nlayer: a\nknobs: {rrfK: 2}\n")
    assert found.desired == {"rrf_k": 1}
    assert len(found.origins["rrf_k"]) == 2


def test_values_have_the_knobs_own_type_and_their_exact_decimals() -> None:
    """8.0 is 8 for an integer knob; a floor is compared exactly as written."""
    found = resolved(
        "tenant: t\nknobs: {retrieval_vector_top_k: 8.0, retrieval_min_score: 0.33333333333333333, mmr_lambda: 1}\n"
    )
    assert [repr(value) for value in found.desired.values()] == ["0.3333333333333333", "8", "1.0"]
    assert found.exact("retrieval_min_score") == Fraction(33333333333333333, 10**17)
    assert found.exact("rrf_k") == 60
    assert found.origins["retrieval_vector_top_k"][0].literal == "8.0"


def test_what_is_wrong_is_left_out() -> None:
    """Unknown knobs and values that no engine takes are for the checks to tell."""
    found = resolved(
        "tenant: t\nknobs: {nonsense: 1, rrf_k: 'x', mmr_lambda: 7, retrieval_min_score: true}\n"
    )
    assert (found.desired, dict(found.origins)) == ({}, {})
    assert resolved("tenant: t\nknobs: [1]\n").desired == {}
    assert resolved("tenant: t\n").desired == {}


def test_a_number_too_small_for_a_double_costs_no_time() -> None:
    """Its exact value would have 300 million digits."""
    found = resolved("tenant: t\nknobs: {retrieval_min_score: 1e-300000000}\n")
    assert found.exact("retrieval_min_score") == Fraction(3, 10)
    assert found.origins["retrieval_min_score"][0].exact == 0


def test_a_merged_value_tells_both_places() -> None:
    """Where it stands, and the merge key by which it came."""
    found = resolved("x-a: &a\n  rrf_k: 5\ntenant: t\nknobs:\n  <<: *a\n")
    written = found.origins["rrf_k"][0]
    assert written.location.line == 2
    assert written.via is not None
    assert (written.via.line, written.via.column) == (5, 3)


KNOBS = st.dictionaries(
    st.sampled_from(["rrf_k", "retrieval_vector_top_k", "assembly_max_chunks"]), st.integers(0, 100)
)


@given(own=KNOBS, layers=st.lists(KNOBS, max_size=4))
def test_resolving_is_overwriting_from_the_first_layer_to_the_tenant(
    own: dict[str, int], layers: list[dict[str, int]]
) -> None:
    """The law, against the plainest way to say it."""
    text = "\n---\n".join(
        f'{{"{kind}": "n{number}", "knobs": {str(knobs).replace(chr(39), chr(34))}}}'
        for number, (kind, knobs) in enumerate(
            [("tenant", own), *(("layer", one) for one in layers)]
        )
    )
    plain: dict[str, int] = {}
    for knobs in (*layers, own):
        plain |= knobs
    assert resolved(text).desired == {name: value for name, value in plain.items() if value}
