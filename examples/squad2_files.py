"""Lay the judged corpus out as the commands read it: corpus.jsonl, questions.txt, labels.jsonl and qrels.tsv.

    python examples/squad2_files.py [FOLDER]

From examples/squad2-dev: the paragraphs that are not held out, with creation times in the order of `seq`; its
questions; which of them the rest of the corpus can answer, and by which paragraph. A text that stands there
twice with different labels is left out.
"""

from __future__ import annotations

import csv
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

DATA = Path(__file__).parent / "squad2-dev"
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def main() -> None:
    """Write the four files."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    kept = [doc for doc in read("docs.jsonl") if not doc["held_out"]]
    labels: dict[str, set[bool]] = {}
    queries = read("queries.jsonl")
    for query in queries:
        labels.setdefault(query["text"], set()).add(query["kind"] == "answerable")
    asked = [query for query in queries if len(labels[query["text"]]) == 1]
    texts = {doc["id"] for doc in kept}
    known = {query["id"] for query in asked}
    with (DATA / "qrels.tsv").open(encoding="utf-8", newline="") as file:
        judged = [
            row
            for row in csv.DictReader(file, delimiter="\t")
            if row["doc_id"] in texts and row["query_id"] in known
        ]
    write_lines(folder / "corpus.jsonl", map(text_of, kept))
    write_lines(folder / "queries.jsonl", ({"id": one["id"], "text": one["text"]} for one in asked))
    write_lines(
        folder / "labels.jsonl",
        (
            {"question": text, "answerable": stated == {True}}
            for text, stated in labels.items()
            if len(stated) == 1
        ),
    )
    with (folder / "qrels.tsv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["query_id", "iteration", "doc_id", "relevance"])
        writer.writerows([row["query_id"], 0, row["doc_id"], row["relevance"]] for row in judged)
    print(f"{len(kept):,} paragraphs, {len(asked):,} questions, {len(judged):,} judgements")


def text_of(doc: dict[str, Any]) -> dict[str, str]:
    """A paragraph as `engine load` reads it."""
    created = FIRST + timedelta(minutes=doc["seq"])
    return {"documentId": doc["id"], "text": doc["text"], "createdAt": created.isoformat()}


def read(name: str) -> list[dict[str, Any]]:
    """The lines of a file of the data set."""
    with (DATA / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_lines(path: Path, values: Iterable[dict[str, Any]]) -> None:
    """Write JSON Lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(value) + "\n" for value in values)


if __name__ == "__main__":
    main()
