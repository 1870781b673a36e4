"""The chain of audit events: what breaks it is found, whatever an event holds."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knobctl import chain
from knobctl.chain import FIRST_PREVIOUS_HASH, event_hash, is_whole
from tests.engine.chains import broken_links


def _chain(length: int) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    previous = FIRST_PREVIOUS_HASH
    for number in range(length):
        event = {"revision": f"r{number + 1}", "after": {"rrf_k": number}, "reason": "é"}
        event["previous_hash"] = previous
        previous = event["hash"] = event_hash(event)
        events.append(event)
    return events


def test_the_hash_is_sha_256_over_the_canonical_form() -> None:
    """RFC 8785: sorted keys, no spaces, UTF-8, 1.0 as 1; the hash itself left out."""
    event = {"b": 1.0, "a": "é", "hash": "x", "c": {"z": 0.3, "y": []}}
    canonical = '{"a":"é","b":1,"c":{"y":[],"z":0.3}}'
    assert event_hash(event) == hashlib.sha256(canonical.encode()).hexdigest()
    assert event_hash(json.loads(json.dumps(event))) == event_hash(event)


def test_a_whole_chain_has_no_broken_link() -> None:
    """Of any length, none included."""
    for length in (0, 1, 2, 50):
        assert broken_links(_chain(length)) == []


@given(st.data())
def test_every_edit_removal_and_swap_is_found(data: st.DataObject) -> None:
    """One change anywhere but a cut of the tail breaks a link, at the place or right after it."""
    events = _chain(12)
    at = data.draw(st.integers(0, 10))
    kind = data.draw(st.sampled_from(["edit", "remove", "swap"]))
    if kind == "edit":
        field = data.draw(st.sampled_from(["revision", "after", "reason", "hash", "previous_hash"]))
        events[at] = {**events[at], field: data.draw(st.text() | st.integers() | st.none())}
    elif kind == "remove":
        del events[at]
    else:
        events[at], events[at + 1] = events[at + 1], events[at]
    assert broken_links(events)


def test_a_cut_tail_is_not_seen() -> None:
    """Nothing in a chain says how long it was; the revision of the set does."""
    assert broken_links(_chain(12)[:7]) == []


@pytest.mark.parametrize(
    "length",
    [400, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])],
)
def test_each_edit_removal_and_swap_of_a_long_log_is_found(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P11: one after the other, each at every place; what was not touched is hashed once."""
    events = _chain(length)
    known = {id(event): event["hash"] for event in events}
    monkeypatch.setattr(
        chain, "event_hash", lambda event: known.get(id(event)) or event_hash(event)
    )
    for at in range(length):
        edited = [*events[:at], events[at] | {"reason": "forged"}, *events[at + 1 :]]
        assert broken_links(edited)
        if at < length - 1:
            assert broken_links([*events[:at], *events[at + 1 :]])
            assert broken_links([*events[:at], events[at + 1], events[at], *events[at + 2 :]])


@pytest.mark.parametrize(
    "event", [{}, {"hash": None}, {"reason": "\ud800"}, {"after": 2**70}, {"after": float("nan")}]
)
def test_what_has_no_canonical_form_is_broken(event: dict[str, Any]) -> None:
    """Damage is an answer, never a crash."""
    assert not is_whole(event)
    assert broken_links([event, *_chain(2)])[0][0] == event
