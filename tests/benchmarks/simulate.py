"""Simulating a change over the questions of squad2-dev, against asking them under one set.

Run: python -m tests.benchmarks.simulate [FOLDER] [QUESTIONS]

The embedded engine through its client, as `knobctl simulate` asks it, in this process: the floor raised from 0.30
to 0.34, with qrels, so that of judged questions every candidate comes back. One set is the same request with the
first set alone. Processor times, in turn, the result cache off; the first turn warms up. A FOLDER keeps the store
for the next run: embedding the paragraphs takes minutes.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from knobctl.engine.embedded import open_embedded
from knobctl.engine.evaluating import evaluated_under
from knobctl.evidence.both_sets import BothSets, batches, request_for, simulated
from knobctl.evidence.harvest.asked import Question
from knobctl.evidence.harvest.harvesting import HeldOut
from knobctl.evidence.qrels import read_qrels
from knobctl.evidence.simulating import Asked, Judged
from knobctl.knobs import load_catalogue
from tests.benchmarks.timing import line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knobctl.engine.interface import Engine

DATA = Path(__file__).parents[2] / "examples/squad2-dev"
TENANT = "squad2-dev"
TURNS = 3
PLAIN = {"result_cache_mode": "DISABLED"}


def load(store: Path) -> None:
    """Take in the paragraphs that are not held out."""
    from knobctl.server.auth import local_caller
    from knobctl.server.opening import open_services
    from knobctl.server.retrieval.model import Text

    first = datetime(2026, 1, 1, tzinfo=UTC)
    docs = [json.loads(one) for one in (DATA / "docs.jsonl").read_text("utf-8").splitlines()]
    texts = [
        Text(
            document_id=one["id"],
            text=one["text"],
            created_at=(first + timedelta(minutes=one["seq"])).isoformat(),
        )
        for one in docs
        if not one["held_out"]
    ]
    services = open_services(f"embedded:{store}", load_catalogue(), clock=lambda: datetime.now(UTC))
    assert services.ingest
    for at in range(0, len(texts), 200):
        services.ingest.upsert(local_caller("bench"), TENANT, texts[at : at + 200])
    services.close()


def questions(most: int) -> list[tuple[Question, Asked]]:
    """The questions of the data set, each once."""
    held = HeldOut()
    for one in (DATA / "queries.jsonl").read_text("utf-8").splitlines():
        held.add(Question(question=json.loads(one)["text"], source="question_list"))
    found = sorted(held.questions.values(), key=lambda one: one.question_id)[:most]
    return [(one, Asked(id=one.question_id, source=one.source)) for one in found]


def seconds(work: Callable[[], object]) -> float:
    """How much of the processor it takes."""
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    """Print the ratio beside its limit."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        store = folder / "simulate.db"
        if not store.exists():
            load(store)
        asked = questions(int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)
        clock = lambda: datetime.now(UTC)  # noqa: E731
        with closing(
            open_embedded(f"embedded:{store}", load_catalogue(), actor="bench", clock=clock)
        ) as engine:
            turns = [measured(engine, asked) for _ in range(TURNS + 1)][1:]
        one, two = (statistics.median(column) for column in zip(*turns, strict=True))
        print(f"{len(asked):,} questions: one set {one:.1f} s, two sets {two:.1f} s of processor")
        print(line("simulating two sets to asking one", two / one, 1.2))


def measured(engine: Engine, asked: list[tuple[Question, Asked]]) -> tuple[float, float]:
    """The time of one set and of two."""
    both = BothSets(
        engine=engine,
        catalogue=load_catalogue(),
        tenant=TENANT,
        before=PLAIN,
        after={**PLAIN, "retrieval_min_score": 0.34},
        judged=Judged(qrels=read_qrels(DATA / "qrels.tsv", DATA / "queries.jsonl")),
        parallelism=2,
        stop=Event(),
    )
    return seconds(lambda: alone(both, asked)), seconds(
        lambda: simulated(both, asked, kind="embedded", tell=lambda: None)
    )


def alone(both: BothSets, asked: list[tuple[Question, Asked]]) -> object:
    """The same calls under the first set."""

    def ask(batch: Sequence[tuple[Question, Asked]]) -> object:
        request = request_for(both, batch)
        return evaluated_under(both.engine, both.tenant, both.configs[:1], request)

    with ThreadPoolExecutor(both.parallelism) as pool:
        return list(pool.map(ask, batches(both, asked)))


if __name__ == "__main__":
    main()
