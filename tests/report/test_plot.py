"""Plots of text: agreed pictures at 80 and 100 columns, and laws that hold for all numbers."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.evidence.measured import Measured
from knobctl.fusion import Formula, Scale, Setup, exact, reach
from knobctl.report.floor_plots import curve_rows, floor_rows, reach_rows, score_rows
from knobctl.report.floor_view import Compared, FloorView, marks
from knobctl.report.plot import (
    FEW,
    GUTTER,
    Bar,
    Frame,
    Ink,
    Mark,
    Role,
    Scores,
    Steps,
    bars,
    colored_text_of,
    histogram,
    line_plot,
    text_of,
    upright,
)
from knobctl.report.plot_marks import label_rows
from tests.evidence.recordings import (
    SHIPPED,
    WITHOUT_RECENCY,
    heading,
    measured,
    question,
    read,
    recording,
)
from tests.tui.pictures import assert_picture

GOLDEN: Final = Path(__file__).parent / "golden" / "plots"
ONE: Final = Fraction(1)
AT: Final = st.fractions(Fraction(1, 1000), 1, max_denominator=1000)
COLUMNS: Final = st.integers(20, 120)
INK: Final = st.sampled_from(Ink)
SCORES: Final = st.lists(st.floats(0.001, 1), max_size=80).map(sorted)
ROLES: Final = st.sampled_from((Role.FLOOR, Role.NOW, Role.CEILING))
MARKS: Final = st.lists(
    st.builds(Mark, AT, st.sampled_from(("now .30", "draft .40", "1/3", "2/3", "x")), ROLES),
    max_size=6,
)


def view(floor: str, found: Measured | None = None, **more: Any) -> FloorView:
    """A floor over the platform defaults."""
    reached = reach(heading(0).setup(exact(floor)))
    return FloorView(reached=reached, now=Fraction("0.3"), measured=found, **more)


def bare(columns: int, ink: Ink, marks_: list[Mark] | None = None, height: int = 7) -> Frame:
    """A frame without words."""
    return Frame(title="", sentence="", width=columns, height=height, ink=ink, marks=marks_ or [])


def body(rows: Any, height: int) -> list[str]:
    """The rows of the plot itself, without what stands above, below and beside them."""
    texts = ["".join(text for text, _ in row) for row in rows]
    return [text[GUTTER:] for text in texts[-2 - height : -2]]


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("ink", Ink)
@pytest.mark.parametrize(
    ("name", "floor"), [("floor-0.3", "0.3"), ("floor-third", "1/3"), ("floor-0.65", "0.65")]
)
def test_the_plots_read_as_agreed(name: str, floor: str, ink: Ink, width: int) -> None:
    """Bars of the reach, the curve, the scores, each with its sentence; from the shipped recording."""
    found = text_of(floor_rows(view(floor, measured(read(SHIPPED))), width=width, ink=ink))
    assert max(map(len, found.splitlines())) <= width
    assert found.isascii() is (ink is Ink.ASCII)
    assert_picture(f"{name}-{width}-{ink.value}", f"{found}\n", GOLDEN)


def test_without_evidence_there_is_only_arithmetic() -> None:
    """No curve, no histogram, and it says so."""
    found = view("0.45")
    assert score_rows(found, width=80, height=3, ink=Ink.FINE) == []
    assert text_of(curve_rows(found, width=80, height=7, ink=Ink.FINE)).startswith("No evidence: ")
    whole = text_of(floor_rows(found, width=80, ink=Ink.FINE))
    assert_picture("no-evidence-80", f"{whole}\n", GOLDEN)


def test_evidence_of_another_fusion_is_not_drawn() -> None:
    """It is named, with what differs."""
    found = view("0.45", measured(read(WITHOUT_RECENCY)))
    told = text_of(curve_rows(found, width=200, height=7, ink=Ink.FINE))
    assert told == (
        "No curve of scores-without-recency.jsonl: it was measured with vector and bm25 taking part; "
        "here vector, bm25 and recency do."
    )


def test_a_second_curve_is_dotted() -> None:
    """Another tenant's, under the first; told apart without colour, and named."""
    values = {"recency_ranker_mode": "DISABLED"}
    other = Compared(name="bolt", measured=measured(read(WITHOUT_RECENCY), **values))
    found = view("0.65", measured(read(SHIPPED)), other=other)
    text = text_of(curve_rows(found, width=100, height=9, ink=Ink.FINE))
    assert_picture("compared-100", f"{text}\n", GOLDEN)


