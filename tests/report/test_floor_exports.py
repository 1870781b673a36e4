"""What leaves the lab as a file: a self-contained SVG, a CSV that adds up, and no text that drives anything."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from fractions import Fraction
from xml.etree import ElementTree as ET

from knobctl.evidence.recording import Label
from knobctl.fusion import exact, reach
from knobctl.report import evidence_words as words
from knobctl.report.floor_plots import floor_rows
from knobctl.report.floor_svg import floor_svg
from knobctl.report.floor_table import floor_csv, floor_table
from knobctl.report.floor_view import Compared, FloorView
from knobctl.report.plot_parts import Ink, text_of
from tests.evidence.recordings import (
    SHIPPED,
    WITHOUT_RECENCY,
    heading,
    lines,
    measured,
    question,
    read,
    recording,
)

HOSTILE = "\x1b]0;owned\x07</text><script>alert(1)</script>=1+1\u202e"
SVG = "{http://www.w3.org/2000/svg}"


def view(floor: str = "0.65") -> FloorView:
    """The shipped recording beside the platform defaults, and a second one under it."""
    values = {"recency_ranker_mode": "DISABLED"}
    return FloorView(
        reached=reach(heading(0).setup(exact(floor))),
        now=Fraction("0.3"),
        measured=measured(read(SHIPPED)),
        other=Compared(name="bolt", measured=measured(read(WITHOUT_RECENCY), **values)),
    )


def test_the_svg_stands_alone() -> None:
    """No script, no address, no font of elsewhere; its bars and its curve are those of the numbers."""
    text = floor_svg(view(), "acme: floor 0.65")
    root = ET.fromstring(text)
    assert {one.tag.removeprefix(SVG) for one in root.iter()} == {
        "svg", "title", "style", "rect", "text", "path", "line",
    }  # fmt: skip
    assert text.count("http") == 1  # the namespace
    texts = ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]
    assert "Questions that get no context, by floor: n 400, 2026-11-30" in texts
    for live in view().reached.live_sets:
        assert " ".join(live) in texts
    (curve,) = [one for one in root.iter(f"{SVG}path") if one.get("class") == "curve"]
    assert curve.get("d", "").count("L") == 400
    assert [one.get("class") for one in root.iter(f"{SVG}path")].count("other") == 1


def test_without_evidence_the_svg_says_so() -> None:
    """Only the bars, and why there is no more."""
    bare = FloorView(reached=reach(heading(0).setup(exact("0.65"))))
    root = ET.fromstring(floor_svg(bare, "acme"))
    texts = " ".join("".join(one.itertext()) for one in root.iter(f"{SVG}text"))
    assert "No evidence: what is shown is arithmetic alone" in texts
    assert not [one for one in root.iter(f"{SVG}path") if one.get("class") == "curve"]


def test_the_csv_holds_every_number() -> None:
    """Refusals as counting lines gives them, bands that add up, reach as reckoned."""
    rows = list(csv.DictReader(io.StringIO(floor_csv(view()))))
    scores = [line["fused"] for line in lines()[1:]]
    for row in rows:
        if (row["plot"], row["series"]) == ("refused", "all"):
            assert int(row["count"]) == sum(score < float(row["score"]) for score in scores)
    for label in Label:
        bands = [one for one in rows if (one["plot"], one["series"]) == ("scores", label.value)]
        assert sum(int(one["count"]) for one in bands) == 200
    assert {one["series"] for one in rows if one["plot"] == "refused"} == {
        "all", "answerable", "unanswerable", "beside: bolt",
    }  # fmt: skip
    assert sum(one["plot"] == "reach" for one in rows) == 19


def test_the_table_fits_a_screen() -> None:
    """At 80 columns, with what the plots point at."""
    found = floor_table(replace(view(), other=None))
    assert max(len(line) for line in found.splitlines()) <= 80
    (row,) = [line for line in found.splitlines() if line.startswith("2/3 ")]
    assert " ".join(row.split()) == "2/3 never 148 37.0% 49 24.5% 101 50.5% 2/3"


def test_hostile_words_of_a_heading_are_shown_not_obeyed() -> None:
    """Program, embedder, tenants compared, titles: escaped for a terminal, for XML, for a spreadsheet."""
    made = recording(
        [question(at, at / 100, live=("vector",)) for at in range(1, 40)],
        made_by=HOSTILE,
        encoder=HOSTILE,
    )
    found = measured(made, tenant="acme")
    hostile = FloorView(
        reached=reach(heading(0).setup(exact("0.3"))),
        measured=found,
        other=Compared(name=HOSTILE, measured=found),
    )
    drawn = text_of(floor_rows(hostile, width=80, ink=Ink.FINE))
    svg = floor_svg(hostile, HOSTILE)
    for text in (drawn, svg, floor_csv(hostile), floor_table(hostile), words.comparison(hostile)):
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert not list(ET.fromstring(svg).iter(f"{SVG}script"))
    assert not [one for one in csv.reader(io.StringIO(floor_csv(hostile))) if one[1][0] in "=+-@"]


def test_one_question_is_told_in_the_singular() -> None:
    """Words that a person would write."""
    one = FloorView(
        reached=reach(heading(0).setup(exact("0.5"))),
        now=Fraction("0.3"),
        measured=measured(recording([question(0, 0.4, Label.ANSWERABLE)])),
    )
    assert words.refusal(one) == (
        "At 0.5, 1 of 1 question (100.0%) would get no context; at 0.3, in force now, it is 0."
    )
    assert words.labels(one) == "Of 1 answerable one, 1 (100.0%) would be lost."
    passing = FloorView(
        reached=reach(heading(0).setup(exact("0.3"))), now=Fraction("0.5"), measured=one.measured
    )
    assert words.refusal(passing) == (
        "At 0.3, the one question would get context; at 0.5, in force now, 1 would get none."
    )


def test_what_the_floor_touches_is_said() -> None:
    """133 questions score two thirds themselves, in doubles a little above or below."""
    assert "133 questions score the floor itself" in words.spread(view("2/3"))
    assert "score the floor itself" not in words.spread(view("0.65"))


def test_a_floor_that_cannot_empty_an_answer_is_said() -> None:
    """With recency live none up to a third can, whatever was recorded."""
    assert words.arithmetic(view("0.3")) == (
        "With vector, bm25 and recency live no floor up to 1/3 empties an answer, whatever is asked."
    )
    assert words.figures(view("0.3")).endswith("with all three live an answer cannot be empty")
