"""Plan files and journals of fleets: what writing and reading them takes, and how that grows.

Run: python -m tests.benchmarks.plan_files [TENANTS...]

Every tenant changes two of ten knobs and has one warning. Each size is measured in a process of its own, so
that its peak of memory is its own; times are processor times, which other work on the machine moves less.
The digest is compared with that of the library over the same plan, in the same process.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import resource
import sys
import tempfile
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rfc8785

from knobctl.changes.journal import Heading, Intent
from knobctl.changes.limits import Limits
from knobctl.changes.outcomes import Outcome, TenantOutcome
from knobctl.changes.plan import Plan, plan_records, plan_tenant, schema_digest
from knobctl.changes.plan_writing import PlanFile
from knobctl.changes.planfile import read_plan, recorded_plan
from knobctl.changes.run_folder import RunFolder
from knobctl.changes.sealing import digest
from knobctl.documents.files import write_atomically
from knobctl.engine.interface import LiveSet
from knobctl.finding import Finding, Location, Severity
from knobctl.knobs import load_catalogue

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (1_000, 10_000, 100_000)
GROWTH_LIMIT = 1.35
"""How much longer a tenant may take where there are ten times as many."""
DIGEST_LIMIT = 0.5
CATALOGUE = load_catalogue()
HELD = {
    "retrieval_vector_top_k": 40,
    "retrieval_bm25_top_k": 40,
    "rrf_k": 60,
    "gate_min_confident": 0.5,
    "gate_expanded_floor": 0.3,
    "assembly_max_chunks": 12,
    "assembly_token_budget": 6000,
    "mmr_lambda": 0.7,
    "ranker_timeout_ms": 800,
}


def plan_of(count: int) -> Plan:
    """A plan in which as many tenants change."""
    tenants = []
    for number in range(count):
        name = f"t{number:06}"
        held = CATALOGUE.canonical({**HELD, "retrieval_min_score": 0.1 + number % 20 / 100})
        warning = Finding(
            rule="floor-diverges-from-expanded-floor",
            severity=Severity.WARNING,
            message="the floors differ\nlost: results of expanded queries from 0.25 up to 0.3",
            hint="the same for both",
            tenant=name,
            field_path="retrieval_min_score",
            value=0.25,
            primary=Location(f"tenants/{name}.yaml", 5, 24, 5, 28),
        )
        tenants.append(
            plan_tenant(
                CATALOGUE,
                LiveSet(tenant=name, knobs=held, revision="r1"),
                {**held, "rrf_k": 31 + number % 5, "retrieval_min_score": 0.35},
                hazards=(warning,),
            )
        )
    return Plan(
        engine="http://127.0.0.1:1",
        fleet="production",
        schema_digest=schema_digest(CATALOGUE),
        managed=count,
        limits=Limits(),
        tenants=tuple(tenants),
    )


def run_of(plan: Plan, folder: Path) -> None:
    """The journal of a run that wrote every tenant."""
    heading = Heading(
        run="cafe0001", command="apply", started_at="", made_by="", actor="", folder="", engine="",
        place="", fleet=None, reason="",
    )  # fmt: skip
    with closing(RunFolder(folder).new("cafe0001")) as journal:
        journal.begin(heading.as_record(), plan=plan_records(plan))
        for start in range(0, len(plan.tenants), 64):
            together = plan.tenants[start : start + 64]
            journal.intend(
                *(Intent.of(one, idempotency_key="k" * 48, reason="why") for one in together)
            )
            for one in together:
                journal.tell(
                    TenantOutcome(
                        tenant=one.tenant,
                        outcome=Outcome.APPLIED,
                        revision="r2",
                        changed_field_paths=one.changed_field_paths,
                    )
                )
        journal.end(left=0, ended_at="", outcomes={"applied": len(plan.tenants)})


def timed(what: Callable[[], Any]) -> tuple[Any, float]:
    """What comes of it, and the processor seconds."""
    start = time.process_time()
    found = what()
    return found, time.process_time() - start


def peak() -> float:
    """MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def written(count: int, folder: Path, told: Any) -> None:
    """Write a plan file and a journal."""
    plan = plan_of(count)
    before = peak()
    file = PlanFile(plan, made_at="2026-11-30T00:00:00+00:00", made_by="knobctl")
    _, plan_s = timed(lambda: write_atomically(folder / "plan.json", file.pieces()))
    _, journal_s = timed(lambda: run_of(plan, folder / "runs"))
    some = [tenant.content() for tenant in plan.tenants[:1000]]
    _, ours = timed(lambda: [digest(one) for one in some])
    _, theirs = timed(lambda: [hashlib.sha256(rfc8785.dumps(one)).hexdigest() for one in some])
    told.send(
        {"plan written": plan_s, "journal written": journal_s}
        | {"digest": ours / theirs, "more": peak() - before}
    )


def read(_count: int, folder: Path, told: Any) -> None:
    """Read the plan file, and the journal as a list of runs, one run and a resume read it."""
    path = folder / "plan.json"
    _, plan_s = timed(lambda: read_plan(path.read_bytes(), "plan.json", CATALOGUE))
    plan_peak = peak()
    runs = RunFolder(folder / "runs")
    _, listed_s = timed(lambda: list(runs.all()))
    run, run_s = timed(lambda: runs.read("cafe0001"))
    _, recorded_s = timed(
        lambda: recorded_plan(run.plan, run.planned_tenants(), "journal", CATALOGUE)
    )
    told.send(
        {"plan read": plan_s, "run listed": listed_s, "run read": run_s}
        | {"its plan read": recorded_s, "plan peak": plan_peak, "peak": peak()}
    )


def apart(what: Callable[[int, Path, Any], None], count: int, folder: Path) -> dict[str, float]:
    """What a process of its own tells."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=what, args=(count, folder, there))
    process.start()
    found: dict[str, float] = here.recv()
    process.join()
    return found


def verdict(holds: bool) -> str:
    """As the other benchmarks say it."""
    return f"{'holds' if holds else 'FALLS SHORT':<12}"


def main() -> None:
    """Measure at the sizes that the command line says."""
    sizes = [int(text) for text in sys.argv[1:]] or SIZES
    each: dict[int, dict[str, float]] = {}
    for count in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            wrote = apart(written, count, folder)
            took = apart(read, count, folder)
            size = (folder / "plan.json").stat().st_size / 2**20
            noted = (folder / "runs" / "cafe0001.jsonl").stat().st_size / 2**20
        ratio, more = wrote.pop("digest"), wrote.pop("more")
        plan_peak, whole_peak = took.pop("plan peak"), took.pop("peak")
        each[count] = {**wrote, **took}
        times = ", ".join(f"{what} {seconds:.2f} s" for what, seconds in each[count].items())
        print(f"{count:,} tenants, {size:.1f} MiB of plan, {noted:.1f} MiB of journal: {times}")
        print(
            f"{count:,} tenants: writing takes {more:.0f} MiB beside the plan; reading peaks at "
            f"{plan_peak:.0f} MiB, with the journal at {whole_peak:.0f} MiB"
        )
        print(
            f"{verdict(ratio <= DIGEST_LIMIT)}digest to the library's: {ratio:.2f} (at most {DIGEST_LIMIT})"
        )
    for few, many in pairwise(sizes):
        for what, seconds in each[many].items():
            growth = (seconds / many) / (each[few][what] / few)
            print(
                f"{verdict(growth <= GROWTH_LIMIT)}{what}, a tenant of {many:,} to one of {few:,}: "
                f"{growth:.2f} (at most {GROWTH_LIMIT})"
            )


if __name__ == "__main__":
    main()
