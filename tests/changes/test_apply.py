"""Carrying out a plan: isolation, conflicts, stops, keys, and what each outcome means for the exit code."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.changes.apply import OnConflict, Push, apply_plan, idempotency_key
from knobctl.changes.outcomes import Outcome, TenantOutcome, exit_code, tally
from knobctl.changes.plan import TenantPlan, plan_tenant
from knobctl.changes.read_back import same_set
from knobctl.changes.run_folder import RunFolder
from knobctl.changes.taking_back import back_of, still_written, take_back
from knobctl.engine.embedded import EmbeddedEngine, open_embedded
from knobctl.engine.interface import LiveSet
from knobctl.errors import ExitCode
from knobctl.knobs import load_catalogue
from tests.changes.engines import Watched, out_of_reach_from, refusing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knobctl.changes.journal_writing import Journal
    from knobctl.engine.interface import Engine

CATALOGUE = load_catalogue()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    """The embedded engine on a file."""
    opened = open_embedded(
        f"embedded:{tmp_path / 'e.db'}", CATALOGUE, actor="anna", clock=lambda: datetime.now(UTC)
    )
    yield opened
    opened.close()


def planned(engine: EmbeddedEngine, *tenants: str, rrf_k: int = 30) -> list[TenantPlan]:
    return [plan_tenant(CATALOGUE, engine.read(tenant), {"rrf_k": rrf_k}) for tenant in tenants]


@contextmanager
def journal(run: str = "run") -> Iterator[Journal]:
    """A journal in a folder that goes with it."""
    with TemporaryDirectory() as folder, closing(RunFolder(Path(folder)).new(run)) as opened:
        yield opened


def write(engine: EmbeddedEngine, tenant: str, rrf_k: int) -> None:
    live = engine.read(tenant)
    engine.replace(
        tenant,
        {"rrf_k": rrf_k},
        expected_revision=live.revision,
        reason="",
        idempotency_key=f"{tenant}{rrf_k}",
    )


def way(engine: Engine, opened: Journal, **options: Any) -> Push:
    return Push(
        engine=engine,
        catalogue=CATALOGUE,
        reason="r",
        pause=lambda _: None,
        journal=opened,
        **options,
    )


def carry_out(
    engine: EmbeddedEngine,
    tenants: list[TenantPlan],
    before_write: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> tuple[dict[str, Outcome], Watched]:
    watched = Watched(engine, before_write)
    with journal() as opened:
        outcomes = apply_plan(tenants, way(watched, opened, **options), lambda _: None)
    assert [one.tenant for one in outcomes] == [one.tenant for one in tenants]
    return {one.tenant: one.outcome for one in outcomes}, watched


def push(
    engine: EmbeddedEngine, tenants: list[TenantPlan], *, run: str = "run"
) -> list[TenantOutcome]:
    with journal(run) as opened:
        return apply_plan(tenants, way(engine, opened), lambda _: None)


def test_unchanged_tenants_are_not_written(engine: EmbeddedEngine) -> None:
    """No write, no event."""
    write(engine, "a", 30)
    outcomes, watched = carry_out(engine, planned(engine, "a", "b"))
    assert outcomes == {"a": Outcome.UNCHANGED, "b": Outcome.APPLIED}
    assert watched.writes == ["b"]


def test_a_refused_tenant_leaves_the_others_alone(engine: EmbeddedEngine) -> None:
    """One bad tenant is not three hundred."""
    outcomes, _ = carry_out(engine, planned(engine, *"abcd"), refusing("b"), parallelism=1)
    assert outcomes == {
        "a": Outcome.APPLIED,
        "b": Outcome.FAILED,
        "c": Outcome.APPLIED,
        "d": Outcome.APPLIED,
    }


def test_an_engine_out_of_reach_ends_the_run_with_honest_counts(engine: EmbeddedEngine) -> None:
    """Case pipe-partial-apply: one applied, one failed, one not attempted."""
    outcomes, _ = carry_out(engine, planned(engine, *"abc"), out_of_reach_from("b"), parallelism=1)
    assert outcomes == {"a": Outcome.APPLIED, "b": Outcome.FAILED, "c": Outcome.SKIPPED}
    assert engine.read("c").knobs == {}


@pytest.mark.parametrize(
    ("on_conflict", "rest"),
    [(OnConflict.STOP, Outcome.SKIPPED), (OnConflict.SKIP, Outcome.APPLIED)],
)
def test_a_conflict_stops_or_is_skipped(
    engine: EmbeddedEngine, on_conflict: OnConflict, rest: Outcome
) -> None:
    """The other person's set stays."""
    tenants = planned(engine, *"abc")
    write(engine, "b", 99)
    outcomes, _ = carry_out(engine, tenants, parallelism=1, on_conflict=on_conflict)
    assert outcomes == {"a": Outcome.APPLIED, "b": Outcome.CONFLICT, "c": rest}
    assert engine.read("b").knobs == {"rrf_k": 99}