def test_few_points_are_no_line() -> None:
    """Of fewer than twenty scores each is a point."""
    scores = Scores(most=ONE, columns=40)
    few = Steps(scores=[0.1 + at / FEW for at in range(5)], of=5)
    rows = body(line_plot([few], scores, bare(60, Ink.ASCII)), 7)
    assert sum(row.count("*") for row in rows) == 5
    many = Steps(scores=[at / (2 * FEW) for at in range(1, FEW + 1)], of=FEW)
    rows = body(line_plot([many], scores, bare(60, Ink.ASCII)), 7)
    assert sum(row.count("*") for row in rows) >= 40


def test_nothing_is_drawn_where_nothing_is_known() -> None:
    """Left of the floor that was measured under stands `?`."""
    made = recording(
        [question(at, 0.3 + at / 100, live=("vector", "bm25", "recency")) for at in range(60)],
        floor=0.3,
    )
    found = view("0.2", measured(made))
    text = text_of(curve_rows(found, width=85, height=7, ink=Ink.FINE))
    axis = next(line for line in text.splitlines() if "?" in line)
    assert axis.index("?") == GUTTER
    assert axis.count("?") == 24
    drawn = [line[GUTTER : GUTTER + 24] for line in text.splitlines() if "┤" in line[:GUTTER]]
    assert not any("⠀" < sign <= "⣿" for line in drawn for sign in line)
    assert "Nothing is known at 0.2: it was measured under a floor of 0.3" in text


@given(SCORES, st.integers(0, 20), COLUMNS, INK, st.integers(3, 12))
@settings(deadline=None, max_examples=60)
def test_zero_is_at_the_bottom_and_nothing_else_is(
    scores: list[float], before: int, columns: int, ink: Ink, height: int
) -> None:
    """In each column the lowest row of dots is touched if and only if the share is nothing somewhere in it."""
    scores = scores + [1.0] * FEW  # enough for a line
    curve = Steps(scores=scores, of=len(scores) + before, before=before)
    axis = Scores(most=ONE, columns=columns)
    rows = body(line_plot([curve], axis, bare(200, ink, height=height)), height)
    lowest = rows[-1].ljust(columns)
    for column in range(columns):
        is_nothing = curve.at(axis.score(column)) == 0
        if ink is Ink.ASCII:
            assert (lowest[column] == "*") is is_nothing
        else:
            dots = ord(lowest[column]) - 0x2800 if lowest[column] >= "⠀" else 0
            assert bool(dots & 0xC0) is is_nothing


@given(SCORES, MARKS, COLUMNS, INK)
@settings(deadline=None, max_examples=60)
def test_data_stands_over_marks(
    scores: list[float], marks_: list[Mark], columns: int, ink: Ink
) -> None:
    """Marks take no cell from a curve."""
    curve = Steps(scores=[*scores, *[1.0] * FEW], of=len(scores) + FEW)
    axis = Scores(most=ONE, columns=columns)
    without = body(line_plot([curve], axis, bare(200, ink)), 7)
    with_marks = body(line_plot([curve], axis, bare(200, ink, marks_)), 7)
    for plain, marked in zip(without, with_marks, strict=True):
        for at, sign in enumerate(plain.rstrip()):
            assert sign in {" ", marked[at]}


@given(MARKS, COLUMNS, INK)
@settings(deadline=None, max_examples=150)
def test_no_label_is_dropped(marks_: list[Mark], columns: int, ink: Ink) -> None:
    """Every label is there, in at most as many rows as labels, within the plot, none over another."""
    axis = Scores(most=ONE, columns=columns)
    rows = label_rows(marks_, axis, ink, indent=GUTTER)
    text = text_of(rows)
    assert all(len(line) <= GUTTER + columns for line in text.splitlines())
    by_score: dict[Fraction, list[str]] = {}
    for mark in marks_:
        by_score.setdefault(mark.at, []).append(mark.label)
    for labels in by_score.values():
        together = ", ".join(labels)
        if len(together) < columns:
            assert all(label in text for label in labels)
    if len(by_score) <= 2 and columns >= 60:
        assert len(rows) == 2


def test_labels_at_one_score_are_joined() -> None:
    """The floor that is looked at is the one in force: one label says both."""
    found = view("0.3")
    (first, *_) = [mark for mark in marks(found) if mark.role is Role.FLOOR]
    text = text_of(label_rows(marks(found), Scores(most=ONE, columns=60), Ink.FINE, indent=0))
    assert first.label == "floor 0.3"
    assert "┃floor 0.3, now" in text
    assert "┊1/3" in text
    assert "┊2/3" in text


