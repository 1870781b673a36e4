"""Which side moved, who moved live and since when: by the sets that live has held."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.changes.comparing import TenantDiff
from knobctl.changes.diff import diff_sets
from knobctl.changes.tracing import UNTOLD, KnobDrift, Moved, trace
from knobctl.documents.repository import open_repository
from knobctl.engine.interface import LiveSet
from knobctl.knobs import load_catalogue
from tests.changes.generating import random_neighbour, random_set

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.knobs import KnobValue

CATALOGUE = load_catalogue()
FLOOR, K = "retrieval_min_score", "rrf_k"
A, B = {FLOOR: 0.3}, {FLOOR: 0.7}


def events(*sets: Mapping[str, KnobValue]) -> list[dict[str, Any]]:
    """The audit events of a tenant that held these sets, the empty one first; r1 is by user1."""
    return [
        {
            "before": dict(before),
            "after": dict(after),
            "revision": f"r{at}",
            "actor": f"user{at}",
            "occurred_at": f"2026-01-{at:02}T00:00:00Z",
            "reason": "",
        }
        for at, (before, after) in enumerate(pairwise([{}, *sets]), 1)
    ]


def traced(
    desired: Mapping[str, KnobValue],
    held: Sequence[Mapping[str, KnobValue]],
    *,
    told: list[dict[str, Any]] | None = None,
    live: Mapping[str, KnobValue] | None = None,
    revision: str | None = None,
) -> dict[str, KnobDrift]:
    """What is found of each knob, where a file wants a set and live has held others."""
    history = events(*held) if told is None else told
    holds = dict(held[-1] if held else {}) if live is None else dict(live)
    at = revision if revision is not None else (f"r{len(held)}" if held else "")
    diff = TenantDiff(
        tenant="acme",
        changes=diff_sets(CATALOGUE, holds, desired),
        after="acme.yaml",
        live=LiveSet(tenant="acme", knobs=holds, revision=at),
        effective=_effective(desired),
    )
    return {one.change.knob: one for one in trace(CATALOGUE, diff, history)}


def _effective(desired: Mapping[str, KnobValue]) -> Any:
    from knobctl.changes.stand_in import judging, stand_in

    empty = open_repository(
        ["-"], catalogue=CATALOGUE, cwd=Path(), stdin=lambda: b"tenant: x\nknobs: {}\n", whole=False
    )
    document = stand_in("acme", desired, source="acme.yaml", labels={}, owner=None)
    return judging(empty, [document]).effective(document)


def sides(found: Mapping[str, KnobDrift]) -> dict[str, str]:
    """Which side moved, by knob."""
    return {name: one.moved.value for name, one in found.items()}


def revisions(one: KnobDrift) -> tuple[str | None, str | None]:
    """The revisions of the change that gave live its value, and of the first one away."""
    return (one.last.revision if one.last else None, one.since.revision if one.since else None)


def test_live_edited_after_a_push() -> None:
    """Who: the last change of the knob. Since when: the first away from what was pushed."""
    found = traced(A, [A, {FLOOR: 0.5}, {FLOOR: 0.5, K: 30}, {FLOOR: 0.7, K: 30}])
    assert sides(found) == {FLOOR: "live", K: "live"}
    assert (revisions(found[FLOOR]), revisions(found[K])) == (("r4", "r2"), ("r3", "r3"))


def test_an_edit_that_was_taken_back_in_between_does_not_count() -> None:
    """Live agreed again at r3; the drift of today began at r4."""
    found = traced(A, [A, B, A, {FLOOR: 0.6}])
    assert revisions(found[FLOOR]) == ("r4", "r4")


def test_never_pushed() -> None:
    """Nobody wrote live: all that the file says is ahead."""
    found = traced({FLOOR: 0.2, K: 30}, [])
    assert sides(found) == {FLOOR: "file", K: "file"}
    assert revisions(found[FLOOR]) == (None, None)


def test_never_pushed_and_live_written_by_another_path() -> None:
    """What the file does not say was set live; what live never had is ahead in the file."""
    found = traced(A, [{K: 30}])
    assert sides(found) == {FLOOR: "file", K: "live"}


def test_the_file_changed_after_the_last_push() -> None:
    """A value, a new line, a line taken out: all of them the file's."""
    pushed = {FLOOR: 0.3, K: 30, "mmr_lambda": 0.5}
    found = traced({FLOOR: 0.2, K: 30, "gate_min_confident": 0.6}, [{K: 20}, pushed])
    assert sides(found) == {FLOOR: "file", "mmr_lambda": "file", "gate_min_confident": "file"}
    assert revisions(found[FLOOR]) == ("r2", None)


def test_both_each_a_knob_of_its_own() -> None:
    """Pushed, then one knob edited live and another one in the file."""
    assert sides(traced({FLOOR: 0.3, K: 30}, [A, B])) == {FLOOR: "live", K: "file"}


