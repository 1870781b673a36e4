"""`knobctl bench judge` and `bench sweep`: labels, tables in every format, two reports side by side."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.evidence.harvest.asked import question_id
from knobctl.evidence.rates import exact_interval
from knobctl.evidence.recording import JudgedBy, Judging, Label, Question, Why, written
from tests.cli.outputs import faults_of
from tests.cli.test_bench_replay import recording_at
from tests.evidence.test_rates import PUBLISHED

if TYPE_CHECKING:
    from knobctl.evidence.recording import Heading
    from tests.cli.inside import Inside
    from tests.running import Knobctl

EXAMPLES = Path(__file__).parents[2] / "examples" / "squad2-dev"
RUN = PUBLISHED["run"]


def heading(size: int) -> Heading:
    """That of a shipped report, for so many questions."""
    shipped = recording_at(EXAMPLES / "scores.jsonl").heading
    configured = {"no_match_min_cosine": RUN["configured_floor"], "retrieval_min_score": 0.3}
    made_at = datetime(2026, 9, 20, tzinfo=UTC)
    judging = Judging(by=JudgedBy.MODELS, digest="0" * 64, judge_model=RUN["judge_model"])
    return replace(shipped, questions=size, configured=configured, made_at=made_at, judging=judging)


def write_report(path: Path, questions: list[Question], **other: Any) -> Path:
    """A report of some questions."""
    lines = written(replace(heading(len(questions)), **other), questions)
    path.write_text("".join(lines))
    return path


def published() -> list[Question]:
    """The reconstructed rows of the given page."""
    return [
        Question(
            id=id_,
            source=source,
            fused=None,
            why=Why.FAILED,
            max_cosine=score,
            label=Label.ANSWERABLE if label else Label.UNANSWERABLE,
        )
        for id_, source, score, label in PUBLISHED["reconstruction"]["rows"]
    ]


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """The report of the given page."""
    return write_report(tmp_path / "page.jsonl", published())


FLOORS = [
    f"--floor={floor}"
    for floor in sorted(
        {one["floor"] for table in ("refusal_curve", "judged_sweep") for one in PUBLISHED[table]}
    )
]


def test_the_published_tables_come_out_of_a_report(inside: Inside, report: Path) -> None:
    """Counts of both tables and both percentile tables; the row of the floor in force is marked."""
    answer = inside("bench", "sweep", report, *FLOORS, "--format", "json").json
    assert faults_of(answer, "output-bench-sweep.v1.schema.json") == []
    curve = {one["floor"]: one for one in answer["refusal_curve"]}
    for want in PUBLISHED["refusal_curve"]:
        got = curve[want["floor"]]["refused"]
        assert [got["numerator"], got["denominator"]] == want["refused"]
    names = {
        "refused_were_answerable": "refused_answerable",
        "passed_were_unanswerable": "passed_unanswerable",
    }
    judged = {one["floor"]: one for one in answer["judged_sweep"]}
    for want in PUBLISHED["judged_sweep"]:
        for name in ("answerable_refused", "unanswerable_passed", *names):
            got = judged[want["floor"]][names.get(name, name)]
            assert [got["numerator"], got["denominator"]] == want[name]
    for group, want in PUBLISHED["percentiles"].items():
        if group in answer["quantiles"]:
            got = answer["quantiles"][group]
            spelled = {"min": "p0", "median": "p50"}
            assert {key: round(got[spelled.get(key, key)], 3) for key in want} == want
    assert [one["floor"] for one in answer["refusal_curve"] if one["configured"]] == [0.25]


def test_the_printed_digits_are_those_of_the_page(inside: Inside, report: Path) -> None:
    """As text, to the decimal that the page prints, and n/a where nothing was refused."""
    text = inside("bench", "sweep", report, *FLOORS).out
    for want in PUBLISHED["refusal_curve"]:
        numerator, denominator = want["refused"]
        assert f"{want['printed']} ({numerator}/{denominator})" in text
    for want in PUBLISHED["judged_sweep"]:
        for printed in want["printed"].values():
            assert printed in text
    assert re.search(r"^\* 0\.25 +3\.3% \(11/338\)", text, re.MULTILINE)
    assert "below 4.2% by the rule of three" in text


def test_the_caveats_of_the_page_stand_where_they_apply(inside: Inside, report: Path) -> None:
    """Judge without reference, typed prompts, the corpus as it was, the encoder's scale, one tenant."""
    told = inside("bench", "sweep", report).out
    assert told.count("\n! ") == 5
    alone = inside("bench", "sweep", report, "--source", "mcp_query").out
    assert "Typed prompts" not in alone
    assert "1 question: 1 mcp_query" in alone


@pytest.mark.parametrize("format_", ["text", "markdown", "json", "html"])
def test_equal_reports_give_equal_bytes(knobctl: Knobctl, report: Path, format_: str) -> None:
    """Whatever the locale, the time zone and the hash seed."""
    call = ("bench", "sweep", report, "--format", format_, "--compare", report)
    first = knobctl(*call, LC_ALL="C.UTF-8", TZ="UTC", PYTHONHASHSEED="1", COLUMNS="100")
    other = knobctl(*call, LC_ALL="C.UTF-8", LANG="de_DE.UTF-8", TZ="Asia/Tokyo", PYTHONHASHSEED="77", COLUMNS="100")  # fmt: skip
    assert first.code == 0, first.err
    assert first.out == other.out


