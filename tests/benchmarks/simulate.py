"""Simulating a change over the questions of squad2-dev, against asking them under one set.

Run: python -m tests.benchmarks.simulate [FOLDER] [QUESTIONS]

The embedded engine through its client, as `knobctl simulate` asks it, in this process: the floor raised from 0.30
to 0.34, with qrels, so that what answers a question is looked for among its candidates. One set is the same without
the second. Processor times, in turn, the result cache off; the first turn warms up. A FOLDER keeps the store
for the next run: embedding the paragraphs takes minutes.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from knobctl.engine.embedded import open_embedded
from knobctl.evidence.both_sets import BothSets, simulated
from knobctl.evidence.harvest.asked import Question, question_id
from knobctl.evidence.harvest.harvesting import HeldOut
from knobctl.evidence.qrels import read_qrels
from knobctl.evidence.simulating import Asked, Judged, Simulated
from knobctl.knobs import load_catalogue
from tests.benchmarks.timing import line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
    gc.set_threshold(50_000, 20, 50)  # as the program itself has it
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
        judged=known(),
        parallelism=2,
        stop=Event(),
    )
    alone = replace(both, engine=OneSet(engine))  # type: ignore[arg-type]  # so much of an engine as is asked
    one, two = (seconds(lambda: asking(each, asked)) for each in (alone, both))  # noqa: B023  called at once
    return one, two


def known() -> Judged:
    """What answers which question, and which questions nothing answers: those of a paragraph that is held out, too."""
    kinds: dict[str, set[bool]] = {}
    for one in map(json.loads, (DATA / "queries.jsonl").read_text("utf-8").splitlines()):
        kinds.setdefault(question_id(one["text"]), set()).add(one["kind"] == "answerable")
    return Judged(
        qrels=read_qrels(DATA / "qrels.tsv", DATA / "queries.jsonl"),
        labels={id_: True in found for id_, found in kinds.items() if len(found) == 1},
    )


def asking(both: BothSets, asked: list[tuple[Question, Asked]]) -> Simulated:
    """What the command does."""
    return simulated(both, asked, kind="embedded", tell=lambda: None)


class OneSet:
    """An engine that is asked under the first set alone, its answer taken for both."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.describe = engine.describe
        self.name = engine.name

    def evaluate(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        first = {key: value for key, value in request.items() if key != "furtherConfigs"}
        answer = self._engine.evaluate(tenant, first)
        return {**answer, "further": [answer]}


if __name__ == "__main__":
    main()
