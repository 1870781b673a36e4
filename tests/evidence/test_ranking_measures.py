"""Measures of ranking: by hand, by their names, and over files of TREC."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import ir_measures
import pytest

from knobctl.errors import InputError, UsageError
from knobctl.evidence.harvest.asked import question_id
from knobctl.evidence.layer_sample import drawn
from knobctl.evidence.qrels import Qrels, as_column, read_qrels
from knobctl.evidence.ranking_measures import DEFAULT, measures_named, moved, reckoned
from knobctl.evidence.simulating import Judged
from knobctl.evidence.trec_files import write_runs
from tests.evidence.test_simulating import pair, seen, simulated

READ: Any = ir_measures
"""Half of it has types."""
QRELS = Qrels({"q1": {"d1": 1}, "q2": {"d2": 2, "d3": 1}, "q3": {"d4": 0}}, {"q1": "topic one"})
FOUND = simulated(
    pair(1, seen("x", "d1/1", "d1/2"), seen("x", "y", "d1/1")),
    pair(2, seen("d3/1", "d2/1"), seen()),
    pair(3, seen("d4/1"), seen("d4/1")),
    judged=Judged(qrels=QRELS),
)


def test_measures_are_what_their_definitions_say() -> None:
    """Documents count once; a question without an answer counts, with nothing; one that cannot be answered does not."""
    names = measures_named("recall@2, nDCG@10,RR@10,p@2,mrr,success@1")
    found = {one.measure: one.shift for one in moved(FOUND.pairs, reckoned(FOUND, names), seed=0)}
    assert [(one.before, one.after) for one in found.values()] == [
        (1.0, 0.0),
        (
            pytest.approx((1 / math.log2(3) + (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))) / 2),
            pytest.approx(1 / math.log2(4) / 2),
        ),
        (0.75, pytest.approx(1 / 6)),
        (0.75, 0.0),
        (0.75, pytest.approx(1 / 6)),
        (0.5, 0.0),
    ]
    assert [*found] == ["recall@2", "ndcg@10", "rr@10", "p@2", "mrr", "success@1"]
    assert {one.questions for one in found.values()} == {2}


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("ndgc@10", "did you mean ndcg"),
        ("recall", "such as recall@10"),
        ("rprec@3", "write rprec"),
        ("ndcg@0", "no measure"),
        ("recall@x", "no measure"),
        ("", "such as recall@12"),
    ],
)
def test_what_is_no_measure_is_refused(typed: str, words: str) -> None:
    """With the nearest, or an example."""
    with pytest.raises(UsageError) as caught:
        measures_named(typed)
    assert words in f"{caught.value} {caught.value.hint}"


def test_what_is_written_for_other_tools_gives_the_same_measures(tmp_path: Path) -> None:
    """Runs and qrels are read back by the library that others read them with."""
    write_runs(tmp_path, FOUND)
    names = measures_named(DEFAULT)
    ours = reckoned(FOUND, names)
    for side, name in enumerate(("before", "after")):
        run = [*READ.read_trec_run((tmp_path / f"run.{name}").read_text() + "\n")]
        qrels = [*READ.read_trec_qrels((tmp_path / "qrels").read_text())]
        answered = [one for one in qrels if one.query_id != "q3"]
        found = ir_measures.calc_aggregate([one.reckoned for one in names], answered, run)
        for one in names:
            values = ours[one.name][side].values()
            assert found[one.reckoned] == pytest.approx(sum(values) / len(values))
    assert (tmp_path / "run.before").read_text().startswith("topic%20one Q0 x 1 2 knobctl-before\n")
    assert (tmp_path / "run.before").stat().st_mode & 0o777 == 0o600


def test_a_name_is_one_column() -> None:
    """Whatever is in it."""
    assert as_column("a b\t%\u2028c\n") == "a%20b%09%25%E2%80%A8c%0A"
    assert as_column("d0001#2/ä") == "d0001#2/ä"


@pytest.mark.parametrize(
    "text",
    ["t1 0 d1 1\nt1 0 d2 0\n", "query_id\tdoc_id\trelevance\nt1\td1\t1\nt1\td2\t0\n"],
)
def test_qrels_are_read_in_three_columns_or_four(tmp_path: Path, text: str) -> None:
    """Topics become question ids where a file says which text they are."""
    (tmp_path / "qrels").write_text(text)
    (tmp_path / "queries").write_text('{"id": "t1", "text": "Who may approve?"}\n')
    id_ = question_id("who may approve?")
    found = read_qrels(tmp_path / "qrels", tmp_path / "queries")
    assert found.by_question == {id_: {"d1": 1, "d2": 0}}
    assert found.relevant(id_) == {"d1"}
    assert (found.topic(id_), found.topic("other")) == ("t1", "other")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t1 0 d1 1\nt1 0 d1 0\n", "qrels:2: d1 is judged otherwise above"),
        ("t1 0 d1 1\nt1 d1\n", "qrels:2 is no line of qrels"),
        ("t1 0 d1 99999\nt1 0 d1 99999\n", "qrels:1 is no line of qrels"),
        ("t1 0 d1 1\nt1 0 d2 " + "9" * 5000, "qrels:2 is no line of qrels"),
        ("", "judges no document"),
    ],
)
def test_what_are_no_qrels_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """At the first line that is none."""
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(InputError, match=words):
        read_qrels(tmp_path / "qrels")


def test_a_larger_draw_holds_every_smaller_one() -> None:
    """The same tenants each time; another seed draws others."""
    names = [f"t{number}" for number in range(100)]
    draws = [set(drawn(names, most, seed=1)) for most in (1, 5, 20, 200)]
    assert [len(one) for one in draws] == [1, 5, 20, 100]
    assert all(small <= large for small, large in pairwise(draws))
    assert drawn(reversed(names), 5, seed=1) == drawn(names, 5, seed=1) != drawn(names, 5, seed=2)