def test_the_page_needs_no_network(inside: Inside, report: Path) -> None:
    """No script, style, picture or font is fetched; all is in it."""
    page = inside("bench", "sweep", report, "--format", "html").out
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?\s*(?:https?:)?//""", own)
    assert "<script src" not in page
    assert "0.0% (0/71)" in page


def test_two_reports_stand_side_by_side(inside: Inside, report: Path) -> None:
    """Over their common questions, with an interval that holds the difference; of a report and itself it holds nothing."""
    better = [
        replace(one, max_cosine=None if one.max_cosine is None else min(one.max_cosine + 0.1, 1.0))
        for one in published()[:300]
    ]
    other = write_report(inside.folder / "other.jsonl", better)
    answer = inside("bench", "sweep", report, "--compare", other, "--format", "json").json
    assert faults_of(answer, "output-bench-sweep.v1.schema.json") == []
    at = next(one for one in answer["compared"] if one["floor"] == 0.4)
    assert at["refused"]["denominator"] == at["refused_there"]["denominator"] == 300
    assert at["difference"] < 0
    assert at["interval"][0] <= at["difference"] <= at["interval"][1] < 0
    same = inside("bench", "sweep", report, "--compare", report, "--format", "json").json
    ends = exact_interval(0, 338)[1]  # so many changes either way would not have been seen
    for one in same["compared"]:
        assert (one["difference"], one["interval"]) == (0, pytest.approx([-ends, ends]))


def test_scores_below_the_recorded_floor_are_not_guessed(inside: Inside) -> None:
    """A report under a floor knows nothing of lower ones."""
    made = recording_at(EXAMPLES / "scores.jsonl")
    first = replace(made.questions[0], fused=None, why=Why.BELOW_FLOOR, ranks={})
    lines = written(replace(made.heading, floor=0.3), [first, *made.questions[1:]])
    path = inside.folder / "cut.jsonl"
    path.write_text("".join(lines))
    done = inside("bench", "sweep", path, "--signal", "fused", "--floor", "0.2")
    assert done.code == 4
    assert "nothing is known of 0.2" in done.err
    kept = inside(
        "bench", "sweep", path, "--signal", "fused", "--floor", "0.3", "--format", "json"
    ).json
    assert kept["refusal_curve"][0]["refused"]["numerator"] == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--floor", "1.5"), 2, "must lie in [0, 1]"),
        (("--source", "nobody"), 2, "there are: "),
        (("--signal", "fused"), 4, "holds no fused score"),
        (("--compare", "nowhere.jsonl"), 4, "nowhere.jsonl"),
    ],
)
def test_a_sweep_of_nothing_is_refused(
    inside: Inside, report: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    """What is, and what must be."""
    done = inside("bench", "sweep", report, *arguments)
    assert done.code == code, done.err
    assert words in done.err


def test_a_file_that_is_no_report_is_told(inside: Inside) -> None:
    """With its first bad line."""
    path = inside.folder / "no.json"
    path.write_text("{}")
    done = inside("bench", "sweep", path)
    assert done.code == 4
    assert "no.json:1: no heading of recorded scores" in done.err


LABELS = {
    "texts.jsonl": '{"question": "who", "answerable": true}\n{"text": "what", "label": "unanswerable"}\n',
    "ids.csv": f"question_id,answerable\n{question_id('who')},yes\n{question_id('what')},no\n",
    "qrels.txt": f"{question_id('who')} 0 d1 1\n{question_id('who')} 0 d2 0\n{question_id('what')} 0 d1 0\n",
    "own.tsv": "query_id\tdoc_id\trelevance\nq1\td1\t2\nq2\td1\t0\n",
}


@pytest.fixture
def replayed(inside: Inside) -> Path:
    """A report of three questions without labels."""
    asked = [Question(id=question_id(text), source="question_list", fused=None, why=Why.FAILED, max_cosine=0.5) for text in ("who", "what", "why")]  # fmt: skip
    (inside.folder / "queries.jsonl").write_text(
        '{"id": "q1", "text": "who"}\n{"id": "q2", "text": "what"}\n'
    )
    return write_report(inside.folder / "replayed.jsonl", asked, judging=None)


@pytest.mark.parametrize("name", sorted(LABELS))
def test_labels_come_from_files_of_several_forms(inside: Inside, replayed: Path, name: str) -> None:
    """By text, by id, from qrels, and by ids of a data set's own."""
    (inside.folder / name).write_text(LABELS[name])
    own = ("--queries", "queries.jsonl") if name == "own.tsv" else ()
    done = inside(
        "bench", "judge", "--replay-from", replayed, "--labels", name, "--output", "judged.jsonl",
        "--format", "json", *own,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert faults_of(done.json, "output-bench-judge.v1.schema.json") == []
    made = recording_at(inside.folder / "judged.jsonl")
    assert [one.label for one in made.questions] == [Label.ANSWERABLE, Label.UNANSWERABLE, None]
    assert made.heading.judging
    assert made.heading.judging.by is JudgedBy.LABELS


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ("", "labels no question"),
        ('{"question": "who"}\n', "l:1 is no label"),
        ('{"question": "who", "answerable": "perhaps"}\n', "l:1 is no label"),
        ('{"question": "who", "answerable": true}\n{"question": "WHO", "answerable": false}\n', "l:2"),
        ('{"question": "somebody else\'s", "answerable": true}\n', "none of the 3 replayed questions"),
        ("a b c d e\n", "l:1 is no line of qrels"),
        ('{"question": \n', "l:1 is no JSON"),
    ],
)  # fmt: skip
def test_labels_that_say_nothing_are_refused(
    inside: Inside, replayed: Path, labels: str, words: str
) -> None:
    """With the line; nothing is written."""
    (inside.folder / "l").write_text(labels)
    done = inside(
        "bench", "judge", "--replay-from", replayed, "--labels", "l", "--output", "j.jsonl"
    )
    assert done.code == 4
    assert words in done.err
    assert not (inside.folder / "j.jsonl").exists()


