"""`knobctl history`: audit events, and the proof of their chain."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.cli.engines import FIRST, SECOND, Clock, embedded, fits, write
from tests.given_engine import GivenEngine

if TYPE_CHECKING:
    from tests.cli.inside import Inside
    from tests.running import Knobctl

ENGINE = ("--engine", "embedded:e.db")


@pytest.fixture
def stocked(inside: Inside) -> Inside:
    """The command beside an engine with three events of two tenants, the first of them two days old."""
    now = datetime.now(UTC)
    with embedded(inside.folder / "e.db", Clock(now - timedelta(days=2))) as engine:
        write(engine, "acme", FIRST, "lower floors")
    with embedded(inside.folder / "e.db", Clock(now - timedelta(hours=1))) as engine:
        write(engine, "bolt", FIRST)
        write(engine, "acme", SECOND, "\x1b[2Jall fine\r\n::error::")
    return inside


def test_json_gives_the_events_of_every_tenant_oldest_first(stocked: Inside) -> None:
    """In the snake_case shape of the contract."""
    answer = stocked("history", "--format", "json", *ENGINE)

    fits(answer.json, "history")
    assert [event["tenant_id"] for event in answer.json["events"]] == ["acme", "bolt", "acme"]
    assert answer.json["events"][2]["before"] == FIRST
    assert answer.json["events"][2]["after"] == SECOND


def test_text_says_who_changed_what_and_why(stocked: Inside) -> None:
    """A reset is called one, with the default that it goes back to."""
    answer = stocked("history", "acme", *ENGINE)

    lines = answer.out.splitlines()
    assert lines[0].startswith("acme  r1  anna, ")
    assert lines[0].endswith(": lower floors")
    assert ["reset", "retrieval_vector_top_k", "32", "->", "default", "50"] in [
        line.split() for line in lines
    ]
    assert lines[-1] == "2 events of 1 tenant"


def test_a_reason_cannot_drive_the_terminal(stocked: Inside) -> None:
    """Control characters are shown as escapes, in JSON as JSON's own."""
    text = stocked("history", *ENGINE)
    answer = stocked("history", "--format", "json", *ENGINE)

    assert not set("\x1b\r") & set(text.out + answer.out)
    assert not any(line.startswith("::") for line in text.out.splitlines())
    assert answer.json["events"][2]["reason"] == "\x1b[2Jall fine\r\n::error::"


@pytest.mark.parametrize("since", ["3h", "1d", "90min"])
def test_since_leaves_out_what_is_older(stocked: Inside, since: str) -> None:
    """Ages, days and times are understood."""
    answer = stocked("history", "--since", since, "--format", "json", *ENGINE)

    assert [event["tenant_id"] for event in answer.json["events"]] == ["bolt", "acme"]


def test_since_takes_days_and_times(stocked: Inside) -> None:
    """A day begins at the user's own midnight."""
    long_ago = stocked("history", "--since", "2020-01-01", "--format", "json", *ENGINE)
    ahead = stocked("history", "--since", "2999-01-01T00:00:00Z", "--format", "json", *ENGINE)

    assert len(long_ago.json["events"]) == 3
    assert ahead.json["events"] == []


@pytest.mark.parametrize("since", ["yesterday", "5", "2026-13-01", "-1d"])
def test_what_is_no_time_is_usage(stocked: Inside, since: str) -> None:
    """With examples of what is one."""
    answer = stocked("history", f"--since={since}", *ENGINE)

    assert answer.code == 2
    assert "2026-11-29" in answer.err


def test_verify_proves_the_chain_and_gives_heads_to_keep(stocked: Inside) -> None:
    """Exit 0, and the words say what was not proved."""
    text = stocked("history", "--verify", *ENGINE)
    answer = stocked("history", "--verify", "--format", "json", *ENGINE)

    fits(answer.json, "history")
    assert (text.code, answer.code) == (0, 0)
    assert text.out.startswith("acme  2 events, unbroken  head ")
    assert "A tail that was cut off shows only against a head that was kept." in text.out
    assert [(one["tenant"], one["unbroken"]) for one in answer.json["verified"]] == [
        ("acme", True),
        ("bolt", True),
    ]


