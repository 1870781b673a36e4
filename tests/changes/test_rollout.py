"""Waves, bounds and the time of a bake: pure, and on a real engine with a clock of its own."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from threading import Event
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.changes.apply import Push
from knobctl.changes.guard_metrics import Measure, breach_words, measured
from knobctl.changes.outcomes import Outcome, TenantOutcome, exit_code, taken_back
from knobctl.changes.plan import TenantPlan, plan_tenant
from knobctl.changes.probing import Answers, Probes
from knobctl.changes.rolling_out import roll_out
from knobctl.changes.rollout import Rolled, prepared_rollout
from knobctl.changes.run_folder import RunFolder
from knobctl.changes.watching import Watch
from knobctl.changes.waves import Canary, Group, duration, seconds, size_of, waves_of
from knobctl.documents.kinds import sort_documents
from knobctl.documents.reader import read_text
from knobctl.engine.embedded import open_embedded
from knobctl.engine.interface import LiveSet
from knobctl.errors import ExitCode, RefusedError
from knobctl.knobs import load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.opening import open_services
from knobctl.server.retrieval.model import Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

CATALOGUE = load_catalogue()


def planned(tenant: str, **knobs: float) -> TenantPlan:
    live = LiveSet(tenant=tenant, knobs={}, revision="")
    return plan_tenant(CATALOGUE, live, CATALOGUE.canonical(knobs))


def asked_for(*sizes: str, labels: tuple[str, ...] = ()) -> Canary:
    return Canary(sizes=sizes, labels=labels, bake="0s", max_worse="2%")


def names(groups: Sequence[Group]) -> list[list[str]]:
    return [[one.tenant for one in group.tenants] for group in groups]


def test_sizes_and_durations() -> None:
    """A share is rounded up to whole tenants; none takes more than there are."""
    assert [size_of(text, 30) for text in ("1", "99", "10%", "0.1%", "100%")] == [1, 30, 3, 1, 30]
    assert [seconds(text) for text in ("0s", "90s", "10m", "2h", "1d")] == [
        0,
        90,
        600,
        7200,
        86400,
    ]
    assert [duration(one) for one in (0, 59, 90, 600, 5400, 7200, 172800)] == [
        "0s",
        "59s",
        "90s",
        "10m",
        "90m",
        "2h",
        "2d",
    ]


def test_every_kind_of_change_comes_before_one_comes_twice() -> None:
    """The kind of most tenants first; tenants without probes last, however common their change."""
    tenants = [planned(f"a{index}", rrf_k=30) for index in range(5)]
    tenants += [planned(f"b{index}", mmr_lambda=0.5) for index in range(2)]
    tenants += [planned("c0", rrf_k=30, mmr_lambda=0.5)]
    tenants += [planned(f"u{index}", recency_window_hours=9) for index in range(9)]
    groups, _ = waves_of(tenants, asked_for("3", "6"), lambda one: one.tenant[0] != "u")
    assert [[name[0] for name in group] for group in names(groups)] == [
        ["a", "b", "c"],
        ["a", "a", "b"],
    ]


def labelled(tenant: str, **labels: str) -> TenantPlan:
    return replace(planned(tenant, rrf_k=30), labels=labels)


def test_every_label_is_a_wave_of_those_that_no_earlier_one_has() -> None:
    """In the order given; a label that nobody has is told; the rest has none of them."""
    tenants = [
        labelled("a", ring="1", region="eu"),
        labelled("b", region="eu"),
        labelled("c", region="us"),
        labelled("d"),
    ]
    asked = asked_for(labels=("ring=1", "region=mars", "region=eu", "region=us", "ring=1"))
    groups, nobody = waves_of(tenants, asked, lambda _: True)
    assert names(groups) == [["a"], ["b"], ["c"]]
    assert [one.name for one in groups] == ["ring=1", "region=eu", "region=us"]
    assert nobody == ("region=mars",)


def test_sizes_are_taken_of_the_first_label() -> None:
    """Who says which region is first wants none of another before it."""
    tenants = [labelled(f"e{number}", region="eu") for number in range(4)]
    tenants += [labelled(f"u{number}", region="us") for number in range(4)]
    asked = asked_for("1", "50%", labels=("region=us", "region=eu"))
    groups, _ = waves_of(tenants, asked, lambda _: True)
    assert [one.name for one in groups] == [
        "canary 1 of region=us",
        "canary 50% of region=us",
        "region=us",
        "region=eu",
    ]
    assert [len(one.tenants) for one in groups] == [1, 1, 2, 4]
    assert {name[0] for group in names(groups)[:3] for name in group} == {"u"}
    whole, _ = waves_of(tenants, asked_for("100%", labels=("region=us",)), lambda _: True)
    assert [one.name for one in whole] == ["canary 100% of region=us"]


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from(range(60)), unique=True, min_size=1),
    st.lists(st.integers(1, 70), min_size=1, max_size=4),
)
def test_waves_are_the_same_in_any_order_and_hold_each_tenant_once(
    numbers: list[int], sizes: list[int]
) -> None:
    """Whoever plans the same, watches the same tenants; a size that adds nobody is no wave."""
    tenants = [planned(f"t{number}", rrf_k=30 + number % 3) for number in numbers]
    asked = asked_for(*map(str, sizes))
    waves, _ = waves_of(tenants, asked, lambda one: one.tenant.endswith("1"))
    found = [name for group in names(waves) for name in group]
    assert len(found) == len(set(found)) == min(max(sizes), len(tenants))
    assert all(names(waves))
    again, _ = waves_of(tenants[::-1], asked, lambda one: one.tenant.endswith("1"))
    assert again == waves


def answers(total: int, below: set[int], empty: set[int]) -> Answers:
    answered = frozenset(range(total)) - empty
    return Answers(total, frozenset(below), frozenset(empty), answered, "c1")


def test_lost_answers_are_not_outweighed_by_won_ones() -> None:
    """The shares stay as they are, and what was lost is counted by itself."""
    before, after = answers(10, {0}, {0}), answers(10, {1}, {1})
    below, lost, empty = measured(before, after)
    assert below.worse == empty.worse == 0
    assert (lost.after, lost.questions, lost.worse) == (1, 9, Fraction(1, 9))
    assert breach_words("acme", lost, "2%") == "acme: 1 of 9 answers lost (11% worse, bound 2%)"
    assert Measure("answers_lost", 0, 0, 0).worse == 0


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ({Outcome.ROLLED_BACK}, ExitCode.ROLLED_BACK),
        ({Outcome.ROLLED_BACK, Outcome.SKIPPED}, ExitCode.ROLLED_BACK),
        ({Outcome.ROLLED_BACK, Outcome.CONFLICT, Outcome.FAILED}, ExitCode.ROLLED_BACK),
        ({Outcome.ROLLED_BACK, Outcome.APPLIED}, ExitCode.PARTIAL),
        ({Outcome.ROLLED_BACK, Outcome.UNKNOWN}, ExitCode.UNKNOWN),
    ],
)
def test_the_gravest_code_wins(outcomes: set[Outcome], code: ExitCode) -> None:
    """10, 9, 11, 7, 8, as the contract has it; an interruption goes behind."""
    told = [TenantOutcome(tenant=one.value, outcome=one) for one in outcomes]
    assert exit_code(told, ExitCode.INTERRUPTED) is code


def test_what_was_not_taken_back_is_applied_still() -> None:
    """With the revision of the write that stands, and why."""
    failed = TenantOutcome(tenant="acme", outcome=Outcome.FAILED, message="no")
    told = taken_back(failed, "r2")
    assert (told.outcome, told.revision) == (Outcome.APPLIED, "r2")
    assert told.message == "written, and not taken back: no"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tenants with a text each."""
    path = tmp_path_factory.mktemp("store") / "e.db"
    services = open_services(f"embedded:{path}", CATALOGUE, clock=lambda: datetime.now(UTC))
    assert services.ingest is not None
    for tenant in ("a", "b", "c"):
        texts = [Text(document_id="gates", text="Approval gates stop a run.")]
        services.ingest.upsert(local_caller("test"), tenant, texts)
    services.close()
    return path


