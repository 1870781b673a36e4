"""Times for people."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from knobctl.report.ages import ago

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("then", "words"),
    [
        ("2026-11-29T12:00:00Z", "just now"),
        ("2026-11-29T11:59:57+00:00", "3 s ago"),
        ("2026-11-29T11:01:00Z", "59 min ago"),
        ("2026-11-29T12:00:00+02:00", "2 h ago"),
        ("2026-11-27T12:00:00Z", "2 d ago"),
        ("2026-10-20T12:00:00Z", "1 month ago"),
        ("2026-06-01T12:00:00Z", "6 months ago"),
        ("2020-01-01T00:00:00Z", "6 y ago"),
        ("2026-11-29T12:00:03Z", "just now"),
        ("2026-11-30T12:00:00Z", "2026-11-30T12:00:00Z"),
        ("once", "once"),
        ("2026-11-29T12:00:00", "2026-11-29T12:00:00"),
    ],
)
def test_ages_are_told_in_the_largest_whole_unit(then: str, words: str) -> None:
    """What lies ahead, has no zone or is no time is told as it is."""
    assert ago(then, NOW) == words