def test_both_moved_the_same_knob() -> None:
    """The other knobs tell what was pushed; then the file has moved, and live has."""
    found = traced(
        {FLOOR: 0.5, K: 30}, [{FLOOR: 0.3, K: 30}, {FLOOR: 0.7, K: 30, "mmr_lambda": 0.5}]
    )
    assert sides(found) == {FLOOR: "both", "mmr_lambda": "live"}
    assert found[FLOOR].agreed == 0.3
    assert revisions(found[FLOOR]) == ("r2", "r2")


def test_a_rollback_that_left_the_file_alone_is_an_edit_of_live() -> None:
    """Live is back at r1, the file still says r2."""
    found = traced(B, [A, B, A])
    assert (sides(found), revisions(found[FLOOR])) == ({FLOOR: "live"}, ("r3", "r3"))


def test_a_write_without_an_event_is_told_as_one() -> None:
    """Between two events, or after the last: the store was written by another way."""
    holes = events(A, A)
    holes[1]["before"], holes[1]["after"] = dict(B), {**B, K: 30}
    found = traced(A, [A, {**B, K: 30}], told=holes)
    assert found[FLOOR].last is UNTOLD
    assert revisions(found[K]) == ("r2", "r2")
    assert traced(A, [A], live=B, revision="r9")[FLOOR].last is UNTOLD


def test_without_events_nobody_knows() -> None:
    """A set that somebody wrote, and no history of it."""
    found = traced(A, [B], told=[])
    assert sides(found) == {FLOOR: "unknown"}
    assert revisions(found[FLOOR]) == (None, None)


def test_events_after_the_set_that_was_read_do_not_count() -> None:
    """Somebody wrote between reading the set and reading its history."""
    found = traced(A, [A, B], told=events(A, B, A), live=B, revision="r2")
    assert (sides(found), revisions(found[FLOOR])) == ({FLOOR: "live"}, ("r2", "r2"))


def test_the_order_is_the_engines_whatever_its_clock_said() -> None:
    """Times run backwards; revisions do not."""
    told = events(A, {FLOOR: 0.5}, B)
    for at, event in enumerate(told):
        event["occurred_at"] = f"20{30 - at}-01-01T00:00:00Z"
    assert revisions(traced(A, [A, {FLOOR: 0.5}, B], told=told)[FLOOR]) == ("r3", "r2")


def test_fields_of_another_schema_in_an_event_are_passed_over() -> None:
    """And values that no schema of ours takes."""
    told = events(A, B)
    told[0]["after"] |= {"other_knob": 3, K: "many"}
    told[1]["before"] |= {"other_knob": 3, K: "many"}
    assert sides(traced(A, [A, B], told=told)) == {FLOOR: "live"}


@given(seed=st.integers(0, 2**32))
@settings(max_examples=60)
def test_live_edited_after_a_push_is_live_s_whatever_happened_before(seed: int) -> None:
    """Every knob that differs is named once, as edited live, by the change that gave it its value."""
    random = Random(seed)
    pushed = CATALOGUE.canonical(random_set(CATALOGUE, random))
    before = [CATALOGUE.canonical(random_set(CATALOGUE, random)) for _ in range(2)]
    after = [CATALOGUE.canonical(random_neighbour(CATALOGUE, pushed, random)) for _ in range(3)]
    held = [*before, pushed, *after]

    found = traced(pushed, held)

    assert list(found) == [one.knob for one in diff_sets(CATALOGUE, held[-1], pushed)]
    for name, one in found.items():
        assert one.moved is Moved.LIVE
        changed = [at for at in range(1, len(held)) if held[at].get(name) != held[at - 1].get(name)]
        assert one.last is not None
        assert one.last.revision == f"r{changed[-1] + 1}"
        assert one.since is not None
        first = int(one.since.revision[1:]) - 1
        assert held[first - 1].get(name) == pushed.get(name)
        assert all(later.get(name) != pushed.get(name) for later in held[first:])


@given(seed=st.integers(0, 2**32))
@settings(max_examples=60)
def test_a_file_with_something_new_is_ahead_where_live_is_as_it_was_pushed(seed: int) -> None:
    """One knob changed in the file, to what live never had: the file is ahead, and nothing else differs."""
    random = Random(seed)
    pushed = {FLOOR: random.choice([0.1, 0.2]), **({K: 30} if random.random() < 0.5 else {})}
    found = traced({**pushed, "mmr_lambda": 0.25}, [{K: 7, "gate_min_confident": 0.1}, pushed])
    assert sides(found) == {"mmr_lambda": "file"}


def test_drift_compares_with_documents() -> None:
    """A diff of two files has no history."""
    with pytest.raises(ValueError, match="live"):
        trace(CATALOGUE, TenantDiff(tenant="a", changes=(), after="b"), [])