def rolled(
    store: Path,
    folder: Path,
    canary: Canary,
    *,
    stop_at: float | None = None,
    stop_when_told: bool = False,
    unknown: Mapping[str, str] | None = None,
) -> tuple[Rolled, list[str]]:
    """Push a harmless change to three tenants in waves, on a clock that only a pause moves."""
    (folder / "q.jsonl").write_text(json.dumps({"question": "What stops a run?"}) + "\n")
    text = "fleet: f\nprobes: [{questions: q.jsonl}]\n"
    (fleet,) = sort_documents(read_text(text, "fleet.yaml"), named=True).documents
    now, said, stop = [0.0], list[str](), Event()

    def pause(waited: float) -> None:
        now[0] += waited
        if stop_at is not None and now[0] >= stop_at:
            stop.set()

    engine = open_embedded(
        f"embedded:{store}", CATALOGUE, actor="anna", clock=lambda: datetime.now(UTC)
    )
    with closing(engine), closing(RunFolder(folder / "runs").new("0" * 8)) as journal:
        existing = {one: engine.read(one) for one in ("a", "b", "c")}
        plans = [
            plan_tenant(CATALOGUE, live, {"rrf_k": 30 if live.knobs.get("rrf_k") == 61 else 61})
            for live in existing.values()
        ]
        plans = [replace(one, unknown=unknown or {}) for one in plans]
        rollout = prepared_rollout(canary, plans, Probes(fleet, folder), engine, parallelism=2)
        push = Push(
            engine=engine,
            catalogue=CATALOGUE,
            reason="why",
            pause=pause,
            journal=journal,
            stop=stop,
        )

        def tell(words: str) -> None:
            said.append(words)
            if stop_when_told:
                stop.set()

        watch = Watch(clock=lambda: now[0], pause=pause, tell=tell)
        return roll_out(rollout, push, watch, lambda _: None), said


