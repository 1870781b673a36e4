"""An engine that tells what it was asked: every method, failures, lists that nobody reads to their end."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING

import pytest

from knobctl.engine.embedded import open_embedded
from knobctl.engine.interface import Engine
from knobctl.engine.telling import Call, TellingEngine
from knobctl.errors import ConflictError, EngineError
from knobctl.knobs import load_catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def told() -> list[Call]:
    """What was told."""
    return []


@pytest.fixture
def engine(tmp_path: Path, told: list[Call]) -> Iterator[Engine]:
    """An engine on a file; each look at the clock takes a second."""
    ticks = count()
    inner = open_embedded(
        f"embedded:{tmp_path / 'e.db'}",
        load_catalogue(),
        actor="anna",
        clock=lambda: datetime(2026, 11, 30, tzinfo=UTC),
    )
    telling = TellingEngine(inner, told.append, clock=lambda: float(next(ticks)))
    yield telling
    telling.close()


def hold(engine: Engine, tenant: str, floor: float, base: str = "") -> None:
    """Write a set."""
    engine.replace(
        tenant,
        {"retrieval_min_score": floor},
        expected_revision=base,
        reason="a reason",
        idempotency_key=f"{tenant} {floor}",
    )


def test_each_call_is_told_with_its_tenant_and_what_came_of_it(
    engine: Engine, told: list[Call]
) -> None:
    """Time is that between the call and its end."""
    hold(engine, "acme", 0.4)
    assert engine.read("acme").knobs == {"retrieval_min_score": 0.4}
    assert [(one.method, one.tenant, one.outcome, one.failed) for one in told] == [
        ("replace", "acme", "written, r1", False),
        ("read", "acme", "r1", False),
    ]
    assert {one.seconds for one in told} == {1.0}


def test_lists_are_told_of_when_they_end(engine: Engine, told: list[Call]) -> None:
    """With how many came; a reader who stops early has them counted too."""
    hold(engine, "acme", 0.4)
    hold(engine, "bolt", 0.4)
    told.clear()
    assert len(list(engine.audit_events())) == 2
    assert next(engine.list()).tenant == "acme"
    assert [(one.method, one.outcome, one.failed) for one in told] == [
        ("audit_events", "2 events", False),
        ("list", "1 set", False),
    ]


def test_a_failure_is_told_and_goes_on_to_the_caller(engine: Engine, told: list[Call]) -> None:
    """A conflict, and a set that the engine refuses."""
    hold(engine, "acme", 0.4)
    told.clear()
    with pytest.raises(ConflictError):
        hold(engine, "acme", 0.5)
    with pytest.raises(EngineError):
        engine.evaluate("acme", {"config": {}, "queries": [""]})
    assert [(one.method, one.failed) for one in told] == [("replace", True), ("evaluate", True)]
    assert "blank" in told[1].outcome


def test_nothing_of_the_protocol_is_missing() -> None:
    """A method that the protocol gains is told of, too: it has the same arguments."""
    for name, method in inspect.getmembers(Engine, inspect.isfunction):
        if not name.startswith("_"):
            own = getattr(TellingEngine, name)
            assert list(inspect.signature(own).parameters) == list(
                inspect.signature(method).parameters
            )