def test_a_conflict_shows_the_other_change_and_not_its_revision(engine: EmbeddedEngine) -> None:
    """What was changed, by whom, when."""
    tenants = planned(engine, "a")
    write(engine, "a", 99)
    (outcome,) = push(engine, tenants)
    assert [(change.field_path, change.after) for change in outcome.theirs] == [("rrf_k", 99)]
    assert (outcome.by, outcome.revision) == ("anna", None)


def test_a_stop_finishes_what_is_in_flight_and_begins_nothing(engine: EmbeddedEngine) -> None:
    """The tenant during whose write it came is written."""
    stop = Event()
    outcomes, watched = carry_out(
        engine,
        planned(engine, *"abcd"),
        lambda tenant: stop.set() if tenant == "b" else None,
        parallelism=1,
        stop=stop,
    )
    assert outcomes == {
        "a": Outcome.APPLIED,
        "b": Outcome.APPLIED,
        "c": Outcome.SKIPPED,
        "d": Outcome.SKIPPED,
    }
    assert watched.writes == ["a", "b"]


def test_the_emergency_stop_stops_taking_back_too(engine: EmbeddedEngine) -> None:
    """A signal does not; what is not back by then holds what the run wrote, and is left to a resume."""
    plans = planned(engine, *"abcd")
    written = {one.tenant: one for one in push(engine, plans)}
    backs = [back_of(one, written[one.tenant].revision, CATALOGUE) for one in plans]
    emergency, stop = Event(), Event()
    stop.set()
    watched = Watched(engine, lambda tenant: emergency.set() if tenant == "b" else None)
    with journal("second") as opened:
        options = {"ticket": "OPS-7", "stop": stop, "emergency": emergency}
        returned = take_back(backs, way(watched, opened, parallelism=1, **options), "worse")
    assert [one.outcome.value for one in returned] == [
        *("rolled_back", "rolled_back"),
        *("applied", "applied"),
    ]
    assert still_written(returned) == ("c", "d")
    (_, event) = engine.audit_events("a")
    assert event["reason"] == "taken back by the canary of run second: worse [ticket: OPS-7]"


def test_a_defect_ends_the_run(engine: EmbeddedEngine) -> None:
    """It is raised, not swallowed, and nothing more is begun."""

    def broken(tenant: str) -> None:
        if tenant == "b":
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        carry_out(engine, planned(engine, *"abcdefgh"), broken, parallelism=1)
    assert engine.read("h").knobs == {}


def test_no_update_is_lost(engine: EmbeddedEngine) -> None:
    """Eight writers add one to the same knob by read, plan and apply; every success counts once."""

    def add_one(number: int) -> int:
        done = 0
        for round_ in range(10):
            live = engine.read("counter")
            value = int(live.knobs.get("rrf_k", 0)) + 1
            tenants = [plan_tenant(CATALOGUE, live, {"rrf_k": value})]
            (outcome,) = push(engine, tenants, run=f"{number}-{round_}")
            assert outcome.outcome in {Outcome.APPLIED, Outcome.CONFLICT}
            done += outcome.outcome is Outcome.APPLIED
        return done

    with ThreadPoolExecutor(8) as pool:
        written = sum(pool.map(add_one, range(8)))
    assert engine.read("counter").knobs["rrf_k"] == written
    assert len(list(engine.audit_events("counter"))) == written


