"""Record what questions score, so that a floor can be looked at before it is changed.

    python examples/record_scores.py [--engine embedded:scores.db] [--recency off] [--output FILE]

Loads examples/squad2-dev (1,049 paragraphs, the held-out ones left aside, creation times in the order
of `seq`), asks 400 of its questions through Evaluate, which writes nothing, under open floors, and
writes one line a question: no text, only the question's id in the data set. Half of them can be
answered from the corpus; of the others half are about a paragraph that does not answer them, half about
one that is held out. Takes some minutes, most of them for embedding.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knobctl import __version__, load_catalogue
from knobctl.engine.embedded import open_embedded
from knobctl.evidence.recording import Corpus, Heading, Label, Question, written
from knobctl.fusion import exact
from knobctl.knobs.fusion_setup import InForce

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knobctl.engine.embedded import EmbeddedEngine

DATA = Path(__file__).parent / "squad2-dev"
TENANT = "squad2-dev"
ASKED = {"answerable": 200, "adversarial_unanswerable": 100, "doc_removed": 100}
"""So many questions of each kind, the first by the SHA-256 of their ids."""
OPEN = 0.0001
TOP_K = 40
BATCH = 50


def main() -> None:
    """Load, ask, write."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--engine", default="embedded:scores.db")
    options.add_argument("--recency", choices=("on", "off"), default="on")
    options.add_argument("--output", type=Path, default=DATA / "scores.jsonl")
    asked = options.parse_args()
    corpus = load(asked.engine)
    catalogue = load_catalogue()
    knobs: dict[str, Any] = {
        "retrieval_min_score": OPEN,
        "gate_expanded_floor": OPEN,
        "ranker_timeout_ms": 30000,
    }
    if asked.recency == "off":
        knobs["recency_ranker_mode"] = "DISABLED"
    engine = open_embedded(asked.engine, catalogue, actor="record", clock=lambda: datetime.now(UTC))
    found = [*ask(engine, knobs)]
    described = engine.describe(TENANT, {})
    engine.close()
    values = catalogue.effective(knobs)
    force = InForce(catalogue, values, lambda name: exact(str(values[name])))
    heading = Heading(
        made_at=datetime.now(UTC).replace(microsecond=0),
        made_by=f"knobctl {__version__}",
        engine="embedded",
        tenant=TENANT,
        encoder=described["embedder"]["model"],
        corpus=Corpus(digest=corpus, documents=described["documents"], chunks=described["chunks"]),
        knobs=values,
        weights=force.weights,
        k=force.k,
        depths=force.depths,
        formula=catalogue.formula,
        floor=OPEN,
        expansion_floor=OPEN,
        top_k=TOP_K,
        questions=len(found),
    )
    asked.output.write_text("".join(written(heading, found)), encoding="utf-8")
    print(f"{asked.output}: {len(found)} questions")


def load(engine: str) -> str:
    """Load the paragraphs that are not held out, and give the SHA-256 of what was loaded."""
    first = datetime(2026, 1, 1, tzinfo=UTC)
    lines = [
        json.dumps(
            {
                "documentId": doc["id"],
                "text": doc["text"],
                "createdAt": (first + timedelta(minutes=doc["seq"])).isoformat(),
            }
        )
        for doc in read("docs.jsonl")
        if not doc["held_out"]
    ]
    text = "\n".join(lines) + "\n"
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as corpus:
        corpus.write(text)
        corpus.flush()
        command = ["engine", "load", corpus.name, "--tenant", TENANT, "--store", engine]
        subprocess.run([Path(sys.executable).parent / "knobctl", *command], check=True)
    return sha256(text.encode()).hexdigest()


def ask(engine: EmbeddedEngine, knobs: dict[str, Any]) -> Iterator[Question]:
    """Ask each question as AssembleContext would answer it."""
    questions = chosen()
    for start in range(0, len(questions), BATCH):
        batch = questions[start : start + BATCH]
        request = {"config": knobs, "queries": [question["text"] for question in batch]}
        answers = engine.evaluate(TENANT, request)["evaluations"]
        for question, answer in zip(batch, answers, strict=True):
            yield scored(question, answer)


def chosen() -> Sequence[dict[str, Any]]:
    """The questions, in the order of their ids."""
    ordered = sorted(read("queries.jsonl"), key=lambda one: sha256(one["id"].encode()).digest())
    picked = [
        question
        for kind, number in ASKED.items()
        for question in [one for one in ordered if one["kind"] == kind][:number]
    ]
    return sorted(picked, key=lambda one: one["id"])


def scored(question: dict[str, Any], answer: dict[str, Any]) -> Question:
    """What one answer says; the best chunk of the prompt where the query was expanded."""
    quality = answer["quality"]
    expanded = quality.get("expanded", False)
    results = answer.get("candidates", [])
    best = max(answer.get("chunks", []) if expanded else results, key=lambda hit: hit["score"])
    cosines = sorted((hit["cosine"] for hit in results[:TOP_K] if "cosine" in hit), reverse=True)
    live = [name for name, report in quality["rankers"].items() if report.get("rows")]
    return Question(
        id=question["id"],
        source=question["kind"],
        label=Label.ANSWERABLE if question["kind"] == "answerable" else Label.UNANSWERABLE,
        fused=best["score"],
        ranks=best["ranks"],
        live=tuple(name for name in ("vector", "bm25", "recency") if name in live),
        expanded=expanded,
        max_cosine=round(cosines[0], 6),
        nearest_cosine=round(quality["bestCosine"], 6),
        margin=round(cosines[0] - cosines[1], 6),
        hits=min(len(results), TOP_K),
    )


def read(name: str) -> Iterator[dict[str, Any]]:
    """The lines of a JSONL file of the data set."""
    with (DATA / name).open(encoding="utf-8") as file:
        yield from map(json.loads, file)


if __name__ == "__main__":
    main()