def test_a_shipped_report_is_swept_over_both_signals(inside: Inside) -> None:
    """Over the fused floor nothing is refused where recency is live; over cosine something is."""
    path = EXAMPLES / "scores.jsonl"
    fused = inside(
        "bench", "sweep", path, "--signal", "fused", "--floor", "0.3333", "--format", "json"
    ).json
    assert fused["refusal_curve"][0]["refused"]["numerator"] == 0
    cosine = json.loads(inside("bench", "sweep", path, "--floor", "0.4", "--format", "json").out)
    assert cosine["refusal_curve"][0]["refused"]["numerator"] > 0


def scored(*cosines: float, sources: int = 1) -> list[Question]:
    """Questions with such cosines, of so many sources in turn."""
    return [
        Question(
            id=f"{number:012x}",
            source=f"s{number % sources}",
            fused=None,
            why=Why.FAILED,
            max_cosine=cosine,
            label=Label.ANSWERABLE,
        )
        for number, cosine in enumerate(cosines)
    ]


def test_a_report_without_questions_is_told(inside: Inside) -> None:
    """Nothing was measured, so there is nothing to sweep."""
    empty = write_report(inside.folder / "empty.jsonl", [])
    done = inside("bench", "sweep", empty)
    assert (done.code, "holds no question" in done.err) == (4, True)


def test_any_number_of_sources_is_counted(inside: Inside) -> None:
    """More than fit into a byte."""
    report = write_report(inside.folder / "many.jsonl", scored(*[0.3] * 300, sources=300))
    answer = inside("bench", "sweep", report, "--floor", "0.5", "--format", "json").json
    by_source = answer["refusal_curve"][0]["refused_by_source"]
    assert [one["numerator"] for one in by_source.values()] == [1] * 300


def test_floors_that_lie_close_together_are_told_apart(inside: Inside) -> None:
    """By all of their digits, each in a column of its own; negative cosines are under all of them."""
    report = write_report(inside.folder / "close.jsonl", scored(-1.0, -0.2, 0.3, 1.0))
    floors = ["--floor=0", "--floor=0.3", "--floor=0.300000001", "--floor=1"]
    out = inside("bench", "sweep", report, *floors).out
    rows = [line.split()[:3] for line in out.split("\n") if line.startswith(("  0.", "  1."))]
    assert rows[:4] == [
        ["0.00", "50.0%", "(2/4)"],
        ["0.30", "50.0%", "(2/4)"],
        ["0.300000001", "75.0%", "(3/4)"],
        ["1.00", "75.0%", "(3/4)"],
    ]


@pytest.mark.parametrize("questions", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_large_comparison_fits_into_memory(inside: Inside, questions: int) -> None:
    """Questions are counted by what changes for them; the interval is that of a difference of 1 %."""
    below = [0.2] * (questions // 2) + [0.4] * (questions // 2)
    one = write_report(inside.folder / "one.jsonl", scored(*below))
    two = write_report(
        inside.folder / "two.jsonl",
        scored(*[0.2] * (questions // 100), *below[: -questions // 100]),
    )
    bounded = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({3 << 30},) * 2)"
    done = subprocess.run(
        [sys.executable, "-c", f"{bounded}; from knobctl.cli.main import main; main()", "bench",
         "sweep", one, "--compare", two, "--floor", "0.3", "--format", "json"],
        capture_output=True, check=True, cwd=inside.folder,
    )  # fmt: skip
    (compared,) = json.loads(done.stdout)["compared"]
    half = 1.96 * math.sqrt(0.01 * 0.99 / questions)
    assert compared["difference"] == pytest.approx(0.01)
    assert compared["interval"] == pytest.approx([0.01 - half, 0.01 + half], abs=half / 5)
