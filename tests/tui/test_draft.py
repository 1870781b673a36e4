"""Drafts: edits that are taken back and done again, what they come to, what moved under them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.errors import InputError
from knobctl.knobs import load_catalogue
from knobctl.tui.draft import (
    BEGUN,
    MOST_EDITS,
    UNSET,
    Begun,
    Cause,
    Draft,
    due,
    understand,
)
from knobctl.tui.draft_form import draft_bytes, read_draft

CATALOGUE = load_catalogue()
FLOOR, DEPTH, MODE = "retrieval_min_score", "retrieval_vector_top_k", "recency_ranker_mode"
SAVED = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def drafted(
    repo: dict[str, Any] | None = None, live: dict[str, Any] | None = None, **edits: Any
) -> Draft:
    """A draft of acme with edits."""
    begun = Begun(repo=repo, live=live, revision="r7")
    draft = Draft(engine="embedded:engine.db", tenant="acme", begun=begun)
    for knob, entry in edits.items():
        draft = draft.put(knob, entry)
    return draft


knobs = st.sampled_from([FLOOR, DEPTH, MODE, "rrf_k", "gone_knob"])
entries = st.one_of(
    st.sampled_from([BEGUN, UNSET]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(["0", "0.4", "0.30", "unset", "as begun", "DISABLED", "8.0"]),
)
steps = st.lists(
    st.one_of(
        st.tuples(knobs, entries, st.booleans()),
        st.just("undo"),
        st.just("redo"),
    ),
    max_size=30,
)
values = st.dictionaries(
    st.sampled_from([FLOOR, DEPTH, MODE]),
    st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 9), st.text()),
)


def after(draft: Draft, steps: list[Any]) -> Draft:
    """A draft after some steps."""
    for step in steps:
        match step:
            case "undo":
                draft, _ = draft.undo()
            case "redo":
                draft, _ = draft.redo()
            case _:
                knob, entry, by_step = step
                draft = draft.put(knob, entry, by_step=by_step)
    return draft


@given(steps=steps)
@settings(deadline=None, max_examples=60)
def test_what_is_taken_back_can_be_done_again(steps: list[Any]) -> None:
    """All edits taken back give the beginning; done again, they give the end."""
    end = after(drafted(), steps)
    back = end
    while back.done:
        back, _ = back.undo()
    assert back.entries == {}
    assert len(back.undone) == len(end.done) + len(end.undone)
    again = back
    for _ in end.done:
        again, _ = again.redo()
    assert again == end


@given(steps=steps, knob=knobs, entry=entries)
@settings(deadline=None, max_examples=60)
def test_taking_an_edit_back_gives_what_was(steps: list[Any], knob: str, entry: Any) -> None:
    """Whatever came before; the edit that was taken back is told."""
    before = after(drafted(), steps)
    edited = before.put(knob, entry)
    if before.entry(knob) == entry:
        assert edited is before
        return
    back, told = edited.undo()
    assert back.entries == before.entries
    assert told == (knob, before.entry(knob), entry, False)


@given(steps=steps, repo=st.none() | values, live=st.none() | values)
@settings(deadline=None, max_examples=60)
def test_a_draft_reads_back_from_its_json(steps: list[Any], repo: Any, live: Any) -> None:
    """All of it: both sets, edits, what was taken back."""
    draft = after(drafted(repo, live), steps)
    assert read_draft(draft_bytes(draft, SAVED), "x") == draft


@given(
    content=st.binary(max_size=60)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["version", "begun", "done", "undone", "engine", "tenant", "settled"]
                ),
                inner,
                max_size=7,
            )
        ),
        max_leaves=12,
    ).map(lambda value: repr(value).encode())
)
@settings(deadline=None, max_examples=60)
def test_what_is_no_draft_is_said_so(content: bytes) -> None:
    """A damaged file is an error with a hint, never a crash or half a draft."""
    with pytest.raises(InputError, match="cannot be read"):
        read_draft(content, "x")


def test_half_a_file_is_no_draft() -> None:
    """Every cut of a real one is refused; the whole is read."""
    content = draft_bytes(drafted({FLOOR: 0.7}, {}, **{FLOOR: "0.4"}), SAVED)
    for end in range(len(content) - 2):
        with pytest.raises(InputError):
            read_draft(content[:end], "x")
    assert read_draft(content, "x").literals == {FLOOR: "0.4"}


@pytest.mark.parametrize("value", ["NaN", "Infinity", "true", "null", "[]", "1e999"])
def test_a_set_holds_values_alone(value: str) -> None:
    """What no knob holds is refused."""
    content = draft_bytes(drafted({FLOOR: 0.5}, {}), SAVED)
    with pytest.raises(InputError):
        read_draft(content.replace(b"0.5", value.encode()), "x")


def test_steps_in_a_row_are_one_edit() -> None:
    """Ten times up is taken back at once; a typed value is an edit of its own."""
    draft = drafted({FLOOR: 0.3}, {})
    for number in range(1, 11):
        draft = draft.put(FLOOR, f"0.{30 + number}", by_step=True)
    assert draft.literals == {FLOOR: "0.40"}
    assert len(draft.done) == 1
    draft = draft.put(FLOOR, "0.5")
    draft, told = draft.undo()
    assert told is not None
    assert draft.literals == {FLOOR: "0.40"}
    assert draft.undo()[0].entries == {}


def test_old_edits_are_settled() -> None:
    """So many can be taken back; what older ones came to stays."""
    draft = drafted({}, {})
    for number in range(MOST_EDITS + 10):
        draft = draft.put(FLOOR if number % 2 else DEPTH, str(number))
    end = draft.entries
    assert len(draft.done) == MOST_EDITS
    assert read_draft(draft_bytes(draft, SAVED), "x").entries == end
    while draft.done:
        draft, _ = draft.undo()
    assert draft.entries == {DEPTH: "8", FLOOR: "9"}


def test_a_value_is_kept_as_typed_and_read_as_the_engine_reads_it() -> None:
    """A zero and an unset knob are not in the set; a wrong value stays typed and changes nothing."""
    draft = drafted(
        {FLOOR: 0.7, DEPTH: 32, MODE: "DISABLED"},
        {},
        retrieval_min_score="0.40",
        retrieval_vector_top_k=UNSET,
        recency_ranker_mode="0",
        rrf_k="60.0",
        bm25_k1="nonsense",
    )
    understood = understand(draft, CATALOGUE)
    assert understood.desired == {FLOOR: 0.4, "rrf_k": 60, MODE: "DISABLED"}
    assert draft.literals[FLOOR] == "0.40"
    assert list(understood.faults) == [MODE]
    assert understood.strangers == ("bm25_k1",)
    assert understood.edited == (FLOOR, DEPTH, "rrf_k", MODE)


def test_the_same_value_in_another_spelling_is_no_edit() -> None:
    """0.70 over 0.7 changes nothing."""
    understood = understand(drafted({FLOOR: 0.7}, {}, retrieval_min_score="0.70"), CATALOGUE)
    assert understood.edited == ()


def test_three_kinds_of_change_are_told_apart() -> None:
    """An edit, a reset by omission, and drift; what is unset by hand is an edit."""
    repo = {FLOOR: 0.7, "rrf_k": 30}
    live = {FLOOR: 0.3, "rrf_k": 40, DEPTH: 32, MODE: "DISABLED"}
    draft = drafted(repo, live, retrieval_min_score="0.4", recency_ranker_mode=UNSET)
    found = due(draft, understand(draft, CATALOGUE), draft.begun, CATALOGUE)
    assert {one.change.knob: one.cause for one in found} == {
        DEPTH: Cause.RESET,
        FLOOR: Cause.EDIT,
        "rrf_k": Cause.DRIFT,
        MODE: Cause.EDIT,
    }
    assert found[0].cause is Cause.RESET or found[1].cause is Cause.RESET


def test_without_a_document_every_change_is_an_edit() -> None:
    """The live set is what edits go on top of, so nothing is omitted."""
    live = {FLOOR: 0.3, DEPTH: 32}
    draft = drafted(None, live, retrieval_min_score="0.4")
    found = due(draft, understand(draft, CATALOGUE), draft.begun, CATALOGUE)
    assert [(one.change.knob, one.cause) for one in found] == [(FLOOR, Cause.EDIT)]


def test_what_moved_under_a_draft_is_told_and_not_taken() -> None:
    """Files and engine each by themselves; taken over only by `on`."""
    draft = drafted({FLOOR: 0.7}, {FLOOR: 0.3}, rrf_k="30")
    now = Begun(repo={FLOOR: 0.6}, live={FLOOR: 0.3, DEPTH: 9}, revision="r8")
    moved = draft.moved(now, CATALOGUE)
    assert [one.knob for one in moved.repo] == [FLOOR]
    assert [one.knob for one in moved.live] == [DEPTH]
    assert moved.base
    assert understand(draft, CATALOGUE).desired == {FLOOR: 0.7, "rrf_k": 30}
    after = draft.on(now)
    assert understand(after, CATALOGUE).desired == {FLOOR: 0.6, "rrf_k": 30}
    assert after.moved(now, CATALOGUE) == ((), (), False)


def test_a_document_that_came_or_went_is_a_move() -> None:
    """Then edits would go on top of another kind of set."""
    draft = drafted(None, {FLOOR: 0.3})
    assert draft.moved(Begun(repo={FLOOR: 0.3}, live={FLOOR: 0.3}), CATALOGUE).base
    assert draft.moved(Begun(repo=None, live={FLOOR: 0.4}), CATALOGUE).base
    assert not draft.moved(draft.begun, CATALOGUE).base
