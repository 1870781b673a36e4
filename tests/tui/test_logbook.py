"""The log of a session: bounded, without secrets, written from any thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.documents.git import GitCall
from knobctl.engine.telling import Call
from knobctl.tui.logbook import KEPT, MOST, Kind, Logbook, duration_text

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def book() -> Logbook:
    """An empty one."""
    return Logbook(lambda: NOW)


def test_a_call_is_noted_with_its_time_and_outcome() -> None:
    """As it was told."""
    log = book()
    log.called(Call(method="read", tenant="acme", seconds=0.012, outcome="r7", failed=False))
    log.called(Call(method="list", tenant="", seconds=2, outcome="is not reached", failed=True))
    assert [(one.text, one.seconds, one.outcome, one.failed) for one in log.entries()] == [
        ("read acme", 0.012, "r7", False),
        ("list", 2, "is not reached", True),
    ]


def test_a_call_of_git_is_noted_and_its_no_is_no_failure() -> None:
    """Outside a checkout, too."""
    log = book()
    for status in (0, 1, 128, None):
        log.asked_git(GitCall(("rev-parse", "HEAD"), 0.01, status))
    assert [(one.text, one.outcome, one.failed) for one in log.entries()] == [
        ("git rev-parse HEAD", "ok", False),
        ("git rev-parse HEAD", "status 1", False),
        ("git rev-parse HEAD", "status 128", False),
        ("git rev-parse HEAD", "cannot be run", True),
    ]


def test_what_is_done_is_noted_when_it_is_over(tmp_path: Path) -> None:
    """With how long it took; a failure goes on to the caller."""
    ticks = iter((1.0, 3.5, 4.0, 5.0))
    log = Logbook(lambda: NOW, lambda: next(ticks))
    with log.noting(Kind.FILE, "write a file"):
        (tmp_path / "a").write_text("x")
    with pytest.raises(OSError, match="a/b"), log.noting(Kind.FILE, "write another"):
        (tmp_path / "a" / "b").write_text("x")
    assert [(one.text, one.seconds, one.outcome) for one in log.entries()] == [
        ("write a file", 2.5, "ok"),
        ("write another", 1.0, "failed"),
    ]


def test_it_keeps_the_latest_entries_only() -> None:
    """And of each no more than can be read."""
    log = book()
    for number in range(KEPT + 5):
        log.write(Kind.NOTE, f"{number}")
    log.write(Kind.ERROR, "x" * (MOST + 10))
    entries = log.entries()
    assert len(entries) == KEPT
    assert log.written == KEPT + 6
    assert entries[0].text == "6"
    assert len(entries[-1].text) == MOST


def test_threads_write_at_once_and_nothing_is_lost() -> None:
    """Numbers are given once."""
    log = book()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: log.write(Kind.NOTE, str(number)), range(400)))
    assert sorted(int(one.text) for one in log.entries()) == list(range(400))
    assert [one.number for one in log.entries()] == list(range(1, 401))


@pytest.mark.parametrize(
    "text",
    [
        "refused: Authorization: Bearer S3CRET",
        "token kct_abc_S3CRET is not known",
        "https://anna:S3CRET@engine.example/x cannot be reached",
        'sent "authorization": "bearer S3CRET", and more',
    ],
)
def test_what_looks_like_a_secret_in_words_of_others_is_not_kept(text: str) -> None:
    """Neither in what was asked nor in what came of it."""
    log = book()
    log.write(Kind.ERROR, text, outcome=text)
    (entry,) = log.entries()
    assert "S3CRET" not in entry.text + entry.outcome
    assert "***" in entry.text


@given(st.text(max_size=50))
@settings(max_examples=60, deadline=None)
def test_any_text_can_be_noted(text: str) -> None:
    """Whatever it is."""
    log = book()
    log.write(Kind.NOTE, text)
    assert len(log.entries()) == 1


def test_durations_have_a_unit_that_fits() -> None:
    """Milliseconds below a second."""
    found = [duration_text(one) for one in (0, 0.0124, 0.9994, 1.25, 9.94, 75.2)]
    assert found == ["0 ms", "12 ms", "999 ms", "1.2 s", "9.9 s", "75 s"]