def test_verify_goes_by_all_events_though_fewer_are_shown(stocked: Inside) -> None:
    """A chain is proved from its first event on; --since counts for the display."""
    answer = stocked("history", "acme", "--since", "3h", "--verify", "--format", "json", *ENGINE)

    assert answer.code == 0
    assert len(answer.json["events"]) == 1
    assert answer.json["verified"][0]["events"] == 2


def test_a_head_of_an_earlier_run_is_compared_with(stocked: Inside) -> None:
    """Against the kept head nothing was cut off, and that is said."""
    earlier = stocked("history", "acme", "--verify", "--format", "json", *ENGINE).json["verified"][
        0
    ]["head"]

    answer = stocked("history", "acme", "--verify", "--head", f"acme={earlier}", *ENGINE)

    assert answer.code == 0
    assert "complete up to the kept head" in answer.out


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE {events} SET body = replace(body, 'lower floors', 'other words')",
        "DELETE FROM {events} WHERE rowid = (SELECT min(rowid) FROM {events})",
    ],
)
def test_a_store_that_was_changed_past_the_engine_is_exit_4(stocked: Inside, damage: str) -> None:
    """The finding names the event and is in every format."""
    tamper(stocked, damage)

    text = stocked("history", "--verify", *ENGINE)
    answer = stocked("history", "--verify", "--format", "json", *ENGINE)

    fits(answer.json, "history")
    assert (text.code, answer.code) == (4, 4)
    assert {finding["rule"] for finding in answer.json["findings"]} == {"audit-chain-broken"}
    assert "audit-chain-broken" in text.out


def tamper(stocked: Inside, damage: str) -> None:
    """Change the store's table of events, past the triggers that guard it."""
    with sqlite3.connect(stocked.folder / "e.db") as store:
        found = store.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (trigger,) in found:
            store.execute(f"DROP TRIGGER {trigger}")
        tables = store.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
        ).fetchall()
        (events,) = (name for name, sql in tables if "event" in name)
        columns = [row[1] for row in store.execute(f"PRAGMA table_info({events})")]
        body = next(name for name in columns if name in {"event", "body", "content", "json"})
        store.execute(damage.format(events=events).replace("body", body))
    store.close()


def test_a_tail_that_was_cut_off_shows_against_a_kept_head(stocked: Inside) -> None:
    """And only against one."""
    head = stocked("history", "acme", "--verify", "--format", "json", *ENGINE).json["verified"][0][
        "head"
    ]
    tamper(stocked, "DELETE FROM {events} WHERE rowid = (SELECT max(rowid) FROM {events})")

    without = stocked("history", "acme", "--verify", *ENGINE)
    against = stocked("history", "acme", "--verify", "--head", f"acme={head}", *ENGINE)

    assert (without.code, against.code) == (0, 4)
    assert "events were cut off" in against.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--head", "acme=abc"],
        ["--verify", "--head", "acme=abc"],
        ["acme", "--verify", "--head", f"bolt={'0' * 64}"],
    ],
)
def test_a_head_that_makes_no_sense_is_usage(stocked: Inside, arguments: list[str]) -> None:
    """Nothing is proved by a head of somebody else."""
    assert stocked("history", *arguments, *ENGINE).code == 2


def test_a_tenant_without_events_has_none(stocked: Inside) -> None:
    """Said, not failed."""
    answer = stocked("history", "zulu", *ENGINE)

    assert (answer.code, answer.out) == (0, "no events\n")


def test_an_engine_without_audit_events_is_exit_8(knobctl: Knobctl) -> None:
    """The given contract has no way to ask for them."""
    with GivenEngine() as given:
        answer = knobctl("history", "acme", "--engine", given.url, KNOBCTL_TOKEN="acme-token")

    assert answer.code == 8
    assert "does not offer ListConfigAuditEvents" in answer.err
