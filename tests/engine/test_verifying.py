"""The chain of audit events: every change of the past shows, and a cut tail only against a kept head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knobctl.engine.verifying import Verified, verify
from tests.engine.chains import LENGTH, chain

if TYPE_CHECKING:
    from collections.abc import Sequence


def only(events: Sequence[dict[str, Any]], **heads: str) -> Verified:
    """Verify the chain of one tenant."""
    (verified,) = verify(events, heads)
    return verified


def test_a_sound_chain_has_no_findings_and_a_head() -> None:
    """The head is the last event's hash."""
    events = chain()

    verified = only(events)

    assert (verified.events, verified.findings) == (LENGTH, ())
    assert verified.head == events[-1]["hash"]


@given(
    at=st.integers(0, LENGTH - 1),
    field=st.sampled_from(["actor", "reason", "revision", "after", "hash", "previous_hash"]),
)
def test_every_edit_shows(at: int, field: str) -> None:
    """Whatever is changed, somebody's link breaks."""
    events = chain()
    events[at][field] = {"rrf_k": 999} if field == "after" else "forged"

    assert only(events).findings


@given(at=st.integers(0, LENGTH - 2))
def test_every_deletion_before_the_tail_shows(at: int) -> None:
    """The event after the gap does not continue the one before."""
    events = chain()
    del events[at]

    assert only(events).findings


@given(at=st.integers(0, LENGTH - 2))
def test_every_swap_shows(at: int) -> None:
    """Order is part of the chain."""
    events = chain()
    events[at], events[at + 1] = events[at + 1], events[at]

    assert only(events).findings


@given(cut=st.integers(1, LENGTH))
def test_a_cut_tail_shows_against_a_kept_head_and_only_then(cut: int) -> None:
    """The tool says whether it could see it."""
    events = chain()
    head = events[-1]["hash"]
    shortened = events[:-cut]

    assert only(shortened, acme=head).findings
    if shortened:
        verified = only(shortened)
        assert verified.findings == ()
        assert not verified.against_head


@pytest.mark.slow
def test_a_tail_cut_off_a_long_log_shows_against_a_kept_head() -> None:
    """P11: of 10,000 events the last few, many and all; without the head the answer says that there was none."""
    events = chain(length=10_000)
    head = events[-1]["hash"]
    for cut in (*range(1, 20), 100, 1_000, 5_000, 9_999):
        assert only(events[:-cut], acme=head).findings
        unseen = only(events[:-cut])
        assert (unseen.findings, unseen.against_head) == ((), False)


def test_a_kept_head_inside_the_chain_is_fine() -> None:
    """Events may have come since."""
    events = chain()

    verified = only(events, acme=events[3]["hash"])

    assert verified.findings == ()
    assert verified.against_head


def test_each_tenant_has_a_chain_of_its_own() -> None:
    """Interleaved events do not break each other; a break is the one tenant's."""
    acme, bolt = chain("acme"), chain("bolt")
    bolt[2]["actor"] = "forged"
    mixed = [event for pair in zip(acme, bolt, strict=True) for event in pair]

    by_tenant = {one.tenant: one for one in verify(mixed)}

    assert by_tenant["acme"].findings == ()
    assert {finding.tenant for finding in by_tenant["bolt"].findings} == {"bolt"}
    assert by_tenant["bolt"].findings[0].rule == "audit-chain-broken"


@pytest.mark.parametrize("value", [2**60, float("nan"), "\ud800"])
def test_content_without_a_canonical_form_is_a_break_and_no_crash(value: object) -> None:
    """What cannot be hashed was never hashed by an engine."""
    events = chain()
    events[1]["after"] = {"rrf_k": value}

    assert only(events).findings
