"""`knobctl diagnose`: files, standard input, questions; exit codes; what goes together and what does not."""

from __future__ import annotations

import json
import shlex
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.knobs import load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.opening import open_services
from knobctl.server.retrieval.model import Text
from tests.cli.outputs import faults_of
from tests.cli.terminal import ROOT, on_terminal
from tests.diagnosis.answers import FIELD_REPORT, search

if TYPE_CHECKING:
    from tests.cli.inside import Inside
    from tests.running import Knobctl, Result

EXAMPLES = Path(__file__).parents[2] / "examples" / "answers"
SCHEMA = "output-diagnose.v1.schema.json"
ENGINE = ("--engine", "embedded:e.db")
TEXTS = {
    "gates": "Workflow approval gates stop a run until a person approves it.",
    "approvals": "An approval may be given by any member of the reviewers.",
    "pause": "The pause endpoint of a workflow stops it at the next step.",
    "canteen": "The canteen serves soup on Mondays.",
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds four texts of acme."""
    store = tmp_path_factory.mktemp("corpus") / "e.db"
    services = open_services(f"embedded:{store}", load_catalogue(), clock=lambda: datetime.now(UTC))
    assert services.ingest is not None
    services.ingest.upsert(
        local_caller("test"),
        "acme",
        [Text(document_id=name, text=text) for name, text in TEXTS.items()],
    )
    services.close()
    return store


@pytest.fixture
def loaded(inside: Inside, corpus: Path) -> Inside:
    """The command beside a copy of that store."""
    shutil.copytree(corpus.parent, inside.folder, dirs_exist_ok=True)
    return inside


def verdicts(result: Result) -> list[str]:
    """The verdicts of a JSON answer, which fits its schema."""
    assert (result.code, result.err) == (0, "")
    assert faults_of(result.json, SCHEMA) == []
    return [one["verdict"] for one in result.json["diagnoses"]]


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_every_recorded_answer_is_explained(inside: Inside, example: Path) -> None:
    """On one screen, with exit 0, whatever the verdict."""
    result = inside("diagnose", example)
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert len(lines) <= 30
    assert all(len(line) <= 80 or "knobctl " in line for line in lines)
    assert len(verdicts(inside("diagnose", example, "--format", "json"))) == 1


def test_an_answer_is_read_from_a_pipe(knobctl: Knobctl) -> None:
    """With - or with nothing at all."""
    answer = json.dumps(search(FIELD_REPORT))
    for arguments in (("diagnose",), ("diagnose", "-")):
        result = knobctl(*arguments, stdin=answer, PYTHONIOENCODING="utf-8", TERM="xterm")
        assert result.code == 0
        assert "▆" in result.out
        assert result.out.startswith("below_threshold: 12 candidates, the floor 0.7 removed all 12")


def test_a_narrow_encoding_gets_an_ascii_picture(knobctl: Knobctl) -> None:
    """Nothing that a log would mangle; nor on a dumb terminal."""
    answer = json.dumps(search(FIELD_REPORT))
    for environment in ({"PYTHONIOENCODING": "ascii"}, {"TERM": "dumb"}):
        assert knobctl("diagnose", stdin=answer, **environment).out.isascii()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("<html>", "answer.json is no JSON"),
        ("", "answer.json is empty"),
        ('{"query": "x"}', "is a request, not its answer"),
        ('{"results": []}\n{"results": []}\n', "holds several JSON documents"),
    ],
)
def test_what_is_no_answer_exits_4(inside: Inside, content: str, words: str) -> None:
    """Unreadable input, with what it must be; nothing on stdout."""
    inside.write("answer.json", content)
    result = inside("diagnose", "answer.json")
    assert (result.code, result.out) == (4, "")
    assert words in result.err


def test_a_file_that_is_not_there_exits_4(inside: Inside) -> None:
    """It cannot be read."""
    assert inside("diagnose", "none.json").code == 4
    assert "none.json cannot be read" in inside("diagnose", "none.json").err
    assert inside("diagnose", ".").code == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ask", "q"], "--ask needs the tenant"),
        (["a.json", "--min-score", "0.3"], "--min-score goes with --ask"),
        (["a.json", "--source", "s"], "--source goes with --ask"),
        (["a.json", "--save", "b.json"], "--save goes with --ask"),
        (
            ["--ask", "q", "--tenant", "acme", "--surface", "assemble", "--top-k", "3"],
            "takes neither",
        ),
        (["a.json", "b.json", "c.json"], "two are compared; there are more"),
        (["-", "-"], "standard input can be read once"),
        (["a.json", "--floor", "7"], "--floor 7 is above 1"),
        (["a.json", "--floor", "0"], "--floor 0 is no floor above 0"),
        (["--ask", "q", "--tenant", "acme", "--top-k", "501"], "501 is not in the range"),
        (["--ask", "q", "--tenant", "acme", "--min-score", "x"], "--min-score x is no number"),
        (["--ask", "q", "--tenant", "acme", "--min-score", "0"], "without it, Search's own 0.7"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(
    inside: Inside, arguments: list[str], words: str
) -> None:
    """Exit 2, before anything is asked."""
    for name in ("a.json", "b.json", "c.json"):
        inside.write(name, json.dumps(search(FIELD_REPORT)))
    result = inside("diagnose", *arguments, *ENGINE)
    assert (result.code, result.out) == (2, "")
    assert words in result.err


def test_on_a_terminal_nothing_waits_for_input(tmp_path: Path) -> None:
    """Without a file there is nothing to read: said at once."""
    folder = tmp_path / "work"
    folder.mkdir()
    with on_terminal(folder, "diagnose") as terminal:
        assert terminal.end(20) == 2
        assert "there is no answer to explain" in terminal.shown


def test_two_answers_are_compared(inside: Inside) -> None:
    """First whether they may be, then what differs, then each."""
    inside.write("a.json", json.dumps(search(FIELD_REPORT)))
    inside.write("b.json", json.dumps(search(FIELD_REPORT, 0.3, corpusVersion="c13")))
    text = inside("diagnose", "a.json", "b.json").out
    assert text.startswith("Not comparable: corpus versions c12 and c13")
    assert "\n1. a.json\n" in text
    assert "\n2. b.json\n" in text
    answer = inside("diagnose", "a.json", "b.json", "--format", "json")
    assert verdicts(answer) == ["floor-removed-all", "all-passed"]
    assert answer.json["comparison"]["verdict"] == "corpus-changed"


def test_a_what_if_is_in_text_and_data(inside: Inside) -> None:
    """Bounds where the bands leave it open."""
    inside.write("a.json", json.dumps(search(FIELD_REPORT)))
    text = " ".join(inside("diagnose", "a.json", "--floor", "0.33").out.split())
    assert "a floor of 0.33 keeps between 3 and 12 of 12 candidates" in text
    found = inside("diagnose", "a.json", "--floor", "0.33", "--format", "json")
    assert verdicts(found) == ["floor-removed-all"]
    assert found.json["diagnoses"][0]["what_if"] == {"floor": 0.33, "at_least": 3, "at_most": 12}


def test_the_engine_is_asked_and_its_answer_explained(loaded: Inside) -> None:
    """A question of Search inherits 0.7, and the command that goes on is ready to be pasted."""
    result = loaded(
        "diagnose",
        "--tenant",
        "acme",
        "--ask",
        "who approves?",
        "--surface",
        "search",
        *ENGINE,
        "--format",
        "json",
    )
    assert (result.code, faults_of(result.json, SCHEMA)) == (0, [])
    (one,) = result.json["diagnoses"]
    assert one["facts"]["floor"] == 0.7
    assert one["facts"]["tenant"] == "acme"
    assert {"search-own-floor", "second-retrieval"} <= {remark["id"] for remark in one["remarks"]}


def test_an_answer_is_saved_and_read_again(loaded: Inside) -> None:
    """What was explained live is explained from the file, and the two are of one corpus."""
    asking = ("diagnose", "--tenant", "acme", "--ask", "who approves?", *ENGINE)
    first = loaded(*asking, "--save", "a.json", "--format", "json")
    second = loaded("diagnose", "a.json", "--tenant", "acme", *ENGINE, "--format", "json")
    assert first.code == second.code == 0
    facts: list[Any] = [one.json["diagnoses"][0]["facts"] for one in (first, second)]
    assert facts[0] == facts[1]
    both = loaded(
        "diagnose",
        "a.json",
        "--tenant",
        "acme",
        "--ask",
        "who approves?",
        *ENGINE,
        "--format",
        "json",
    )
    assert both.json["comparison"]["verdict"] == "same-corpus"


def test_a_question_is_told_how_it_stands_beside_others(loaded: Inside) -> None:
    """The engine is asked for it; four chunks are too few, and that is said instead of a label."""
    asking = ("diagnose", "--tenant", "acme", "--ask", "who approves?", *ENGINE)
    (one,) = loaded(*asking, "--format", "json").json["diagnoses"]
    found = one["facts"]["relevance"]
    assert (found["tier"], found["probes"], found["chunks"]) == ("not_measurable", 99, 4)
    assert 0 < found["cosine"] < 1
    text = " ".join(loaded(*asking).out.split())
    assert "relevance not measurable over 4 chunks with 99 off-topic questions" in text


def test_search_is_asked_where_its_options_are_given(loaded: Inside) -> None:
    """A floor and topK of one's own."""
    result = loaded(
        "diagnose", "--tenant", "acme", "--ask", "who approves?", "--min-score", "0.01", "--top-k", "2",
        "--source", "default", *ENGINE, "--format", "json",
    )  # fmt: skip
    (one,) = result.json["diagnoses"]
    assert (one["surface"], one["facts"]["floor"], one["facts"]["returned"]) == ("search", 0.01, 2)
    assert "request-floor" in {remark["id"] for remark in one["remarks"]}


def test_a_question_to_an_empty_corpus_is_no_floor_problem(inside: Inside) -> None:
    """Nothing was loaded: the engine that was asked is named, and how to load; no log is to be read."""
    asking = ("diagnose", "--tenant", "acme", "--ask", "anything", *ENGINE)
    result = inside(*asking, "--format", "json")
    (one,) = result.json["diagnoses"]
    assert one["verdict"] == "no-results"
    assert "empty-corpus" in {remark["id"] for remark in one["remarks"]}
    text = inside(*asking).out
    said = " ".join(text.split())
    assert "c0: nothing was ever loaded for this tenant at embedded:e.db" in said
    assert "token" not in said
    command = text.splitlines()[-1].strip()
    assert command == "knobctl engine load FILE.jsonl --tenant acme --store embedded:e.db"
    inside.write("FILE.jsonl", '{"documentId": "a", "text": "Anything goes."}\n')
    assert inside(*shlex.split(command)[1:]).code == 0
    assert inside(*asking).out.startswith("ok: ")


def test_what_there_is_to_find_is_told_where_nothing_was_found(loaded: Inside) -> None:
    """A source that is not there, beside those that are."""
    result = loaded("diagnose", "--tenant", "acme", "--ask", "soup", "--source", "nowhere", *ENGINE)
    text = " ".join(result.out.split())
    assert "the tenant holds 4 chunks of 4 documents, in sources: default" in text
    assert "an empty corpus" not in text


def test_every_command_that_is_advised_is_one(loaded: Inside) -> None:
    """With the engine where the command asks it, and only there."""
    loaded.hold("acme", retrieval_min_score=0.7)
    asking = ("diagnose", "--tenant", "acme", "--ask", "soup", *ENGINE)
    for arguments in (asking, (*asking, "--surface", "search"), (*asking, "--source", "nowhere")):
        told = [line for line in loaded(*arguments).out.splitlines() if "knobctl " in line]
        for line in told:
            command = shlex.split(line[line.index("knobctl ") :])[1:]
            consent = ["--yes", "--reason", "advised"] if command[0] in {"set", "unset"} else []
            assert loaded(*command, *consent).code == 0, command


def test_an_engine_that_cannot_be_reached_exits_8(inside: Inside) -> None:
    """Nothing is explained that was not answered."""
    result = inside("diagnose", "--tenant", "acme", "--ask", "q", "--engine", "http://127.0.0.1:1")
    assert (result.code, result.out) == (8, "")


def test_the_set_of_the_tenant_explains_its_answers(inside: Inside) -> None:
    """Its weights, not the platform's; and what it holds now is held against what ran."""
    inside.hold("acme", retrieval_min_score=0.15, gate_expanded_floor=0.15)
    inside.write("a.json", json.dumps(search(FIELD_REPORT)))
    text = " ".join(inside("diagnose", "a.json", "--tenant", "acme", *ENGINE).out.split())
    assert "retrieval_min_score 0.15 does not govern Search" in text
    assert "assumed" not in text


def test_reading_an_answer_loads_nothing_of_the_engine(inside: Inside) -> None:
    """No numpy, no model, no store: a file is explained at once."""
    import subprocess
    import sys

    path = inside.write("a.json", json.dumps(search(FIELD_REPORT)))
    script = (
        "import sys; from knobctl.cli.edge import run; code = run(['diagnose', sys.argv[1]]); "
        "heavy = [name for name in ('numpy', 'onnxruntime', 'tantivy', 'requests', 'sqlite3', 'connectrpc', 'textual')"
        " if name in sys.modules]; print(heavy); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        cwd=inside.folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_question_is_asked_of_the_reference_engine_and_nothing_is_written(loaded: Inside) -> None:
    """Asking leaves no event."""
    loaded("diagnose", "--tenant", "acme", "--ask", "who approves?", *ENGINE)
    assert loaded.events() == []


def test_what_another_set_would_answer_is_compared_and_nothing_is_written(loaded: Inside) -> None:
    """Two diagnoses, of the live set and of it with other values; unset is a value too."""
    ask = ("diagnose", "--tenant", "acme", "--ask", "workflow approval gates", *ENGINE)
    result = loaded(*ask, "--with", "retrieval_min_score=0.99", "--format", "json")
    assert verdicts(result) == ["all-passed", "floor-removed-all"]
    assert [one["source"] for one in result.json["diagnoses"]] == [
        "the live set",
        "the live set with retrieval_min_score=0.99",
    ]
    assert result.json["comparison"]["verdict"] == "same-corpus"
    alike = loaded(
        *ask, "--with", "rrf_k=0", "--with", "recency_ranker_mode=ENABLED", "--format", "json"
    )
    assert len(set(verdicts(alike))) == 1
    text = loaded(*ask, "--with", "retrieval_min_score=0.99").out
    assert "floor      0.3 -> 0.99" in text
    assert loaded.events() == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--with", "rrf_k=30"), "--with goes with --ask"),
        (("--ask", "x", "--tenant", "acme", "--with", "rrf_k"), "must be KNOB=VALUE"),
        (("--ask", "x", "--tenant", "acme", "--with", "rrf_k=0.5"), "rrf_k is 0.5"),
        (("--ask", "x", "--tenant", "acme", "--with", "rrf_k2=1"), "is no knob"),
        (("--ask", "x", "--tenant", "acme", "--with", "rrf_k=30", "a.json"), "FILE does not go"),
        (
            ("--ask", "x", "--tenant", "acme", "--with", "rrf_k=30", "--surface", "search"),
            "--surface does not go",
        ),
    ],
)
def test_what_does_not_go_with_another_set_is_said(
    inside: Inside, arguments: tuple[str, ...], words: str
) -> None:
    """Before anybody is asked."""
    result = inside("diagnose", *arguments, *ENGINE)
    assert result.code == 2
    assert words in result.err
