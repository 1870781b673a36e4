"""Audit reasons: what is put together comes apart again."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.changes.audit_reasons import audit_reason, reason_parts, with_acknowledged

WORDS = st.text("abc[]: ", max_size=12).filter(lambda text: not text.endswith(("]", " ")))


@given(WORDS, st.none() | st.just("OPS-7"), st.lists(st.just("max_tenants=5"), max_size=2))
@settings(max_examples=60, deadline=None)
def test_a_reason_comes_apart_as_it_was_put_together(
    why: str, ticket: str | None, allowed: list[str]
) -> None:
    """Whatever somebody gave as the reason."""
    found, added = reason_parts(with_acknowledged(audit_reason(why, ticket, allowed), ["a-rule"]))
    assert found.strip() == why.strip()
    assert added.get("ticket") == ticket
    assert added.get("allowed", "") == ", ".join(allowed)
    assert added["acknowledged"] == "a-rule"


def test_a_reason_of_somebody_elses_is_left_as_it_is() -> None:
    """Nothing was added to it."""
    assert reason_parts("see [ticket] for why") == ("see [ticket] for why", {})
    assert reason_parts("") == ("", {})
    assert reason_parts("[ticket: X]") == ("", {"ticket": "X"})


def test_of_many_acknowledgements_the_first_are_named() -> None:
    """A reason stays of a length that engines take."""
    rules = [f"reset a-knob-with-a-long-name-{number}" for number in range(100)]
    reason = with_acknowledged("why", rules)
    assert reason.startswith("why [acknowledged: reset a-knob-with-a-long-name-0, ")
    assert reason.endswith(" more]")
    assert len(reason) < 450
    given, added = reason_parts(reason)
    assert given == "why"
    assert added["acknowledged"].endswith("and 88 more")