@given(
    st.lists(st.integers(0, 10**6), min_size=20, max_size=20),
    st.lists(st.integers(0, 10**6), min_size=20, max_size=20),
    st.integers(1, 5),
    INK,
    AT,
)
@settings(deadline=None, max_examples=60)
def test_a_band_shows_if_and_only_if_it_holds_something(
    one: list[int], other: list[int], height: int, ink: Ink, floor: Fraction
) -> None:
    """In either panel; a higher band is nowhere lower; `x` stands under what the floor removes."""
    axis = Scores(most=ONE, columns=60)
    rows = histogram({"": one, " ": other}, axis, bare(65, ink, height=height), floor=floor)
    texts = ["".join(text for text, _ in row) for row in rows]
    panels = texts[-2 - 2 * height : -2 - height], texts[-2 - height : -2]
    for counts, panel in zip((one, other), panels, strict=True):
        filled = [
            sum(line[GUTTER + at * 3 : GUTTER + at * 3 + 1].strip() != "" for line in panel)
            for at in range(20)
        ]
        assert [bool(cells) for cells in filled] == [bool(number) for number in counts]
    assert texts[-2].count("x") == axis.column(floor)


@given(st.lists(st.integers(0, 10**6), min_size=1), st.integers(1, 6), INK)
@settings(deadline=None, max_examples=60)
def test_the_highest_bar_is_full(numbers: list[int], height: int, ink: Ink) -> None:
    """And nothing stands for nothing."""
    rows = upright(numbers, height=height, ink=ink)
    for at, number in enumerate(numbers):
        column = "".join(row[at] for row in rows)
        assert (column.strip() == "") is (number == 0)
        if number and number == max(numbers):
            assert column == ink.levels[-1] * height


@given(st.lists(AT, min_size=1, max_size=4).map(sorted), AT, COLUMNS, INK)
@settings(deadline=None, max_examples=150)
def test_what_cannot_pass_is_not_drawn_as_passing(
    ends: list[Fraction], floor: Fraction, columns: int, ink: Ink
) -> None:
    """A bar passes somewhere if and only if its best score reaches the floor; its first part alike."""
    bar = Bar(label="a", ends=ends, note="")
    rows = bars(
        [bar], Scores(most=ONE, columns=columns), bare(200, ink, height=0), floor=floor, legend=[]
    )
    (line,) = [
        "".join(text for text, _ in row) for row in rows if row and row[0][0].startswith("a")
    ]
    assert any(sign in ink.shades for sign in line[2:]) is (ends[-1] >= floor)
    assert (ink.shades[0] in line[2:]) is (ends[0] >= floor)


@given(AT, st.sampled_from(("1", "2", "0.5", "0.1")), st.sampled_from(("1", "3")))
@settings(deadline=None, max_examples=40)
def test_every_set_of_live_rankers_has_its_bar(floor: Fraction, bm25: str, recency: str) -> None:
    """Seven for three rankers, with the tenant's own weights, and what each says is exact."""
    weights = {"vector": ONE, "bm25": Fraction(bm25), "recency": Fraction(recency)}
    reached = reach(Setup(floor=floor, k=60, weights=weights, depths={"vector": 50}))
    rows = reach_rows(FloorView(reached=reached), width=90, ink=Ink.FINE)
    texts = ["".join(text for text, _ in row) for row in rows]
    wide = len(" ".join(reached.enabled))
    for live in reached.live_sets:
        (line,) = [text for text in texts if text[:wide].rstrip() == " ".join(live)]
        assert line.endswith("! empty") is reached.can_be_empty(live)
        assert ("█" in line) is not reached.can_be_empty(live)
    assert len(reached.live_sets) == 7


def test_a_raw_sum_has_its_own_scale() -> None:
    """Ticks, bars and the curve end at the best sum there is."""
    raw = heading(0, formula=Formula(scale=Scale.RAW))
    reached = reach(raw.setup(exact("0.02")))
    text = text_of(reach_rows(FloorView(reached=reached), width=80, ink=Ink.FINE))
    assert "vector bm25 recency" in text
    assert "1/61 (0.0164)" in text


def test_colour_repeats_what_the_text_says() -> None:
    """Without its escapes it is the same text."""
    import click

    rows = list(floor_rows(view("0.65", measured(read(SHIPPED))), width=80, ink=Ink.FINE))
    plain = "\n".join(line.rstrip() for line in click.unstyle(colored_text_of(rows)).splitlines())
    assert plain == text_of(rows)


@pytest.mark.parametrize(
    ("encoding", "ink"), [("utf-8", Ink.FINE), ("ascii", Ink.ASCII), ("latin-1", Ink.ASCII)]
)
def test_a_narrow_encoding_gets_ascii(encoding: str, ink: Ink) -> None:
    """Neither braille nor blocks where they cannot be written."""
    assert Ink.for_encoding(encoding) is ink
