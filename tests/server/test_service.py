"""What the knobs service does beyond the wire contract's tables: clearances a knob, clocks, tokens."""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from knobctl.server.audit import uuid7
from knobctl.server.auth import Caller, local_caller
from knobctl.server.refusal import ServiceError
from tests.engine.chains import broken_links
from tests.server.catalogues import changed_catalogue

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from knobctl.server.knobs import KnobsService

ME = local_caller("anna")


def secret_of(token: str) -> str:
    """What of `kct_<id>_<secret>` only its holder has; the secret's own alphabet holds `_` too."""
    return token.split("_", 2)[2]


class TestAKnobThatAsksForMore:
    """`x-knob.clearance.edit` of one knob is L5."""

    @pytest.fixture
    def service(self, tmp_path: Path, open_at: Callable[..., KnobsService]) -> KnobsService:
        guarded = changed_catalogue(
            tmp_path, lambda props: props["rrf_k"]["x-knob"]["clearance"].update(edit="L5")
        )
        service = open_at(tmp_path / "engine.db", guarded)
        chief = Caller(subject="chief", clearance=5, tenants=None)
        service.update(chief, "acme", {"rrf_k": 10, "mmr_lambda": 0.5})
        return service

    @pytest.mark.parametrize("config", [{"rrf_k": 20}, {}, {"rrf_k": 20, "mmr_lambda": 0.5}])
    def test_a_change_of_it_is_refused_and_names_it(
        self, service: KnobsService, config: dict[str, object]
    ) -> None:
        """Set, changed or reset by leaving it out: the whole Update is refused."""
        with pytest.raises(ServiceError, match="changing rrf_k needs clearance L5") as refused:
            service.update(ME, "acme", config)
        assert refused.value.code == "permission_denied"
        assert service.get(ME, "acme").knobs == {"rrf_k": 10, "mmr_lambda": 0.5}
        assert len(service.audit_events(ME).items) == 1

    def test_a_full_replace_that_leaves_it_as_it_is_is_taken(self, service: KnobsService) -> None:
        """L4 may edit the other knobs: the set must be sent whole, so it may carry this one."""
        service.update(ME, "acme", {"rrf_k": 10, "mmr_lambda": 0.6})
        assert service.get(ME, "acme").knobs["mmr_lambda"] == 0.6

    def test_a_revert_is_held_to_it_too(self, service: KnobsService) -> None:
        """There is no way around by going back."""
        chief = Caller(subject="chief", clearance=5, tenants=None)
        service.update(chief, "acme", {})
        with pytest.raises(ServiceError, match="rrf_k"):
            service.revert(ME, "acme", "r1")


def test_names_that_are_no_knobs_are_refused(
    tmp_path: Path, open_at: Callable[..., KnobsService]
) -> None:
    """In the process nothing is dropped in silence; the wire ignores unknown fields before this."""
    service = open_at(tmp_path / "engine.db")
    with pytest.raises(ServiceError) as refused:
        service.update(ME, "acme", {"no_such_knob": 1, "rrfK": 7, "rrf_k": 7})
    assert [violation.field for violation in refused.value.violations] == ["no_such_knob", "rrfK"]


def test_a_reason_is_unicode_text(tmp_path: Path, open_at: Callable[..., KnobsService]) -> None:
    """A lone surrogate has no UTF-8 and no canonical JSON, so it has no hash either."""
    service = open_at(tmp_path / "engine.db")
    with pytest.raises(ServiceError, match="no valid Unicode"):
        service.update(ME, "acme", {}, reason="\ud800")


def test_a_clock_that_jumps_changes_nothing_but_the_time(
    tmp_path: Path, open_at: Callable[..., KnobsService]
) -> None:
    """Order comes from revisions: ten years back and forth leave one chain."""
    now = [datetime(2026, 11, 29, tzinfo=UTC)]
    service = open_at(tmp_path / "engine.db", clock=lambda: now[0])
    for number, years in enumerate((0, 10, -10, 0, -20), start=1):
        now[0] += timedelta(days=365 * years)
        assert service.update(ME, "acme", {"rrf_k": number}).stored.revision == f"r{number}"
    events = service.audit_events(ME).items
    assert [event["after"]["rrf_k"] for event in events] == [1, 2, 3, 4, 5]
    assert broken_links(events) == []


