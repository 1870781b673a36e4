"""What each relevance floor costs on real questions: run it, read the table.

    python examples/floors.py [--engine embedded:floors.db] [--questions N]

Loads examples/squad2-dev (1,049 paragraphs, the held-out ones left aside) into the engine, with
creation times in the order of `seq`; asks every answerable question once, through Evaluate, which
writes nothing; then applies the floors to the candidates. Beside each share stands what was measured
on the same data outside this engine (expected.json). Takes some minutes, most of them for embedding.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knobctl import load_catalogue
from knobctl.engine.embedded import open_embedded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

DATA = Path(__file__).parent / "squad2-dev"
TENANT = "squad2-dev"
FLOORS = (0.15, 0.30, 0.33, 0.34, 0.5, 0.66, 0.70)
DEPTH = 32
KNOBS = {
    "retrievalVectorTopK": DEPTH,
    "retrievalBm25TopK": DEPTH,
    "retrievalRecencyTopK": DEPTH,
    "gateMode": "DISABLED",
    "rankerTimeoutMs": 30000,
}
BATCH = 100


def main() -> None:
    """Load, ask, print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--engine", default="embedded:floors.db")
    options.add_argument("--questions", type=int, help="only the first N questions")
    asked = options.parse_args()
    load(asked.engine)
    answers = [*islice(ask(asked.engine), asked.questions)]
    expected = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))
    print("\n".join(table(answers, expected)))


def load(engine: str) -> None:
    """Load the paragraphs that are not held out; a second run finds them unchanged."""
    first = datetime(2026, 1, 1, tzinfo=UTC)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as corpus:
        for doc in read("docs.jsonl"):
            if not doc["held_out"]:
                created = (first + timedelta(minutes=doc["seq"])).isoformat()
                line = {"documentId": doc["id"], "text": doc["text"], "createdAt": created}
                corpus.write(json.dumps(line) + "\n")
        corpus.flush()
        command = ["engine", "load", corpus.name, "--tenant", TENANT, "--store", engine]
        subprocess.run([Path(sys.executable).parent / "knobctl", *command], check=True)


def ask(engine: str) -> Iterator[dict[str, tuple[float, tuple[str, ...]]]]:
    """For each answerable question, its relevant documents among the candidates: best score, and who found it."""
    with (DATA / "qrels.tsv").open(encoding="utf-8", newline="") as file:
        relevant: dict[str, set[str]] = {}
        for row in csv.DictReader(file, delimiter="\t"):
            relevant.setdefault(row["query_id"], set()).add(row["doc_id"])
    questions = [query for query in read("queries.jsonl") if query["kind"] == "answerable"]
    opened = open_embedded(
        engine, load_catalogue(), actor="floors", clock=lambda: datetime.now(UTC)
    )
    for batch in batches(questions, BATCH):
        request = {"config": KNOBS, "queries": [query["text"] for query in batch]}
        answered = opened.evaluate(TENANT, request)["evaluations"]
        for query, evaluation in zip(batch, answered, strict=True):
            yield best_hits(evaluation.get("candidates", []), relevant[query["id"]])
    opened.close()


def best_hits(
    candidates: Iterable[dict[str, Any]], relevant: set[str]
) -> dict[str, tuple[float, tuple[str, ...]]]:
    """The best candidate of each relevant document."""
    found: dict[str, tuple[float, tuple[str, ...]]] = {}
    for hit in candidates:  # best first
        if hit["documentId"] in relevant:
            found.setdefault(hit["documentId"], (hit["score"], tuple(sorted(hit["ranks"]))))
    return found


def table(
    answers: Sequence[dict[str, tuple[float, tuple[str, ...]]]], expected: Any
) -> Iterator[str]:
    """One line per floor."""
    asked = len(answers)
    best = [max(hits.values(), default=(0.0, ())) for hits in answers]
    classes = Counter(found_by for _, found_by in best)
    yield f"{asked} answerable questions; no ranker returned the relevant document of {classes[()]}"
    yield f"rankers vector, bm25, recency; {DEPTH} rows each; k 60, equal weights"
    yield ""
    yield "floor   lose every relevant document     measured elsewhere   best match vector-only, lost"
    for floor in FLOORS:
        lost = sum(score < floor for score, _ in best)
        alone = [score < floor for score, found_by in best if found_by == ("vector",)]
        share = expected["lost_all_relevant"][str(floor)]
        yield (
            f"{floor:<6.2f}  {lost:>5} of {asked} ({lost / asked:>6.1%})          "
            f"{share['share']:>6.1%}               {sum(alone)} of {len(alone)}"
        )


def read(name: str) -> Iterator[dict[str, Any]]:
    """The lines of a JSONL file of the data set."""
    with (DATA / name).open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Consecutive parts of a list."""
    return (items[start : start + size] for start in range(0, len(items), size))


if __name__ == "__main__":
    main()
