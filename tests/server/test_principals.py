"""Principals by their tokens: remembered for a moment, read again after it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from knobctl.server.auth import Caller
from knobctl.server.principals import REMEMBERED_S
from knobctl.server.refusal import Code, ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from knobctl.server.knobs import KnobsService

ANNA = Caller(subject="anna", clearance=4, tenants=frozenset(["acme"]))


class Seconds:
    """Seconds that never go back, and that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def service(tmp_path: Path, open_at: Callable[..., KnobsService], seconds: Seconds) -> KnobsService:
    return open_at(tmp_path / "engine.db", monotonic=seconds)


def test_a_token_is_remembered_for_a_moment(service: KnobsService, seconds: Seconds) -> None:
    """Not before it was read, not with another secret, and not for longer."""
    token = service.new_token(ANNA)
    assert service.principals.remembered(token) is None
    assert service.authenticate(token) == ANNA
    assert service.principals.remembered(token) == ANNA
    assert service.principals.remembered(token[:-1] + ("a" if token[-1] != "a" else "b")) is None
    assert service.principals.remembered(None) is None
    seconds.now += REMEMBERED_S + 1
    assert service.principals.remembered(token) is None


def test_a_principal_that_is_taken_away_is_refused(
    service: KnobsService, seconds: Seconds, tmp_path: Path
) -> None:
    """As soon as the moment is over; nothing of it is kept."""
    token = service.new_token(ANNA)
    service.authenticate(token)
    with closing(sqlite3.connect(tmp_path / "engine.db")) as connection, connection:
        connection.execute("DELETE FROM principals")
    seconds.now += REMEMBERED_S + 1
    for _ in range(2):
        with pytest.raises(ServiceError) as refused:
            service.authenticate(token)
        assert refused.value.code is Code.UNAUTHENTICATED
    assert service.principals.remembered(token) is None


def test_where_the_store_is_gone_a_known_token_still_holds(
    service: KnobsService, seconds: Seconds, tmp_path: Path
) -> None:
    """So that the last good sets, which stay in force, can be read; an unknown one is not refused as wrong."""
    token, other = service.new_token(ANNA), service.new_token(ANNA)
    service.authenticate(token)
    service.close()
    (tmp_path / "engine.db").write_bytes(b"no database" * 100)
    seconds.now += REMEMBERED_S + 1
    assert service.authenticate(token) == ANNA
    with pytest.raises(ServiceError) as refused:
        service.authenticate(other)
    assert refused.value.code is Code.UNAVAILABLE
