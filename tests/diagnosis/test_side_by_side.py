"""One question under two sets: what each removes, and what a model gains, loses and gets in another order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.diagnosis import TenantKnobs
from knobctl.diagnosis.evaluated import Evaluated, Fate, read_evaluations
from knobctl.diagnosis.side_by_side import Shift, Side, SideBySide
from knobctl.errors import InputError
from knobctl.knobs import load_catalogue
from tests.diagnosis.answers import hit
from tests.diagnosis.evaluations import evaluated, evaluation, evaluations

DEFAULTS = TenantKnobs.defaults(load_catalogue())
THREE = [hit("both", vector=1, bm25=1), hit("vec", vector=2), hit("fresh", recency=9)]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["evaluations", "chunks", "candidates", "quality", "score", "ranks"]),
            inner,
        )
    ),
    max_leaves=12,
)


def read(one: dict[str, Any]) -> Evaluated:
    """Read one evaluation."""
    (found,) = read_evaluations(evaluated(one), "x")
    return found


def both(before: dict[str, Any], after: dict[str, Any]) -> SideBySide:
    """Put two next to each other."""
    return SideBySide(*(Side.of(read(one), DEFAULTS) for one in (before, after)))


def shifts(found: SideBySide) -> dict[str, Shift]:
    """What becomes of each chunk."""
    return {pair.chunk_id: pair.shift for pair in found.pairs}


def facts(found: SideBySide) -> dict[str, tuple[str, str]]:
    """What both tell."""
    return {fact.topic: (fact.before, fact.after) for fact in found.facts}


def test_a_candidate_ends_in_the_prompt_under_the_floor_or_left_out() -> None:
    """A score that equals the floor passes it."""
    found = read(evaluation(THREE, floor=THREE[1]["score"], most=1))
    assert [(one.chunk_id, one.fate, one.place) for one in found.candidates] == [
        ("both", Fate.PROMPT, 1),
        ("vec", Fate.LEFT_OUT, None),
        ("fresh", Fate.FLOOR, None),
    ]
    assert found.by_id["both"].text == "About both."


def test_after_an_expansion_nobody_knows_what_became_of_the_first_pass() -> None:
    """The expansion ranked anew; what is in the prompt is known all the same."""
    found = read(evaluation(THREE, floor=0.6, expanded=True, removedByExpansionFloor=2))
    assert [one.fate for one in found.candidates] == [Fate.PROMPT, Fate.UNTOLD, Fate.UNTOLD]


def test_a_closed_gate_removes_every_candidate() -> None:
    """Whatever they score."""
    closed = evaluation(THREE, noMatch=True, bestCosine=0.1) | {"chunks": []}
    assert {one.fate for one in read(closed).candidates} == {Fate.NO_MATCH}
    said = facts(both(evaluation(THREE), closed))["no match"]
    assert said == ("", "best cosine 0.1, under no_match_min_cosine")


def test_a_stricter_floor_loses_and_a_looser_one_gains() -> None:
    """With what removed it, before and after."""
    found = both(evaluation(THREE, 0.3), evaluation(THREE, 0.6))
    assert shifts(found) == {"both": Shift.STAYED, "vec": Shift.LOST, "fresh": Shift.OUT}
    assert [pair.chunk_id for pair in found.pairs] == ["both", "vec", "fresh"]
    said = facts(found)
    assert said["floor"] == ("0.3", "0.6")
    assert said["removed"] == ("1", "2")
    assert said["in the prompt"] == ("2", "1")
    assert said["tokens"] == ("20", "10")
    assert "live" in said
    back = both(evaluation(THREE, 0.6), evaluation(THREE, 0.3))
    assert shifts(back)["vec"] is Shift.GAINED
    assert back.after.diagnosis.headline.startswith("ok: 3 candidates, the floor 0.3 removed 1")


def test_moved_is_what_changes_places_with_another_not_what_moves_up() -> None:
    """A chunk lost at the top does not move all the others."""
    before = evaluation(THREE, 0.0001)
    shorter = evaluation(THREE[1:], 0.0001)
    assert Shift.MOVED not in shifts(both(before, shorter)).values()
    turned = before | {"chunks": list(reversed(before["chunks"]))}
    assert shifts(both(before, turned)) == {
        "both": Shift.MOVED,
        "vec": Shift.STAYED,
        "fresh": Shift.MOVED,
    }


@given(evaluations())
@settings(max_examples=40, deadline=None)
def test_an_answer_beside_itself_differs_in_nothing(one: dict[str, Any]) -> None:
    """Whatever it is."""
    found = both(one, one)
    assert not found.changes_the_prompt
    assert not any(fact.differs for fact in found.facts)


@given(evaluations(), evaluations())
@settings(max_examples=80, deadline=None)
def test_gains_and_losses_add_up_and_swap_with_the_sides(
    one: dict[str, Any], two: dict[str, Any]
) -> None:
    """Each chunk stands once, the later prompt first and in its order."""
    found, back = both(one, two), both(two, one)
    ids = [pair.chunk_id for pair in found.pairs]
    assert len(ids) == len(set(ids))
    assert set(ids) == {hit["chunkId"] for hit in (*one["candidates"], *two["candidates"])}
    assert ids[: len(two["chunks"])] == [hit["chunkId"] for hit in two["chunks"]]
    gained, lost = found.number(Shift.GAINED), found.number(Shift.LOST)
    assert gained - lost == len(two["chunks"]) - len(one["chunks"])
    assert (gained, lost) == (back.number(Shift.LOST), back.number(Shift.GAINED))
    assert found.number(Shift.MOVED) == back.number(Shift.MOVED)
    assert found.number(Shift.MOVED) != 1
    removed = sum(pair.after is not None and pair.after.fate is Fate.FLOOR for pair in found.pairs)
    assert removed == two["quality"]["resultsBelowThreshold"]


@given(JSON)
@settings(max_examples=150, deadline=None)
def test_whatever_an_engine_answers_is_read_or_refused(value: Any) -> None:
    """Never a crash."""
    try:
        found = read_evaluations(value if isinstance(value, dict) else {"evaluations": value}, "x")
    except InputError:
        return
    for one in found:
        assert len(one.by_id) == len(one.candidates)
        SideBySide(Side.of(one, DEFAULTS), Side.of(one, DEFAULTS)).facts  # noqa: B018  it is worked out


def test_an_answer_without_evaluations_is_refused() -> None:
    """An engine that gives something else gave nothing."""
    with pytest.raises(InputError, match="no answer of Evaluate"):
        read_evaluations({"results": []}, "x")
