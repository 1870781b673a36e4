"""The wire contract, sections 1 to 3 and 5: over every store, through every door."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knobctl.chain import FIRST_PREVIOUS_HASH, event_hash
from knobctl.knobs import Knob, KnobType, load_catalogue
from knobctl.server.auth import Caller
from tests.engine.chains import broken_links
from tests.server.doors import Door, RefusedError

GIVEN = {"retrieval_min_score": 0.15, "retrieval_vector_top_k": 32}


def test_a_tenant_that_was_never_written_has_an_empty_set(
    door: Door, editor: Caller, tenant: str
) -> None:
    """A permitted tenant answers an empty config at the revision "", and has no events."""
    answer = door.get(editor)
    assert (answer.tenant, answer.knobs, answer.revision) == (tenant, {}, "")
    assert door.events(editor) == ([], "")
    assert door.sets(editor) == ([], "")


def test_what_is_written_is_read_back(door: Door, editor: Caller, tenant: str) -> None:
    """Get gives the stored set with the revision that Update gave, and who wrote it."""
    written = door.update(editor, tenant, GIVEN)
    read = door.get(editor, tenant)
    assert read.knobs == written.knobs == GIVEN
    assert read.revision == written.revision != ""
    assert read.updated_by == "anna"


def test_an_update_replaces_the_whole_set(door: Door, editor: Caller, tenant: str) -> None:
    """A knob that is not sent is back at the platform default, and is named as changed."""
    door.update(editor, tenant, GIVEN)
    answer = door.update(editor, tenant, {"retrieval_min_score": 0.2})
    assert answer.knobs == {"retrieval_min_score": 0.2}
    assert answer.changed == ["retrieval_min_score", "retrieval_vector_top_k"]
    assert door.get(editor).knobs == {"retrieval_min_score": 0.2}


def test_zero_is_the_platform_default(door: Door, editor: Caller, tenant: str) -> None:
    """A zero, an unspecified mode and a knob left out are the same value."""
    zeros = {knob.name: knob.unset for knob in load_catalogue()}
    door.update(editor, tenant, GIVEN)
    answer = door.update(editor, tenant, zeros)
    assert answer.knobs == {}
    assert answer.changed == sorted(GIVEN)
    assert door.update(editor, tenant, {}).changed == []


def test_equal_numbers_are_equal_values(door: Door, editor: Caller, tenant: str) -> None:
    """32.0 is 32 and 1 is 1.0: spelling a number differently changes nothing."""
    door.update(editor, tenant, {"retrieval_vector_top_k": 32, "rrf_weight_vector": 1.0})
    answer = door.update(editor, tenant, {"retrieval_vector_top_k": 32.0, "rrf_weight_vector": 1})
    assert answer.changed == []
    assert [type(value) for value in answer.knobs.values()] == [int, float]


def test_an_update_leaves_one_event(door: Door, editor: Caller, tenant: str) -> None:
    """The event says all that the contract lists, and its hash can be computed from what is read."""
    door.update(editor, tenant, GIVEN, reason="lower floors\nafter the recall report")
    answer = door.update(editor, tenant, {"gate_mode": "DISABLED", "retrieval_min_score": 0.15})
    first, second = door.events(editor, tenant)[0]
    assert first == {
        "event_id": first["event_id"],
        "type": "config.updated",
        "tenant_id": tenant,
        "actor": "anna",
        "reason": "lower floors\nafter the recall report",
        "occurred_at": first["occurred_at"],
        "revision": first["revision"],
        "changed_field_paths": ["retrieval_min_score", "retrieval_vector_top_k"],
        "before": {},
        "after": GIVEN,
        "previous_hash": FIRST_PREVIOUS_HASH,
        "hash": event_hash(first),
    }
    assert uuid.UUID(first["event_id"]).version == 7
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", first["occurred_at"])
    assert second["before"] == first["after"]
    assert second["revision"] == answer.revision
    assert second["changed_field_paths"] == ["gate_mode", "retrieval_vector_top_k"]
    assert broken_links([first, second]) == []


def test_an_update_that_changes_nothing_leaves_its_event(
    door: Door, editor: Caller, tenant: str
) -> None:
    """Somebody wrote: the event stands, with an empty list."""
    door.update(editor, tenant, GIVEN)
    door.update(editor, tenant, GIVEN)
    events, _ = door.events(editor, tenant)
    assert [event["changed_field_paths"] for event in events] == [sorted(GIVEN), []]


@given(data=st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_event_names_what_changed_and_nothing_else(
    data: st.DataObject, door: Door, editor: Caller, tenant: str
) -> None:
    """For any two sets, the changed paths are those whose stored values differ."""
    before, after = data.draw(_configs()), data.draw(_configs())
    first = door.update(editor, tenant, before)
    second = door.update(editor, tenant, after)
    differing = {
        name
        for name in first.knobs.keys() | second.knobs.keys()
        if first.knobs.get(name) != second.knobs.get(name)
    }
    assert second.changed == sorted(differing)


def _configs() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {}, optional={knob.name: _values(knob) for knob in load_catalogue()}
    )


def _values(knob: Knob) -> st.SearchStrategy[Any]:
    if knob.type is KnobType.MODE:
        return st.sampled_from(knob.choices)
    assert knob.minimum is not None
    assert knob.maximum is not None
    if knob.type is KnobType.INT32:
        return st.just(0) | st.integers(int(knob.minimum), int(knob.maximum))
    ends = st.sampled_from([0, float(knob.minimum), float(knob.maximum), max(5e-324, knob.minimum)])
    return ends | st.floats(knob.minimum, knob.maximum).map(abs)


def test_every_knob_at_fault_is_named(door: Door, editor: Caller, tenant: str) -> None:
    """A refusal lists each field, not the first; nothing is written and no event is left."""
    config = {
        "retrieval_min_score": 1.5,
        "mmr_lambda": float("nan"),
        "rrf_weight_vector": float("inf"),
        "rrf_k": True,
        "retrieval_vector_top_k": 2.5,
        "gate_mode": "OFF",
        "gate_min_confident": -0.0,
        "assembly_max_chunks": 12,
    }
    with pytest.raises(RefusedError) as refused:
        door.update(editor, tenant, config)
    assert refused.value.code == "invalid_argument"
    assert sorted(refused.value.fields) == sorted(config.keys() - {"assembly_max_chunks"})
    assert "retrieval_min_score is 1.5; it must be in 0 .. 1" in refused.value.message
    assert door.get(editor).revision == ""
    assert door.events(editor) == ([], "")


def test_a_repeated_key_answers_with_the_first_result(
    door: Door, editor: Caller, tenant: str
) -> None:
    """A retry after a lost answer writes nothing more, also when others have written meanwhile."""
    first = door.update(editor, tenant, GIVEN, expected_revision="", key="k1")
    door.update(editor, tenant, {})
    again = door.update(editor, tenant, GIVEN, expected_revision="", key="k1")
    assert again == first
    assert door.get(editor).knobs == {}
    assert len(door.events(editor)[0]) == 2


@pytest.mark.parametrize(
    "changed",
    [
        {"config": {"retrieval_min_score": 0.2}},
        {"reason": "another"},
        {"expected_revision": "r1"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_key_used_for_another_request_is_refused(
    door: Door, editor: Caller, tenant: str, changed: dict[str, Any]
) -> None:
    """A key means one request; what it asks for now would be lost in silence otherwise."""
    asked: dict[str, Any] = {"config": GIVEN, "reason": "because", "expected_revision": None}
    door.update(editor, tenant, **asked, key="k1")
    with pytest.raises(RefusedError) as refused:
        door.update(editor, tenant, **{**asked, **changed}, key="k1")
    assert refused.value.code == "failed_precondition"
    assert len(door.events(editor)[0]) == 1


def test_keys_are_a_callers_own(door: Door, tenant: str, other_tenant: str) -> None:
    """The same key of another caller, or for another tenant, is another request."""
    anna, bert = (
        Caller(subject=name, clearance=4, tenants=frozenset([tenant, other_tenant]))
        for name in ("anna", "bert")
    )
    door.update(anna, tenant, GIVEN, key="k")
    assert door.update(bert, tenant, {}, key="k").updated_by == "bert"
    assert door.update(anna, other_tenant, {}, key="k").tenant == other_tenant


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_a_key_has_a_reasonable_length(door: Door, editor: Caller, tenant: str, key: str) -> None:
    """An empty key would make unrelated requests one."""
    with pytest.raises(RefusedError, match="idempotency key") as refused:
        door.update(editor, tenant, GIVEN, key=key)
    assert refused.value.code == "invalid_argument"


@pytest.mark.parametrize("expected", ["", "r2", "nonsense", "r1 ", "r01"])
def test_a_write_against_another_revision_is_refused(
    door: Door, editor: Caller, tenant: str, expected: str
) -> None:
    """No lost update: a set made against a revision that has moved is not written."""
    door.update(editor, tenant, GIVEN)
    with pytest.raises(RefusedError) as refused:
        door.update(editor, tenant, {}, expected_revision=expected)
    assert refused.value.code == "aborted"
    assert door.get(editor).knobs == GIVEN
    assert len(door.events(editor)[0]) == 1


def test_a_write_against_the_current_revision_is_taken(
    door: Door, editor: Caller, tenant: str
) -> None:
    """Absence is a revision too: the empty string."""
    first = door.update(editor, tenant, GIVEN, expected_revision="")
    second = door.update(editor, tenant, {}, expected_revision=first.revision)
    assert second.revision not in {first.revision, ""}


def test_a_never_written_tenant_is_not_at_a_revision(
    door: Door, editor: Caller, tenant: str
) -> None:
    """A plan for a set that has vanished does not bring it back."""
    with pytest.raises(RefusedError) as refused:
        door.update(editor, tenant, GIVEN, expected_revision="r1")
    assert refused.value.code == "aborted"


def test_revert_brings_back_an_earlier_set(door: Door, editor: Caller, tenant: str) -> None:
    """Revert is an update of its own: a new revision, an event with before and after."""
    first = door.update(editor, tenant, GIVEN)
    second = door.update(editor, tenant, {"rrf_k": 10})
    back = door.revert(editor, tenant, first.revision, expected_revision=second.revision)
    assert back.knobs == GIVEN
    assert back.changed == sorted({*GIVEN, "rrf_k"})
    assert back.revision not in {first.revision, second.revision}
    event = door.events(editor)[0][-1]
    assert (event["before"], event["after"]) == ({"rrf_k": 10}, GIVEN)
    assert event["reason"] == f"revert to {first.revision}"


def test_revert_is_guarded_like_update(door: Door, editor: Caller, tenant: str) -> None:
    """Unknown revisions, moved revisions and repeated keys."""
    first = door.update(editor, tenant, GIVEN)
    door.update(editor, tenant, {})
    for revision in ("", "r9", "r0", "nonsense", "r99999999999999999999"):
        with pytest.raises(RefusedError) as refused:
            door.revert(editor, tenant, revision)
        assert (refused.value.code, refused.value.fields) == ("invalid_argument", ["to_revision"])
    with pytest.raises(RefusedError) as refused:
        door.revert(editor, tenant, first.revision, expected_revision=first.revision)
    assert refused.value.code == "aborted"
    done = door.revert(editor, tenant, first.revision, reason="why", key="k")
    assert door.revert(editor, tenant, first.revision, reason="why", key="k") == done
    assert len(door.events(editor)[0]) == 3


def test_lists_come_in_pages(door: Door, tenant: str, other_tenant: str) -> None:
    """Following the tokens gives everything once, in order."""
    both = sorted([tenant, other_tenant])
    caller = Caller(subject="anna", clearance=4, tenants=frozenset([*both, "never-written"]))
    for number in range(3):
        for name in both:
            door.update(caller, name, {"rrf_k": number + 1})
    sets = _all(lambda token: door.sets(caller, page_size=1, page_token=token))
    assert [one.tenant for one in sets] == both
    assert [one.knobs for one in sets] == [{"rrf_k": 3}, {"rrf_k": 3}]
    events = _all(lambda token: door.events(caller, page_size=4, page_token=token))
    assert (
        [event["tenant_id"] for event in events]
        == [*both, *both, *both]
        == [event["tenant_id"] for event in door.events(caller)[0]]
    )
    only = _all(lambda token: door.events(caller, tenant, page_size=2, page_token=token))
    assert only == [event for event in events if event["tenant_id"] == tenant]


def _all(page: Callable[[str], tuple[list[Any], str]]) -> list[Any]:
    found, token = page("")
    while token:
        more, token = page(token)
        assert more
        found += more
    return found


def test_events_since_a_time(door: Door, editor: Caller, tenant: str) -> None:
    """At or after; any zone; what is no time with a zone is refused."""
    for number in range(3):
        door.update(editor, tenant, {"rrf_k": number + 1})
    events, _ = door.events(editor)
    middle = events[1]["occurred_at"]
    assert door.events(editor, since=middle)[0] == events[1:]
    assert door.events(editor, since=middle.replace("Z", "+00:00"))[0] == events[1:]
    assert door.events(editor, since="2000-01-01T01:00:00+01:00")[0] == events
    assert door.events(editor, since="2999-01-01T00:00:00Z")[0] == []
    for wrong in ("yesterday", "2026-11-29", "2026-11-29T20:00:00", "0001-01-01T00:00:00+14:00"):
        with pytest.raises(RefusedError) as refused:
            door.events(editor, since=wrong)
        assert refused.value.fields == ["since"]


@pytest.mark.parametrize(
    "token", ["x", "!", "c2V0cy8", "ZXZlbnRzLzE5OTk5OTk5OTk5OTk5OTk5OTk5OQ", "é"]
)
def test_a_page_token_of_nobody_is_refused(door: Door, editor: Caller, token: str) -> None:
    """Tokens are opaque: what a list did not give is none."""
    for asked in (door.sets, door.events):
        with pytest.raises(RefusedError) as refused:
            asked(editor, page_token=token)
        assert refused.value.fields == ["page_token"]


def test_a_negative_page_is_refused(door: Door, editor: Caller) -> None:
    """Less than nothing is no size."""
    with pytest.raises(RefusedError) as refused:
        door.sets(editor, page_size=-1)
    assert refused.value.fields == ["page_size"]


HELD, NOT_HELD, NONE, MALFORMED = "held", "not held", "none", "malformed"
OPERATIONS: dict[str, tuple[int, Callable[[Door, Caller, str | None], object]]] = {
    "get": (3, lambda door, caller, tenant: door.get(caller, tenant)),
    "events": (3, lambda door, caller, tenant: door.events(caller, tenant)),
    "update": (4, lambda door, caller, tenant: door.update(caller, tenant, GIVEN)),
    "bad update": (4, lambda door, caller, tenant: door.update(caller, tenant, {"rrf_k": -1})),
    "revert": (4, lambda door, caller, tenant: door.revert(caller, tenant, "r1")),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("which", [HELD, NOT_HELD, NONE, MALFORMED])
@pytest.mark.parametrize("clearance", range(6))
def test_who_may_do_what(
    door: Door, tenant: str, other_tenant: str, clearance: int, which: str, operation: str
) -> None:
    """L3 reads, L4 edits, nobody else anything; a tenant that is not held is not there for anyone."""
    owner = Caller(subject="owner", clearance=4, tenants=frozenset([tenant, other_tenant]))
    for name in (tenant, other_tenant):
        door.update(owner, name, {"rrf_k": 7}, reason="canary of the owner")
    caller = Caller(subject="anna", clearance=clearance, tenants=frozenset([tenant]))
    named = {HELD: tenant, NOT_HELD: other_tenant, NONE: None, MALFORMED: "../" + tenant}[which]
    needed, call = OPERATIONS[operation]
    expected: str | None
    if which in {NOT_HELD, MALFORMED}:
        expected = "not_found"
    elif clearance < needed:
        expected = "permission_denied"
    else:
        expected = "invalid_argument" if operation == "bad update" else None
    if expected is None:
        call(door, caller, named)
        return
    with pytest.raises(RefusedError) as refused:
        call(door, caller, named)
    assert refused.value.code == expected
    assert "canary" not in str(refused.value)
    assert other_tenant not in str(refused.value)
    assert door.get(owner, tenant).knobs == {"rrf_k": 7}
    assert door.get(owner, other_tenant).knobs == {"rrf_k": 7}


@pytest.mark.parametrize("clearance", range(6))
def test_lists_need_the_clearance_to_read(door: Door, tenant: str, clearance: int) -> None:
    """L3, and then nothing but what the caller holds."""
    caller = Caller(subject="anna", clearance=clearance, tenants=frozenset([tenant]))
    if clearance >= 3:
        assert door.sets(caller) == ([], "")
        return
    with pytest.raises(RefusedError) as refused:
        door.sets(caller)
    assert refused.value.code == "permission_denied"


def test_lists_show_nothing_of_others(
    door: Door, editor: Caller, tenant: str, other_tenant: str
) -> None:
    """Neither sets nor events of a tenant that the caller does not hold, also across pages."""
    owner = Caller(subject="owner", clearance=4, tenants=frozenset([tenant, other_tenant]))
    for name in (other_tenant, tenant, other_tenant):
        door.update(owner, name, {"rrf_k": 7})
    assert [one.tenant for one in door.sets(editor)[0]] == [tenant]
    assert [event["tenant_id"] for event in door.events(editor)[0]] == [tenant]
    token = door.events(owner, page_size=1)[1]
    assert [event["tenant_id"] for event in door.events(editor, page_token=token)[0]] == [tenant]


def test_a_caller_of_every_tenant_names_one(door: Door, tenant: str) -> None:
    """With * there is no only tenant; and * does not make a malformed name a tenant."""
    everywhere = Caller(subject="root", clearance=5, tenants=None)
    assert door.get(everywhere, tenant).tenant == tenant
    with pytest.raises(RefusedError, match="X-Tenant-Id") as refused:
        door.get(everywhere)
    assert refused.value.code == "invalid_argument"
    for malformed in ("", "A", "a/b", "-a", "a" * 64, "a b", "*"):
        with pytest.raises(RefusedError) as refused:
            door.get(everywhere, malformed)
        assert refused.value.code == "not_found"


@given(reason=st.text(st.characters(codec="utf-8"), max_size=200))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_reason_stays_inside_its_field(
    reason: str, door: Door, editor: Caller, tenant: str
) -> None:
    """Line feeds, quotes, JSON and NUL come back as they went in, and make no second event."""
    count = len(door.events(editor, page_size=1000)[0])
    door.update(editor, tenant, {}, reason=reason)
    events, _ = door.events(editor, page_size=1000)
    assert len(events) == count + 1
    assert events[-1]["reason"] == reason
    assert broken_links(events) == []


def test_a_reason_has_a_reasonable_length(door: Door, editor: Caller, tenant: str) -> None:
    """4096 characters are taken, one more is not."""
    door.update(editor, tenant, {}, reason="x" * 4096)
    with pytest.raises(RefusedError) as refused:
        door.update(editor, tenant, {}, reason="x" * 4097)
    assert refused.value.fields == ["reason"]
