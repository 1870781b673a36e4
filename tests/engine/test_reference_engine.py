"""One suite over the reference engine by both ways, and what only the network can do to a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.engine.interface import EngineRefusedError, TenantNotFoundError
from knobctl.engine.reading import read_all, read_events, read_many
from knobctl.engine.tokens import GivenToken
from knobctl.engine.verifying import verify
from knobctl.errors import ConflictError, EngineError, UnknownOutcomeError
from knobctl.server.auth import local_caller
from tests.engine.conftest import in_process
from tests.engine.cutting import Cut, CuttingProxy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.engine.interface import Engine, Receipt
    from knobctl.knobs import KnobValue
    from tests.engine.conftest import Reference

SET: Mapping[str, KnobValue] = {
    "retrieval_min_score": 0.15,
    "retrieval_vector_top_k": 32,
    "recency_ranker_mode": "DISABLED",
}


def push(
    engine: Engine,
    tenant: str,
    knobs: Mapping[str, KnobValue] = SET,
    *,
    expected: str | None = "",
    key: str = "k",
) -> Receipt:
    """Replace a set that was made against a revision."""
    return engine.replace(
        tenant,
        knobs,
        expected_revision=expected,
        reason="a test",
        idempotency_key=f"{tenant}-{key}",
    )


def test_a_set_that_was_never_written_is_empty_at_the_empty_revision(
    engine: Engine, tenant: str
) -> None:
    """Absence is a revision, not the lack of one."""
    live = engine.read(tenant)

    assert (live.knobs, live.revision, live.unknown) == ({}, "", {})


def test_what_is_written_is_read_back_in_canonical_types(engine: Engine, tenant: str) -> None:
    """Doubles stay doubles, whole numbers whole, modes names; the revision moves."""
    receipt = push(engine, tenant)
    live = engine.read(tenant)

    assert live.knobs == SET
    assert [type(value) for value in live.knobs.values()] == [float, int, str]
    assert live.revision == receipt.revision != ""
    assert receipt.changed_field_paths == tuple(sorted(SET))
    assert live.updated_by == "anna"


def test_a_stale_revision_is_a_conflict_and_does_not_say_the_new_one(
    engine: Engine, tenant: str
) -> None:
    """Nobody can paste the current revision and overwrite somebody's change."""
    first = push(engine, tenant)
    push(engine, tenant, {"rrf_k": 30}, expected=first.revision, key="two")

    with pytest.raises(ConflictError) as caught:
        push(engine, tenant, {"rrf_k": 90}, expected=first.revision, key="three")

    assert engine.read(tenant).knobs == {"rrf_k": 30}
    now = engine.read(tenant).revision
    assert now
    assert now not in caught.value.message + (caught.value.hint or "")


def test_a_refused_value_carries_its_field(reference: Reference, tenant: str) -> None:
    """The engine judges for itself, and its violation names the knob."""
    engine = in_process(reference)

    with pytest.raises(EngineRefusedError) as caught:
        push(engine, tenant, {"retrieval_min_score": 1.5})

    assert caught.value.code == "invalid_argument"
    assert [violation.field_path for violation in caught.value.violations] == [
        "retrieval_min_score"
    ]


def test_a_value_that_no_knob_takes_never_leaves_the_client(
    reference: Reference, tenant: str
) -> None:
    """Over HTTP the last look is ours: such a set never passed validation."""
    with pytest.raises(ValueError, match="no value to send"):
        push(reference.client(reference.token(tenant)), tenant, {"retrieval_min_score": 1.5})


def test_events_are_the_same_by_either_way_and_their_chain_holds(
    engine: Engine, reference: Reference, tenant: str
) -> None:
    """The hash can be recomputed from what arrives over the wire."""
    first = push(engine, tenant)
    push(engine, tenant, {"rrf_k": 30}, expected=first.revision, key="two")

    events = list(engine.audit_events(tenant))

    assert [event["changed_field_paths"] for event in events] == [
        sorted(SET),
        sorted({*SET, "rrf_k"}),
    ]
    assert events[1]["before"] == SET
    (verified,) = verify(events)
    assert verified.findings == ()
    assert verified.head == events[-1]["hash"]
    assert events == kept_events(reference, tenant)


def kept_events(reference: Reference, tenant: str) -> list[dict[str, Any]]:
    """The events that the engine keeps of a tenant, however many they have become."""
    found: list[dict[str, Any]] = []
    token = ""
    while True:
        page = reference.service.audit_events(
            local_caller("anna"), tenant=tenant, page_size=1000, page_token=token
        )
        found += page.items
        token = page.next_page_token
        if not token:
            return found


def test_the_list_holds_every_written_tenant_over_several_pages(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tenant: str
) -> None:
    """Pages are followed to the end."""
    monkeypatch.setattr("knobctl.engine.paging.FIRST_PAGE", 2)
    monkeypatch.setattr("knobctl.engine.paging.LARGE_PAGE", 2)
    monkeypatch.setattr("knobctl.engine.embedded.PAGE_SIZE", 2)
    names = [f"{tenant}-{letter}" for letter in "abcde"]
    for name in names:
        push(engine, name)

    listed = {live.tenant: live for live in engine.list()}

    assert set(names) <= set(listed)
    assert listed[names[0]] == engine.read(names[0])
    assert list(listed) == sorted(listed)


def test_many_tenants_are_read_in_the_order_asked_for(engine: Engine, tenant: str) -> None:
    """By a list or one by one, never written ones included."""
    names = [f"{tenant}-{number}" for number in range(30)]
    for name in names[::3]:
        push(engine, name)

    found = read_all(engine, reversed(names))

    assert list(found) == names[::-1]
    assert {name for name, live in found.items() if live.knobs} == set(names[::3])
    assert read_all(engine, names[:2])[names[0]].knobs == SET


