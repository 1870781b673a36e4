"""Applying a fleet over loopback against a bare client of the same HTTP library, and what the journal costs.

Run: python -m tests.benchmarks.apply [TENANTS]

All are measured in turn in this one run, against one engine in a process of its own. For each tenant the
bare client sends what an apply sends, the write and the read of what was written, with as many threads,
each with a session of its own: no plan, no comparison, no journal.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests

from knobctl.changes.apply import Push, apply_plan
from knobctl.changes.journal import Heading
from knobctl.changes.limits import Limits
from knobctl.changes.outcomes import tally
from knobctl.changes.plan import Plan, plan_records, plan_tenant, schema_digest
from knobctl.changes.run_folder import RunFolder
from knobctl.engine.http import GET, UPDATE, HttpEngine
from knobctl.engine.network import Network
from knobctl.engine.reading import read_all
from knobctl.engine.tokens import GivenToken
from knobctl.knobs import load_catalogue
from tests.benchmarks.serving import served

if TYPE_CHECKING:
    from knobctl.changes.plan import TenantPlan

RATE_FLOOR = 0.7
JOURNAL_LIMIT = 1.05
ROUNDS = 3
WORKERS = (4, 16)
CATALOGUE = load_catalogue()


class Unjournaled:
    """Notes nothing: what an apply would take without a journal."""

    run = "bare"
    fault = None

    def intend(self, *_intents: object) -> None:
        """Nothing."""

    def tell(self, _outcome: object) -> None:
        """Nothing."""


def bare(url: str, token: str, tenants: list[TenantPlan], workers: int) -> float:
    """Write and read each tenant; the seconds that it takes."""
    own = threading.local()

    def call(method: str, tenant: str, body: dict[str, Any], key: str | None) -> Any:
        if not hasattr(own, "session"):
            own.session = requests.Session()
            own.session.trust_env = False
        headers = {"Authorization": f"Bearer {token}", "X-Tenant-Id": tenant}
        headers |= {"Idempotency-Key": key} if key else {}
        answer = own.session.post(f"{url}/{method}", json=body, headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        return json.loads(answer.content)

    def one(tenant: TenantPlan) -> None:
        body = {
            "config": {"rrfK": tenant.desired["rrf_k"], "mmrLambda": tenant.desired["mmr_lambda"]},
            "expectedRevision": tenant.base_revision,
            "reason": "bare",
        }
        call(UPDATE, tenant.tenant, body, f"{tenant.tenant}-{tenant.base_revision}")
        call(GET, tenant.tenant, {}, None)

    start = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, tenants))
    return time.perf_counter() - start


def ours(engine: HttpEngine, tenants: list[TenantPlan], workers: int, folder: Path | None) -> float:
    """Apply; the seconds that it takes, the journal's beginning and end included."""
    start = time.perf_counter()
    run = f"{time.monotonic_ns() & 0xFFFFFFFF:08x}"
    journal: Any = RunFolder(folder).new(run) if folder else Unjournaled()
    if folder:
        plan = Plan(
            engine=engine.name,
            fleet=None,
            schema_digest=schema_digest(CATALOGUE),
            managed=len(tenants),
            limits=Limits(),
            tenants=tuple(tenants),
        )
        heading = Heading(
            run=run, command="apply", started_at="", made_by="", actor="", folder="", engine="",
            place="", fleet=None, reason="",
        )  # fmt: skip
        journal.begin(heading.as_record(), plan=plan_records(plan))
    way = Push(
        engine=engine,
        catalogue=CATALOGUE,
        reason="ours",
        pause=time.sleep,
        journal=journal,
        parallelism=workers,
    )
    outcomes = apply_plan(tenants, way, lambda _: None)
    assert tally(outcomes) == {"applied": len(tenants)}, tally(outcomes)
    if folder:
        journal.end(left=0, ended_at="", outcomes=tally(outcomes))
        journal.close()
    return time.perf_counter() - start


def measure(folder: Path, count: int) -> None:
    """Print each ratio beside its limit."""
    with (
        served(f"embedded:{folder / 'engine.db'}") as (url, token),
        closing(
            HttpEngine(
                url, CATALOGUE, tokens=GivenToken(token, "here"), network=Network(), notice=print
            )
        ) as engine,
    ):
        names = [f"t{number:05}" for number in range(count)]
        turns = 0

        def planned() -> list[TenantPlan]:
            nonlocal turns
            turns += 1
            live = read_all(engine, names)
            sets = {name: {"rrf_k": 1 + turns, "mmr_lambda": 0.5} for name in names}
            return [plan_tenant(CATALOGUE, live[name], sets[name]) for name in names]

        for workers in WORKERS:
            took: dict[str, list[float]] = {"bare": [], "without a journal": [], "apply": []}
            for turn in range(ROUNDS + 1):
                for name, times in took.items():
                    tenants = planned()
                    match name:
                        case "bare":
                            seconds = bare(url, token, tenants, workers)
                        case "apply":
                            seconds = ours(engine, tenants, workers, folder / "runs")
                        case _:
                            seconds = ours(engine, tenants, workers, None)
                    if turn:
                        times.append(seconds)
            median = {name: statistics.median(times) for name, times in took.items()}
            rates = ", ".join(
                f"{name} {2 * count / seconds:,.0f} requests/s" for name, seconds in median.items()
            )
            print(f"{workers} workers, {count:,} tenants: {rates}")
            rate = median["bare"] / median["apply"]
            print(
                f"{'holds' if rate >= RATE_FLOOR else 'FALLS SHORT':<12}apply to a bare client, "
                f"{workers} workers: {rate:.3f} (at least {RATE_FLOOR})"
            )
            cost = median["apply"] / median["without a journal"]
            print(
                f"{'holds' if cost <= JOURNAL_LIMIT else 'FALLS SHORT':<12}apply with its journal to one without, "
                f"{workers} workers: {cost:.3f} (at most {JOURNAL_LIMIT})"
            )


def main() -> None:
    """Measure with as many tenants as the command line says."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    with tempfile.TemporaryDirectory() as name:
        measure(Path(name), count)


if __name__ == "__main__":
    main()