def test_the_key_of_a_write_names_run_tenant_base_and_set() -> None:
    """Sent again it is the same; another run, tenant, base or set has another."""

    def key(tenant: str = "a", revision: str | None = "r1", run: str = "x", rrf_k: int = 3) -> str:
        live = LiveSet(tenant=tenant, knobs={}, revision=revision)
        return idempotency_key(plan_tenant(CATALOGUE, live, {"rrf_k": rrf_k}), run)

    assert key() == key()
    others = [key("b"), key(revision="r2"), key(revision=""), key(revision=None), key(rrf_k=4)]
    assert len({key(), key(run="y"), *others}) == 7


def test_the_same_change_made_twice_at_once_is_written_once(engine: EmbeddedEngine) -> None:
    """The second one conflicts and says that the set is there already."""
    first, second = planned(engine, "a"), planned(engine, "a")
    assert carry_out(engine, first)[0] == {"a": Outcome.APPLIED}
    (outcome,) = push(engine, second, run="another")
    assert (outcome.outcome, outcome.message) == (
        Outcome.CONFLICT,
        "it holds the planned set already",
    )
    assert len(list(engine.audit_events("a"))) == 1


def test_sets_are_compared_bit_for_bit() -> None:
    """The type counts, and neighbouring doubles differ."""
    assert same_set({"a": 0.3, "b": 1}, {"b": 1, "a": 0.3})
    assert not same_set({"a": 0.3}, {"a": 0.1 + 0.2})
    assert not same_set({"a": 1}, {"a": 1.0})
    assert not same_set({"a": 1}, {})


APPLIED, CONFLICT, FAILED, SKIPPED, UNCHANGED, UNKNOWN = (
    Outcome.APPLIED,
    Outcome.CONFLICT,
    Outcome.FAILED,
    Outcome.SKIPPED,
    Outcome.UNCHANGED,
    Outcome.UNKNOWN,
)


@pytest.mark.parametrize(
    ("outcomes", "interrupted", "code"),
    [
        ([], None, 0),
        ([APPLIED, UNCHANGED], None, 0),
        ([UNCHANGED], None, 0),
        ([APPLIED, FAILED], None, 9),
        ([APPLIED, CONFLICT, SKIPPED], None, 9),
        ([APPLIED, UNKNOWN, FAILED], None, 10),
        ([UNCHANGED, CONFLICT, SKIPPED], None, 7),
        ([FAILED, UNCHANGED], None, 8),
        ([FAILED, CONFLICT], None, 7),
        ([SKIPPED, SKIPPED], ExitCode.INTERRUPTED, 130),
        ([SKIPPED], ExitCode.TERMINATED, 143),
        ([APPLIED], ExitCode.INTERRUPTED, 130),
        ([APPLIED, SKIPPED], ExitCode.INTERRUPTED, 9),
        ([UNKNOWN, SKIPPED], ExitCode.TERMINATED, 10),
    ],
    ids=str,
)
def test_the_exit_code_follows_the_precedence_of_the_contract(
    outcomes: list[Outcome], interrupted: ExitCode | None, code: int
) -> None:
    """10, 9, 7, 8, 130, 143, 0."""
    found = [TenantOutcome(tenant=f"t{n}", outcome=one) for n, one in enumerate(outcomes)]
    assert exit_code(found, interrupted) == code


def test_outcomes_are_counted_by_name() -> None:
    """Those that occur."""
    found = [
        TenantOutcome(tenant=str(n), outcome=one)
        for n, one in enumerate([FAILED, APPLIED, APPLIED])
    ]
    assert tally(found) == {"applied": 2, "failed": 1}