def test_times_are_told_in_utc(tmp_path: Path, open_at: Callable[..., KnobsService]) -> None:
    """A clock of another zone is translated; one without a zone is a defect."""
    east = timezone(timedelta(hours=9))
    service = open_at(
        tmp_path / "engine.db", clock=lambda: datetime(2026, 11, 30, 5, 0, tzinfo=east)
    )
    service.update(ME, "acme", {})
    assert service.get(ME, "acme").updated_at == "2026-11-29T20:00:00.000000Z"
    naive = open_at(tmp_path / "engine.db", clock=lambda: datetime(2026, 11, 30, 5, 0))  # noqa: DTZ001  the point
    with pytest.raises(ValueError, match="zone"):
        naive.update(ME, "acme", {})
    assert len(service.audit_events(ME).items) == 1


def test_event_ids_are_uuids_of_version_7() -> None:
    """RFC 9562: 48 bits of milliseconds, version, 12 random bits, variant, 62 random bits."""
    moment = datetime(2022, 2, 22, 19, 22, 22, tzinfo=UTC)
    assert str(uuid7(moment, lambda size: b"\xff" * size)) == "017f22e2-79b0-7fff-bfff-ffffffffffff"
    assert str(uuid7(moment, lambda size: b"\x00" * size)) == "017f22e2-79b0-7000-8000-000000000000"


class TestTokens:
    """Random, shown once, stored hashed, compared in constant time, told to nobody."""

    def test_a_token_stands_for_its_caller(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Subject, clearance, tenants and sources come back; None is every tenant."""
        service = open_at(tmp_path / "engine.db")
        for caller in (
            ME,
            Caller(subject="b\n'é", clearance=0, tenants=frozenset()),
            Caller(
                subject="c", clearance=5, tenants=frozenset(["x", "y"]), sources=frozenset(["s"])
            ),
        ):
            assert service.authenticate(service.new_token(caller)) == caller

    def test_the_secret_has_256_random_bits(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """43 characters of base64; no two alike."""
        service = open_at(tmp_path / "engine.db")
        tokens = {service.new_token(ME) for _ in range(20)}
        assert len(tokens) == 20
        assert all(re.fullmatch(r"kct_[0-9a-f]{16}_[\w-]{43}", token) for token in tokens)

    def test_the_store_holds_no_secret(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """Not in the file, not beside it."""
        service = open_at(tmp_path / "engine.db")
        secret = secret_of(service.new_token(ME)).encode()
        for path in tmp_path.glob("engine.db*"):
            assert secret not in path.read_bytes()

    def test_what_is_no_token_is_refused_in_the_same_words(
        self,
        tmp_path: Path,
        open_at: Callable[..., KnobsService],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """Missing, malformed, unknown, of another engine, with a wrong secret: no telling which."""
        caplog.set_level(logging.DEBUG)
        service = open_at(tmp_path / "engine.db")
        good = service.new_token(ME)
        foreign = open_at(tmp_path / "other.db").new_token(ME)
        wrong = good[:-1] + ("A" if good[-1] != "A" else "B")
        words = set()
        for token in (None, "", "x", good + "x", good.upper(), foreign, wrong, good[:-1], "é" * 64):
            with pytest.raises(ServiceError) as refused:
                service.authenticate(token)
            assert refused.value.code == "unauthenticated"
            words.add(refused.value.message)
            assert (
                token is None or len(token) < 2 or token not in refused.value.message + caplog.text
            )
        assert len(words) == 1

    def test_a_token_does_not_show_in_a_principals_text(
        self, tmp_path: Path, open_at: Callable[..., KnobsService]
    ) -> None:
        """What logs and crash reports could print of a caller holds no secret."""
        service = open_at(tmp_path / "engine.db")
        token = service.new_token(ME)
        secret = secret_of(token)
        assert secret not in repr(service.authenticate(token))
