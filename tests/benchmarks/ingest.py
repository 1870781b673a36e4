"""Ingest against the throughput of its embedder alone.

Run: python -m tests.benchmarks.ingest [TEXTS]

The same paragraphs of examples/squad2-dev are taken in (looked at, cut, embedded, written to a store, indexed) and
merely embedded, in turn, batch by batch as `knobctl engine load` has them. A second load of the same texts, none of
them changed, is timed too.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from knobctl.cli.engine_load import BATCH_TEXTS
from knobctl.knobs import load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.opening import open_services
from knobctl.server.retrieval.minilm import MiniLm
from knobctl.server.retrieval.model import Text
from knobctl.server.retrieval.pieces import split
from tests.benchmarks.timing import line

if TYPE_CHECKING:
    from collections.abc import Callable

PARAGRAPHS = Path(__file__).parents[2] / "examples/squad2-dev/docs.jsonl"
LEAST_SHARE = 0.9
ME = local_caller("bench")


def seconds(task: Callable[[], object]) -> float:
    """How long a task takes."""
    begun = time.perf_counter()
    task()
    return time.perf_counter() - begun


def main(wanted: int) -> None:
    """Print chunks a second, and the share that ingest reaches."""
    found = [json.loads(one)["text"] for one in PARAGRAPHS.read_text().split("\n")[:wanted] if one]
    texts = [Text(document_id=f"d{number}", text=text) for number, text in enumerate(found)]
    alone = MiniLm()
    alone.embed(["warm"])
    embedding: list[float] = []
    ingesting: list[float] = []
    pieces = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(
            open_services(
                f"embedded:{folder}/e.db", load_catalogue(), clock=lambda: datetime.now(UTC)
            )
        ) as services,
    ):
        ingest = services.ingest
        assert ingest
        ingest.ready()
        batches = [
            texts[start : start + BATCH_TEXTS] for start in range(0, len(texts), BATCH_TEXTS)
        ]
        for turn, batch in enumerate(batches):
            cut = [piece for one in batch for piece in split(one.text, alone.longest)]
            pieces += len(cut)
            tasks: list[tuple[list[float], Callable[[], object]]] = [
                (embedding, partial(alone.embed, cut)),
                (ingesting, partial(ingest.upsert, ME, "acme", batch)),
            ]
            for times, task in tasks if turn % 2 else tasks[::-1]:
                times.append(seconds(task))
        again = seconds(lambda: [ingest.upsert(ME, "acme", batch) for batch in batches])
    print(f"{len(texts)} paragraphs, {pieces} chunks, batches of {BATCH_TEXTS}")
    print(f"embedding alone    {pieces / sum(embedding):8.1f} chunks/s")
    print(f"ingest             {pieces / sum(ingesting):8.1f} chunks/s")
    print(f"ingest, unchanged  {pieces / again:8.0f} chunks/s")
    ratio = statistics.median(
        whole / part for whole, part in zip(ingesting, embedding, strict=True)
    )
    print(line("time of ingest to time of embedding", ratio, round(1 / LEAST_SHARE, 3)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1216)
