"""Audit events as rows: total, found by words, ours told from others'."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.engine.verifying import Verifying
from knobctl.knobs import load_catalogue
from knobctl.tui.audit import (
    PAGE,
    EventRows,
    Mine,
    found_by,
    left_out,
    proof_of,
    read_rows,
    restored,
)
from knobctl.tui.draft import Begun, Draft, understand
from tests.engine.chains import chain

CATALOGUE = load_catalogue()
MINE = Mine("anna", {("acme", "r2"): "7b21e0c4"})


def event(**facts: Any) -> dict[str, Any]:
    """An event as the engine gives it."""
    return {
        "event_id": "1",
        "type": "config.updated",
        "tenant_id": "acme",
        "actor": "bo",
        "reason": "Lower floors",
        "occurred_at": "2026-11-30T08:00:00.000000Z",
        "revision": "r1",
        "changed_field_paths": ["retrieval_min_score"],
        "before": {},
        "after": {"retrieval_min_score": 0.4},
    } | facts


def rows(*events: dict[str, Any]) -> EventRows:
    """Their rows, the last one first."""
    return read_rows(events, MINE, goes_on=lambda _: True)


def test_our_own_changes_are_known_by_their_run_or_their_actor() -> None:
    """A run of ours may have been written under another name, on an engine elsewhere."""
    actor, run, others = rows(event(), event(revision="r2", actor="svc"), event(actor="anna"))
    assert [MINE.is_mine(one) for one in (others, run, actor)] == [False, True, True]
    assert run.run == "7b21e0c4"
    assert not Mine("", {}).is_mine(rows(event(actor=""))[0])


def test_every_word_must_be_somewhere_in_a_row() -> None:
    """In any case, in any field; with ! it must not be."""
    found = rows(event(tenant_id="bolt"), event(tenant_id="bolt", actor="anna"), event())
    assert list(found_by(found, "")) == [0, 1, 2]
    assert found_by(found, "BOLT floors") == [1, 2]
    assert found_by(found, "bolt !anna") == [1 + 1]
    assert found_by(found, "min_score r1") == [0, 1, 2]
    assert list(found_by(found, "!")) == [0, 1, 2]
    assert found_by(found, "[/]") == []


def test_newest_first_is_the_engines_order_turned_round() -> None:
    """Whatever the times say."""
    events = [event(event_id="a", occurred_at="2027"), event(event_id="b", occurred_at="2026")]
    found = read_rows(events, MINE, goes_on=lambda _: True)
    assert [one.event_id for one in found] == ["b", "a"]


def test_reading_ends_where_nobody_wants_more() -> None:
    """Asked after each page."""
    heard: list[int] = []

    def goes_on(number: int) -> bool:
        heard.append(number)
        return number < 2 * PAGE

    found = read_rows((event() for _ in range(9 * PAGE)), MINE, goes_on=goes_on)
    assert len(found) == 2 * PAGE
    assert heard == [PAGE, 2 * PAGE]


def test_chains_are_proved_while_events_are_read() -> None:
    """Each row that does not continue its chain is known."""
    sound = chain(length=4)
    verifying = Verifying()
    found = read_rows(sound, MINE, goes_on=lambda _: True, verifying=verifying)
    assert not any(one.is_broken for one in found)
    assert proof_of(verifying.verified()) == (
        True,
        "4 events of 1 tenant: every chain is unbroken",
    )
    verifying = Verifying()
    sound[1]["reason"] = "another"
    found = read_rows(sound, MINE, goes_on=lambda _: True, verifying=verifying)
    assert [one.is_broken for one in found] == [False, False, True, False]
    proof = proof_of(verifying.verified())
    assert not proof.is_unbroken
    assert "4 events of 1 tenant: BROKEN: acme: event acme-1" in proof.words


SETS = st.fixed_dictionaries(
    {},
    optional={
        "retrieval_min_score": st.sampled_from([0.1, 0.3, 0.45, 1e-05]),
        "rrf_k": st.integers(1, 200),
        "recency_ranker_mode": st.sampled_from(["ENABLED", "DISABLED"]),
    },
)


@given(SETS, SETS, SETS)
@settings(max_examples=60, deadline=None)
def test_a_draft_that_goes_back_asks_for_exactly_that_set(
    repo: dict[str, Any], live: dict[str, Any], wanted: dict[str, Any]
) -> None:
    """Whatever the files and the engine hold; and undoing all of it leaves the draft as it was."""
    begun = Draft(engine="e", tenant="acme", begun=Begun(repo=repo, live=live))
    found = restored(begun, wanted | {"of_a_newer_schema": 1}, CATALOGUE)
    assert understand(found, CATALOGUE).desired == CATALOGUE.canonical(wanted)
    assert restored(found, wanted, CATALOGUE) == found
    for _ in found.done:
        found, _ = found.undo()
    assert found.entries == {}


def test_what_the_schema_does_not_know_of_an_earlier_set_is_named() -> None:
    """A draft cannot hold it."""
    assert left_out({"rrf_k": 0.5, "rrf_k2": 1, "retrieval_min_score": 0.3}, CATALOGUE) == [
        "rrf_k",
        "rrf_k2",
    ]


def test_equal_texts_are_kept_once() -> None:
    """100,000 events have few actors, tenants and reasons."""
    one, two = rows(event(reason="x" * 50), event(reason="x" * 50))
    assert one.reason is two.reason
    found = rows(event(reason="x" * 50), event(reason="x" * 50))
    assert found.words[0] is found.words[1]


@given(
    st.dictionaries(
        st.sampled_from([*event()]),
        st.none() | st.integers() | st.text() | st.lists(st.text() | st.none()) | st.just({}),
    )
)
@settings(max_examples=100, deadline=None)
def test_whatever_stands_in_an_event_there_is_a_row(odd: dict[str, Any]) -> None:
    """An older engine, or a broken one."""
    found = rows(odd)
    (row,) = found
    assert all(isinstance(one, str) for one in row.paths)
    assert list(found_by(found, row.tenant[:5])) in ([0], [])


@given(st.lists(st.text("abc ", max_size=8)), st.text("abc !", max_size=8))
@settings(max_examples=60, deadline=None)
def test_more_words_never_find_more(reasons: list[str], words: str) -> None:
    """A filter narrows."""
    found = rows(*(event(reason=one) for one in reasons))
    less = found_by(found, f"{words} a")
    assert set(less) <= set(found_by(found, words))
    assert list(less) == sorted(less)
