"""The audit event of a write is waited for, and compared with what was planned."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from knobctl.changes.outcomes import Outcome, TenantOutcome
from knobctl.changes.plan import plan_tenant
from knobctl.changes.witness import Agreement, event_of
from knobctl.knobs import load_catalogue
from tests.cli.engines import embedded, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from knobctl.engine.embedded import EmbeddedEngine
    from knobctl.knobs import KnobValue

AFTER: Mapping[str, KnobValue] = {"rrf_k": 70, "mmr_lambda": 0.5}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    """An engine that holds a set of acme."""
    with embedded(tmp_path / "e.db") as engine:
        write(engine, "acme", {"rrf_k": 50})
        yield engine


def outcome(revision: str | None) -> TenantOutcome:
    """A write that was made."""
    return TenantOutcome(tenant="acme", outcome=Outcome.APPLIED, revision=revision)


def test_the_event_of_the_write_lists_what_was_planned(engine: EmbeddedEngine) -> None:
    """It is found by the revision, among others, and its field paths are compared."""
    live = engine.read("acme")
    tenant = plan_tenant(load_catalogue(), live, AFTER)
    revision = write(engine, "acme", AFTER)
    write(engine, "acme", {"rrf_k": 71})
    found = event_of(tenant, outcome(revision), engine, since=live.updated_at, pause=lambda _: None)
    assert found.agreement is Agreement.SAME
    assert found.listed == ("mmr_lambda", "rrf_k")
    assert not found.is_error


def test_an_event_with_other_fields_contradicts_the_write(engine: EmbeddedEngine) -> None:
    """Fewer, more or others: each is an error."""
    tenant = plan_tenant(load_catalogue(), engine.read("acme"), AFTER)
    revision = write(engine, "acme", {"rrf_k": 70})
    found = event_of(tenant, outcome(revision), engine, since=None, pause=lambda _: None)
    assert found.agreement is Agreement.OTHER
    assert (found.expected, found.listed) == (("mmr_lambda", "rrf_k"), ("rrf_k",))
    assert found.is_error


def test_a_clock_that_was_set_back_hides_no_event(engine: EmbeddedEngine) -> None:
    """An event that is older than the set before it is found all the same."""
    tenant = plan_tenant(load_catalogue(), engine.read("acme"), AFTER)
    revision = write(engine, "acme", AFTER)
    found = event_of(
        tenant, outcome(revision), engine, since="2999-01-01T00:00:00Z", pause=lambda _: None
    )
    assert found.agreement is Agreement.SAME


def test_an_event_that_does_not_come_is_waited_for_and_missed(engine: EmbeddedEngine) -> None:
    """The wait is bounded."""
    tenant = plan_tenant(load_catalogue(), engine.read("acme"), AFTER)
    waited: list[float] = []
    found = event_of(tenant, outcome("r9"), engine, since=None, pause=waited.append)
    assert found.agreement is Agreement.ABSENT
    assert found.is_error
    assert 1 < sum(waited) < 10


def test_without_revisions_nothing_is_said_of_an_event(engine: EmbeddedEngine) -> None:
    """No event can be told from another: that is no error."""
    tenant = plan_tenant(load_catalogue(), engine.read("acme"), AFTER)
    found = event_of(
        replace(tenant, base_revision=None),
        outcome(None),
        engine,
        since=None,
        pause=lambda _: None,
    )
    assert found.agreement is Agreement.NOT_KEPT
    assert not found.is_error
