"""Replaying 338 questions over 27,980 chunks, against embedding them and one matrix product.

Run: python -m tests.benchmarks.replay [FOLDER]

The embedded engine through its client, as `knobctl bench replay` asks it, in this process; the peer embeds the
same questions with the same model in one call and scores them against all vectors in one product. Wall times,
in turn; the first turn warms up. The tenant's set keeps no results, so that every turn ranks anew, as a replay
of questions that nobody asked before does. The chunks are pairs of sentences of the judged corpus with their own vectors,
so that questions are matched as they are in earnest. A FOLDER keeps the store for the next run: embedding them
takes minutes.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import numpy as np

from knobctl.engine.embedded import open_embedded
from knobctl.evidence.harvest.asked import Question
from knobctl.evidence.replaying import Replay, heading_for, replayed
from knobctl.knobs import load_catalogue
from knobctl.server.retrieval.embedding import open_embedder
from tests.benchmarks.search import engine, questions, sentences
from tests.benchmarks.timing import line

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNKS, QUESTIONS, TURNS = 27_980, 338, 5
BLOCK = 2_000


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    """Print the ratio beside its limit."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        embedder = open_embedder()
        texts = sentences()
        with engine(folder, embedder) as (_, candidates, store):
            if not store.holds():
                chance = random.Random(3)
                pairs = [
                    f"{chance.choice(texts)} {chance.choice(texts)}"[:200] for _ in range(CHUNKS)
                ]
                blocks = (pairs[at : at + BLOCK] for at in range(0, CHUNKS, BLOCK))
                store.write(((block, embedder.embed(block)) for block in blocks), CHUNKS)
            candidates.follow("acme")
            moment = candidates._tenants["acme"].moment
            assert moment
            matrix = np.array(moment.matrix)
        asked = [
            Question(question=text, source="question_list") for text in questions()[:QUESTIONS]
        ]
        words = [one.question for one in asked]

        def peer() -> object:
            return embedder.embed(words) @ matrix.T

        catalogue = load_catalogue()
        clock = lambda: datetime.now(UTC)  # noqa: E731
        with closing(
            open_embedded(f"embedded:{folder / 'engine.db'}", catalogue, actor="bench", clock=clock)
        ) as client:
            way = Replay(
                engine=client,
                catalogue=catalogue,
                live=client.read("acme")._replace(knobs={"result_cache_mode": "DISABLED"}),
                top_k=40,
                parallelism=4,
                stop=Event(),
            )
            heading = heading_for(
                way, kind="embedded", made_at=datetime.now(UTC), questions=QUESTIONS
            )

            def replay() -> object:
                return list(replayed(way, heading, asked, lambda _: None))

            turns = [(seconds(peer), seconds(replay)) for _ in range(TURNS + 1)][1:]
        base, ours = (statistics.median(column) for column in zip(*turns, strict=True))
        print(f"{QUESTIONS} questions: peer {base:.2f} s, replay {ours:.2f} s")
        print(line("replaying to embedding and one product", ours / base, 1.6))


if __name__ == "__main__":
    main()
