"""The fleet's columns give back what was put into them, in whatever steps it came."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.knobs import load_catalogue
from knobctl.tui.fleet import NOBODY, About, Chunk, Fleet, Held, Mark, Row, State, Verdict
from knobctl.tui.sorting import ORDERS, by_name, in_order

CATALOGUE = load_catalogue()
FLOOR = "retrieval_min_score"
SETS = st.fixed_dictionaries(
    {},
    optional={
        FLOOR: st.sampled_from([0.1, 0.3, 1 / 3, 0.7]),
        "rrf_k": st.integers(1, 1000),
        "gate_mode": st.sampled_from(["ENABLED", "DISABLED"]),
    },
)
ROWS = st.lists(
    st.builds(
        Row,
        name=st.sampled_from(["acme", "bolt", "Acme", "zed", "漢", "a\x1b[2J"]),
        source=st.just("a.yaml"),
        about=st.just(NOBODY),
        desired=SETS,
    ),
    max_size=12,
)


def fleet_of(*rows: Row, step: int = 2) -> Fleet:
    """A fleet of some rows, a few at a time."""
    fleet = Fleet(CATALOGUE)
    for start in range(0, len(rows), step):
        fleet.add(Chunk(rows[start : start + step]))
    return fleet


def tenant(name: str, **desired: Any) -> Row:
    """A tenant's row."""
    return Row(name, f"tenants/{name}.yaml", NOBODY, desired)


@settings(deadline=None, max_examples=60)
@given(ROWS, st.integers(1, 5))
def test_what_a_set_says_is_what_its_row_says(rows: list[Row], step: int) -> None:
    """Doubles, integers and modes; what is not set is None, and never a zero."""
    fleet = fleet_of(*rows, step=step)
    assert len(fleet) == len(rows)
    for at, row in enumerate(rows):
        told = {knob.name: fleet.value(at, knob.name) for knob in CATALOGUE}
        assert {name: value for name, value in told.items() if value is not None} == row.desired
        assert {name: type(value) for name, value in told.items() if value is not None} == {
            name: type(value) for name, value in row.desired.items()
        }
        assert (fleet.names[at], fleet.counts[at]) == (row.name, len(row.desired))
        assert at in fleet.rows_of(row.name)


@settings(deadline=None, max_examples=60)
@given(ROWS, st.sampled_from(ORDERS))
def test_every_order_keeps_all_rows_and_is_stable(rows: list[Row], order: Any) -> None:
    """What is equal stays by name; not set comes last where the highest come first."""
    fleet = fleet_of(*rows)
    named = by_name(fleet, range(len(fleet)))
    assert named == sorted(range(len(fleet)), key=fleet.lowered.__getitem__)
    found = in_order(fleet, order, named)
    assert sorted(found) == sorted(named)
    if order.word == "floor":
        wanted = [float(row.desired.get(FLOOR, -inf)) for row in rows]
        assert found == sorted(named, key=lambda row: -wanted[row])


def test_states_are_told_the_worst_first() -> None:
    """Until somebody has looked, nothing is said to be well."""
    fleet = fleet_of(tenant("acme"), tenant("bolt"), tenant("calm"))
    assert {fleet.state(row) for row in range(3)} == {State.WAITING}
    fleet.judge([Verdict(0, 0, 2, ("a", "b")), Verdict(1, 1, 0, ("x",)), Verdict(2, 0, 0, ())])
    assert [fleet.state(row) for row in range(3)] == [State.WARN, State.ERROR, State.WAITING]
    fleet.hold(Held(name, 0.3, 5.0, "anna", True) for name in ("acme", "bolt", "calm"))
    assert [fleet.state(row) for row in range(3)] == [State.DRIFT, State.ERROR, State.DRIFT]
    fleet.hold([Held("calm", nan, nan, "", False)])
    assert fleet.state(2) is State.OK
    assert fleet.tally() == {
        State.ERROR: 1,
        State.DRIFT: 1,
        State.WARN: 0,
        State.UNMANAGED: 0,
        State.OK: 1,
        State.WAITING: 0,
    }
    assert (fleet.rules_of(0), fleet.warnings[0], fleet.actor_of(0)) == (("a", "b"), 2, "anna")


def test_a_verdict_replaces_the_one_before() -> None:
    """What was wrong and is mended is forgotten; what live is stays known."""
    fleet = fleet_of(tenant("acme"))
    fleet.hold([Held("acme", 0.3, 5.0, "anna", True)])
    fleet.judge([Verdict(0, 1, 1, ("x", "y"))])
    fleet.judge([Verdict(0, 0, 0, ())])
    assert fleet.state(0) is State.DRIFT
    assert (fleet.warnings[0], fleet.rules_of(0)) == (0, ())


def test_a_tenant_that_two_files_claim_is_held_in_both_rows() -> None:
    """The engine has one set of it."""
    fleet = fleet_of(tenant("acme"), tenant("bolt"), tenant("acme"))
    assert list(fleet.rows_of("acme")) == [0, 2]
    assert fleet.hold([Held("acme", 0.2, 7.0, "anna", True), Held("who", nan, nan, "", False)]) == [
        Held("who", nan, nan, "", False)
    ]
    assert [fleet.live_floors[row] for row in (0, 2)] == [0.2, 0.2]
    assert fleet.marks[1] == 0
    assert list(fleet.rows_of("nobody")) == []


def test_what_has_no_document_does_not_drift() -> None:
    """It is unmanaged, whatever it holds."""
    fleet = fleet_of(Row("who", "", NOBODY, {}, int(Mark.UNMANAGED)))
    fleet.hold([Held("who", 0.2, 7.0, "anna", True)])
    assert fleet.state(0) is State.UNMANAGED
    assert fleet.may_be_opened(0)


def test_each_change_has_a_revision_of_its_own() -> None:
    """What is drawn is drawn anew."""
    fleet = fleet_of(tenant("acme"))
    seen = {fleet.revision}
    fleet.judge([])
    seen.add(fleet.revision)
    fleet.hold([])
    seen.add(fleet.revision)
    fleet.add(Chunk([]))
    assert len(seen | {fleet.revision}) == 4


@pytest.mark.parametrize("step", [1, 2, 3])
def test_what_many_say_alike_is_kept_once(step: int) -> None:
    """Heads of documents are one object, also across steps."""
    about = About(("base",), {"plan": "pro"}, "team")
    rows = [Row(f"t{n}", "a.yaml", about, {}) for n in range(6)]
    fleet = fleet_of(*rows, step=step)
    assert fleet.abouts == [about]
    assert fleet.about_of(5) is about
