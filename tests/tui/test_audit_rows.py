"""Audit events as rows: total, found by words, ours told from others'."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.tui.audit import EventRow, Mine, found_by, newest_first, row_of

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


def rows(*events: dict[str, Any]) -> list[EventRow]:
    """Their rows."""
    seen: dict[str, str] = {}
    return [row_of(one, MINE, seen) for one in events]


def test_our_own_changes_are_known_by_their_run_or_their_actor() -> None:
    """A run of ours may have been written under another name, on an engine elsewhere."""
    others, run, actor = rows(event(), event(revision="r2", actor="svc"), event(actor="anna"))
    assert [MINE.is_mine(one) for one in (others, run, actor)] == [False, True, True]
    assert run.run == "7b21e0c4"
    assert not Mine("", {}).is_mine(rows(event(actor=""))[0])


def test_every_word_must_be_somewhere_in_a_row() -> None:
    """In any case, in any field; with ! it must not be."""
    found = rows(event(), event(tenant_id="bolt", actor="anna"), event(tenant_id="bolt"))
    assert found_by(found, "") == [0, 1, 2]
    assert found_by(found, "BOLT floors") == [1, 2]
    assert found_by(found, "bolt !anna") == [1 + 1]
    assert found_by(found, "min_score r1") == [0, 1, 2]
    assert found_by(found, "!") == [0, 1, 2]
    assert found_by(found, "[/]") == []


def test_newest_first_is_the_engines_order_turned_round() -> None:
    """Whatever the times say."""
    found = rows(event(event_id="a", occurred_at="2027"), event(event_id="b", occurred_at="2026"))
    assert [one.event_id for one in newest_first(found)] == ["b", "a"]


def test_equal_texts_are_kept_once() -> None:
    """100,000 events have few actors, tenants and reasons."""
    one, two = rows(event(reason="x" * 50), event(reason="x" * 50))
    assert one.reason is two.reason
    assert one.words is two.words


@given(
    st.dictionaries(
        st.sampled_from([*event()]),
        st.none() | st.integers() | st.text() | st.lists(st.text() | st.none()) | st.just({}),
    )
)
@settings(max_examples=100, deadline=None)
def test_whatever_stands_in_an_event_there_is_a_row(odd: dict[str, Any]) -> None:
    """An older engine, or a broken one."""
    (row,) = rows(odd)
    assert all(isinstance(one, str) for one in row.paths)
    assert found_by([row], row.tenant[:5]) in ([0], [])


@given(st.lists(st.text("abc ", max_size=8)), st.text("abc !", max_size=8))
@settings(max_examples=60, deadline=None)
def test_more_words_never_find_more(reasons: list[str], words: str) -> None:
    """A filter narrows."""
    found = rows(*(event(reason=one) for one in reasons))
    less = found_by(found, f"{words} a")
    assert set(less) <= set(found_by(found, words))
    assert less == sorted(less)
