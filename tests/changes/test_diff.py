"""The diff: exact, typed, without tolerance, and what the engine's audit event says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knobctl.changes.diff import Op, diff_sets, resets_first
from knobctl.changes.differences import MISSING, Kind, differences
from knobctl.changes.paths import PathStyle, spell
from knobctl.engine.embedded import open_embedded
from knobctl.knobs import load_catalogue
from tests.changes.generating import random_neighbour, random_set

CATALOGUE = load_catalogue()
CASES = {
    case["id"]: case["input"]
    for case in json.loads((Path(__file__).parent.parent / "data" / "cases.json").read_text())
}

leaves = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False)
    | st.text("ab_.", max_size=3)
)
plain = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab_.[", max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"retrieval_min_score": 0.2}, (Op.SET, 0, 0.2, 0.3, 0.2)),
        (
            {"retrieval_min_score": 0.2},
            {"retrieval_min_score": 0.1},
            (Op.CHANGE, 0.2, 0.1, 0.2, 0.1),
        ),
        ({"retrieval_min_score": 0.2}, {}, (Op.RESET, 0.2, 0, 0.2, 0.3)),
        (
            {},
            {"gate_mode": "DISABLED"},
            (Op.SET, "KNOB_MODE_UNSPECIFIED", "DISABLED", "ENABLED", "DISABLED"),
        ),
    ],
)
def test_a_change_shows_wire_and_effective_value_on_both_sides(
    before: dict[str, Any], after: dict[str, Any], expected: tuple[object, ...]
) -> None:
    """Unset is 0 or UNSPECIFIED on the wire and the platform default in force."""
    (change,) = diff_sets(CATALOGUE, before, after)
    assert (
        change.op,
        change.before,
        change.after,
        change.effective_before,
        change.effective_after,
    ) == expected


def test_there_is_no_tolerance_around_zero() -> None:
    """1e-07 to unset is the change that matters most: the floor becomes 0.3 (case diff-significant-digits-hides-sentinel)."""
    old = CASES["diff-significant-digits-hides-sentinel"]["old"]
    new = CATALOGUE.canonical(CASES["diff-significant-digits-hides-sentinel"]["new"])
    (change,) = diff_sets(CATALOGUE, old, new)
    assert (change.op, change.before, change.effective_after) == (Op.RESET, 1e-07, 0.3)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"rrf_k": 8}, {"rrf_k": 8.0}),
        ({"rrf_k": 0}, {}),
        ({"gate_mode": "KNOB_MODE_UNSPECIFIED"}, {}),
    ],
)
def test_the_same_set_in_another_spelling_is_no_change(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    """8 is 8.0, 0 is absent, UNSPECIFIED is absent."""
    assert diff_sets(CATALOGUE, CATALOGUE.canonical(before), CATALOGUE.canonical(after)) == ()


def test_neighbouring_doubles_differ() -> None:
    """0.3 and 0.30000000000000004 are two values."""
    assert len(diff_sets(CATALOGUE, {"mmr_lambda": 0.3}, {"mmr_lambda": 0.1 + 0.2})) == 1


def test_changes_are_in_the_order_of_their_paths_and_resets_lead_for_people() -> None:
    """Machines get one order; people see first what a full replace loses."""
    changes = diff_sets(
        CATALOGUE,
        {"rrf_k": 10, "retrieval_vector_top_k": 32},
        {"retrieval_min_score": 0.1, "rrf_k": 20},
    )
    assert [change.field_path for change in changes] == [
        "retrieval_min_score",
        "retrieval_vector_top_k",
        "rrf_k",
    ]
    assert next(change.field_path for change in resets_first(changes)) == "retrieval_vector_top_k"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("diff-number-type-in-list", [("/weights/1", Kind.CHANGED, True, 1)]),
        (
            "diff-list-reorder",
            [
                (
                    "/ranker_order",
                    Kind.REORDERED,
                    ["vector", "bm25", "recency"],
                    ["bm25", "vector", "recency"],
                )
            ],
        ),
        ("diff-double-underscore-key", [("/__floor_override", Kind.CHANGED, 0.3, 0.9)]),
        (
            "diff-none-versus-missing",
            [("/a", Kind.REMOVED, None, MISSING), ("/b", Kind.CHANGED, 1, None)],
        ),
    ],
)
def test_case(name: str, expected: list[tuple[object, ...]]) -> None:
    """What peers' differs overlook, confuse or report differently on every run."""
    old, new = CASES[name]["old"], CASES[name]["new"]
    for _ in range(3):
        found = [
            (spell(one.steps, PathStyle.POINTER), one.kind, one.before, one.after)
            for one in differences(old, new)
        ]
        assert found == expected


