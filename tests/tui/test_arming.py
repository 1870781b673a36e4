"""Read-only until armed, with what must be said, and not for longer than somebody is there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.changes.limits import ContextRules, Limits, limits_of
from knobctl.errors import RefusedError, UsageError
from knobctl.tui.arming import IDLE, Arming

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
PRODUCTION = limits_of(
    None, context=ContextRules(name="prod", production=True, ticket_pattern="OPS-[0-9]+")
)


def test_a_session_begins_read_only_and_says_how_to_write() -> None:
    """Nobody writes by accident."""
    arming = Arming()
    assert arming.badge(NOW) == "RO"
    assert arming.refusal(NOW) == "read-only: type :arm to write"


def test_a_reason_arms_for_fifteen_minutes_after_the_last_key() -> None:
    """Each key begins the time anew; then it is over, and a later key changes nothing."""
    arming = Arming().arm("recall report", None, Limits(), NOW)
    assert arming.badge(NOW + timedelta(seconds=28)) == "ARMED 14:32"
    arming = arming.touch(NOW + timedelta(minutes=10))
    assert arming.refusal(NOW + timedelta(minutes=24, seconds=59)) is None
    late = arming.touch(NOW + timedelta(minutes=25))
    assert late.refusal(NOW + timedelta(minutes=25))
    assert late.reason == ""


def test_a_clock_that_was_set_back_ends_it() -> None:
    """Else it would last for as long as the clock was wrong."""
    arming = Arming().arm("recall report", None, Limits(), NOW)
    assert arming.badge(NOW - timedelta(seconds=1)) == "RO"


@pytest.mark.parametrize("reason", ["", "  ", "\t"])
def test_without_a_reason_nothing_is_armed(reason: str) -> None:
    """Not even where neither context nor fleet demands one."""
    with pytest.raises(RefusedError, match="needs a reason"):
        Arming().arm(reason, None, Limits(), NOW)


@pytest.mark.parametrize(
    ("ticket", "said"),
    [(None, "demands a ticket"), ("DEV-1", "the ticket is DEV-1"), ("OPS-7x", "matches OPS-")],
)
def test_production_demands_the_ticket_that_the_guards_demand(
    ticket: str | None, said: str
) -> None:
    """The words are the guards' own."""
    with pytest.raises(RefusedError, match=said):
        Arming().arm("recall report", ticket, PRODUCTION, NOW)
    assert Arming().arm("recall report", "OPS-7", PRODUCTION, NOW).ticket == "OPS-7"


def test_a_reason_cannot_pass_for_what_knobctl_was_told_otherwise() -> None:
    """As with `--reason`."""
    with pytest.raises(UsageError, match="allowed:"):
        Arming().arm("x [allowed: stop=1]", None, Limits(), NOW)
    with pytest.raises(UsageError, match="--ticket"):
        Arming().arm("x", "OPS 7", Limits(), NOW)


def test_a_session_that_was_started_read_only_is_never_armed() -> None:
    """Whatever is typed."""
    arming = Arming(forced="it was started so")
    with pytest.raises(RefusedError, match="read-only"):
        arming.arm("recall report", "OPS-7", Limits(), NOW)
    assert "it was started so" in (arming.refusal(NOW) or "")


def test_disarming_forgets_the_reason() -> None:
    """It was given for what is over."""
    arming = Arming().arm("recall report", "OPS-7", PRODUCTION, NOW).disarm()
    assert (arming.reason, arming.ticket, arming.badge(NOW)) == ("", None, "RO")


@given(st.lists(st.integers(0, 1000), max_size=30))
@settings(deadline=None, max_examples=60)
def test_it_is_armed_exactly_while_no_pause_was_fifteen_minutes(pauses: list[int]) -> None:
    """For every sequence of keys."""
    arming, now, alive = Arming().arm("why", None, Limits(), NOW), NOW, True
    for pause in pauses:
        now += timedelta(seconds=pause)
        alive = alive and timedelta(seconds=pause) < IDLE
        arming = arming.touch(now)
        assert (arming.refusal(now) is None) == alive