def test_a_bake_asks_every_thirty_seconds_and_once_more_at_its_end(
    store: Path, tmp_path: Path
) -> None:
    """100 s: at 0, 30, 60, 90 and 100; for each wave anew."""
    canary = Canary(sizes=("1", "2"), bake="100s", max_worse="2%")
    found, said = rolled(store, tmp_path, canary)
    assert [(one.verdict, one.rounds) for one in found.waves] == [("held", 5), ("held", 5)]
    assert {one.outcome for one in found.outcomes} == {Outcome.APPLIED}
    assert said == [
        f"wave {number}: 1 tenant written; asking 1 question, every 30 s for 100s"
        for number in (1, 2)
    ]


def test_a_long_bake_says_every_five_minutes_that_it_goes_on(store: Path, tmp_path: Path) -> None:
    """With how often was asked, and how long it will be."""
    canary = Canary(sizes=("1",), bake="15m", max_worse="2%")
    _, said = rolled(store, tmp_path, canary)
    assert said[1:] == [
        "wave 1: asked 11 times, within the bounds; 10 min left",
        "wave 1: asked 21 times, within the bounds; 5 min left",
    ]


def test_what_could_not_be_taken_back_exactly_is_not_written(store: Path, tmp_path: Path) -> None:
    """Stored fields that the schema does not know, though their loss was acknowledged."""
    canary = Canary(sizes=("1",), bake="0s", max_worse="2%")
    with pytest.raises(RefusedError, match="once written over, they cannot be taken back"):
        rolled(store, tmp_path, canary, unknown={"newKnob": "1"})


def test_a_request_to_stop_ends_a_round_of_questions(store: Path, tmp_path: Path) -> None:
    """It is not waited for all the questions of a wave."""
    canary = Canary(sizes=("3",), bake="1h", max_worse="2%")
    found, said = rolled(store, tmp_path, canary, stop_when_told=True)
    assert [(one.verdict, one.rounds) for one in found.waves] == [("interrupted", 0)]
    assert {one.outcome for one in found.outcomes} == {Outcome.APPLIED}
    assert len(said) == 1
    assert found.unjudged == ("a", "b", "c")


def test_a_request_to_stop_ends_the_bake_at_once(store: Path, tmp_path: Path) -> None:
    """What is written stays, and nothing more is begun."""
    canary = Canary(sizes=("1",), bake="1h", max_worse="2%")
    found, _ = rolled(store, tmp_path, canary, stop_at=45.0)
    assert [(one.verdict, one.rounds) for one in found.waves] == [("interrupted", 2)]
    assert sorted(one.outcome.value for one in found.outcomes) == ["applied", "skipped", "skipped"]
    assert found.taken_back is None