def test_events_of_several_tenants_are_merged_by_time(engine: Engine, tenant: str) -> None:
    """Oldest first over all of them."""
    names = [f"{tenant}-{letter}" for letter in "ab"]
    revisions = [push(engine, name).revision for name in names]
    for name, revision in zip(names, revisions, strict=True):
        push(engine, name, {}, expected=revision, key="two")

    events = list(read_events(engine, names))

    assert [event["tenant_id"] for event in events] == [*names, *names]


# over HTTP only


@pytest.mark.parametrize(
    "cuts",
    [
        *([cut] for cut in Cut if cut is not Cut.AFTER_THE_REPLY),
        [Cut.BEFORE_SENDING, Cut.AFTER_SENDING, Cut.IN_THE_REPLY],
        [Cut.AFTER_SENDING] * 3,
        [Cut.LATER, Cut.AFTER_SENDING],
        [Cut.LATER] * 6,
    ],
)
def test_a_push_over_a_cut_connection_is_one_change_and_one_event(
    reference: Reference, tenant: str, cuts: list[Cut]
) -> None:
    """A repeated call is the same call: the engine honours the key."""
    with CuttingProxy(reference.url) as proxy:
        client = reference.client(reference.token(tenant), proxy.url)
        proxy.cuts = list(cuts)

        receipt = push(client, tenant)
        client.close()

    assert receipt.revision == "r1"
    assert len(kept_events(reference, tenant)) == 1
    assert proxy.seen == 1 + len(cuts)


def test_a_push_whose_every_answer_is_lost_is_found_by_reading_back(
    reference: Reference, tenant: str
) -> None:
    """Four attempts without an answer; the set is in force at a new revision: done."""
    with CuttingProxy(reference.url) as proxy:
        client = reference.client(reference.token(tenant), proxy.url)
        proxy.cuts = [Cut.AFTER_SENDING] * 4

        receipt = push(client, tenant)
        client.close()

    assert receipt.revision == "r1"
    assert len(kept_events(reference, tenant)) == 1


@pytest.mark.parametrize("seeds", [25, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.timeout(3600)
def test_whatever_is_cut_a_push_is_at_most_one_event(reference: Reference, seeds: int) -> None:
    """Success means written once, an engine error not at all, and only where both may be is it unknown.

    P04: sent again with its key until it is answered, it is exactly one event.
    """

    @settings(max_examples=seeds)
    @given(cuts=st.lists(st.sampled_from(Cut), max_size=5), number=st.integers(0, 10**9))
    def is_one_event(cuts: list[Cut], number: int) -> None:
        tenant = f"cut-{number}"
        with CuttingProxy(reference.url) as proxy:
            client = reference.client(reference.token(tenant), proxy.url)
            before = client.read(tenant).revision
            events = len(kept_events(reference, tenant))
            proxy.cuts = list(cuts)
            try:
                push(client, tenant, {"rrf_k": 30}, expected=before, key=f"{before}")
                written = {1}
            except EngineError:
                written = {0}
            except UnknownOutcomeError:
                written = {0, 1}
            assert len(kept_events(reference, tenant)) - events in written
            proxy.cuts = []
            push(client, tenant, {"rrf_k": 30}, expected=before, key=f"{before}")
            client.close()
        assert len(kept_events(reference, tenant)) - events == 1

    is_one_event()


def test_a_reader_cannot_write_and_is_told_so(reference: Reference, tenant: str) -> None:
    """L3 reads; the refusal is the engine's, in its code."""
    client = reference.client(reference.token(tenant, clearance=3))

    assert client.read(tenant).knobs == {}
    with pytest.raises(EngineRefusedError) as caught:
        push(client, tenant)

    assert caught.value.code == "permission_denied"
    assert len(kept_events(reference, tenant)) == 0


@pytest.mark.parametrize(
    ("clearance", "code"), [(2, "permission_denied"), (None, "unauthenticated")]
)
def test_who_is_not_let_in_is_told_so(
    reference: Reference, tenant: str, clearance: int | None, code: str
) -> None:
    """A token that may not read is not taken for an engine without revisions."""
    token = (
        reference.token(tenant, clearance=clearance)
        if clearance
        else GivenToken("nonsense", "the test")
    )
    client = reference.client(token)

    with pytest.raises(EngineRefusedError) as caught:
        client.assert_addresses([tenant, f"{tenant}-2"])

    assert caught.value.code == code


def test_anothers_tenant_looks_like_none(reference: Reference, tenant: str) -> None:
    """No probing: the same error as for a tenant that does not exist."""
    client = reference.client(reference.token(tenant))

    found = read_many(client, [tenant, "somebody-else"])

    assert isinstance(found["somebody-else"], TenantNotFoundError)
    assert not isinstance(found[tenant], EngineError)


def test_an_engine_with_revisions_gets_no_notice(reference: Reference, tenant: str) -> None:
    """There is nothing to warn of, not even for a tenant that was never written."""
    reference.notices.clear()
    client = reference.client(reference.token())

    client.read(tenant)
    client.assert_addresses([tenant, f"{tenant}-b"])

    assert reference.notices == []


def test_an_engine_out_of_reach_is_not_tried_for_every_tenant(reference: Reference) -> None:
    """Reading a hundred tenants of a dead engine fails in the time of a few."""
    client = reference.client(reference.token(), "http://127.0.0.1:9")
    client._capabilities.revisions_seen()  # as after an earlier call of the same run

    found = read_many(client, [f"t{number}" for number in range(19)], workers=2)

    assert {type(result) for result in found.values()} == {EngineError}
    assert len({id(result) for result in found.values()}) <= 2