@given(plain)
def test_a_value_does_not_differ_from_itself(value: Any) -> None:
    """diff(x, x) is empty."""
    assert differences(value, json.loads(json.dumps(value))) == ()


@given(plain, plain)
def test_every_difference_is_seen_from_both_sides(left: Any, right: Any) -> None:
    """What one direction reports the other does, and two values that differ are never called equal."""
    there, back = differences(left, right), differences(right, left)
    assert [one.steps for one in there] == [one.steps for one in back]
    assert bool(there) == (_typed(left) != _typed(right))


@given(*[st.dictionaries(st.text("ab_.[", max_size=3), leaves, max_size=5)] * 2)
def test_between_flat_mappings_the_places_are_those_that_deepdiff_finds(
    left: dict[str, Any], right: dict[str, Any]
) -> None:
    """Without it they take a hundredth of the time."""
    deep = differences({"set": left, "nested": {}}, {"set": right, "nested": {}})
    assert [("set", *one.steps) for one in differences(left, right)] == [one.steps for one in deep]


def _typed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _typed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_typed(inner) for inner in value]
    return ("bool", value) if isinstance(value, bool) else value


@pytest.mark.parametrize(
    ("steps", "field", "pointer"),
    [
        (["retrieval_min_score"], "retrieval_min_score", "/retrieval_min_score"),
        (["fusion", "weights", 1], "fusion.weights[1]", "/fusion/weights/1"),
        (["a.b"], '"a.b"', "/a.b"),
        (["a", "b"], "a.b", "/a/b"),
        (["a[0]"], '"a[0]"', "/a[0]"),
        (["a/b~c"], "a/b~c", "/a~1b~0c"),
        ([""], '""', "/"),
        ([], "", ""),
    ],
)
def test_paths_are_spelled_as_the_audit_event_and_as_pointers(
    steps: list[str | int], field: str, pointer: str
) -> None:
    """A key that holds a dot or a bracket is quoted; RFC 6901 escapes ~ and /."""
    assert (spell(steps), spell(steps, PathStyle.POINTER)) == (field, pointer)


def _predicted_and_reported(tmp_path: Path, pairs: int, seed: int) -> None:
    """Replace one tenant's set over and over; compare each prediction with the audit event."""
    random = Random(seed)
    engine = open_embedded(
        f"embedded:{tmp_path / 'e.db'}", CATALOGUE, actor="anna", clock=lambda: datetime.now(UTC)
    )
    desired = random_set(CATALOGUE, random)
    predicted = []
    for number in range(pairs):
        live = engine.read("acme")
        changes = diff_sets(CATALOGUE, live.knobs, CATALOGUE.canonical(desired))
        predicted.append([change.field_path for change in changes])
        engine.replace(
            "acme",
            desired,
            expected_revision=live.revision,
            reason="",
            idempotency_key=f"k{number}",
        )
        desired = random_neighbour(CATALOGUE, desired, random)
    reported = [event["changed_field_paths"] for event in engine.audit_events("acme")]
    engine.close()
    assert reported == predicted


def test_the_diff_predicts_the_audit_event(tmp_path: Path) -> None:
    """changed_field_paths of the event is exactly what the diff lists, on 2,000 random pairs."""
    _predicted_and_reported(tmp_path, 2_000, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_diff_predicts_the_audit_event_on_100_000_pairs(tmp_path: Path) -> None:
    """The same, on 100,000 random pairs."""
    _predicted_and_reported(tmp_path, 100_000, seed=2)
