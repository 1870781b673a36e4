"""The picture of scores: bars, marks, scale, legend."""

from __future__ import annotations

from fractions import Fraction

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knobctl.report.histogram import (
    BANDS,
    CEILING,
    COLUMNS,
    FLOOR,
    Mark,
    bands_of,
    column_of,
    histogram,
)
from knobctl.report.plot_parts import Ink

THIRD = Mark(Fraction(1, 3), CEILING, "1/3")
TWO_THIRDS = Mark(Fraction(2, 3), CEILING, "2/3")
FLOOR_AT = Mark(Fraction(7, 10), FLOOR, "floor 0.7")
BANDS_GIVEN = st.lists(st.integers(0, 10**6), min_size=BANDS, max_size=BANDS)
SCORES = st.fractions(Fraction(1, 10**6), 1)


def test_the_picture_reads_as_agreed() -> None:
    """Bars over an axis with the marks, the scale, the legend."""
    bands = [0, 0, 0, 0, 2, 3, 4, 0, 0, 0, 0, 0, 1, 9, 0, 0, 0, 0, 0, 0]
    assert histogram(bands, [THIRD, TWO_THIRDS, FLOOR_AT]).splitlines() == [
        "                     |                   ███",
        "                    ▃▃▃                  ███",
        "              ▆▆▆██████               ▃▃▃███",
        "  -------------------|-------------------|-^------------------",
        "  0.0   0.1   0.2   0.3   0.4   0.5   0.6   0.7   0.8   0.9   1.0",
        "  | 1/3, 2/3   ^ floor 0.7",
    ]


def test_a_log_gets_ascii() -> None:
    """The same picture without a character that a narrow encoding lacks."""
    drawn = histogram([1] * BANDS, [THIRD], ink=Ink.ASCII)
    assert drawn.isascii()
    assert drawn.splitlines()[2] == "  " + "#" * COLUMNS


@pytest.mark.parametrize(
    ("encoding", "ink"),
    [
        ("utf-8", Ink.FINE),
        ("UTF-8", Ink.FINE),
        ("ascii", Ink.ASCII),
        ("latin-1", Ink.ASCII),
        ("cp1252", Ink.ASCII),
        ("no such", Ink.ASCII),
        (None, Ink.ASCII),
    ],
)
def test_the_characters_are_what_the_stream_can_carry(encoding: str | None, ink: Ink) -> None:
    """Blocks only where they arrive."""
    assert Ink.for_encoding(encoding) is ink


@pytest.mark.parametrize(
    ("score", "band"),
    [
        (1 / 3, 6),
        (0.33333333333333337, 6),
        (0.35, 6),
        (0.3500001, 7),
        (0.05, 0),
        (0.0500001, 1),
        (2 / 3, 13),
        (0.7, 13),
        (1.0, 19),
        (1e-12, 0),
    ],
)
def test_an_edge_is_in_the_band_below(score: float, band: int) -> None:
    """As an engine counts them, whatever doubles make of an edge."""
    assert bands_of([score]).index(1) == band


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True)))
def test_every_score_of_the_scale_is_in_one_band(scores: list[float]) -> None:
    """What is not above 0 and at most 1 is in none."""
    assert sum(bands_of(scores)) == sum(0 < score <= 1 for score in scores)


@given(BANDS_GIVEN, st.lists(SCORES, max_size=4), SCORES, st.integers(1, 8), st.sampled_from(Ink))
def test_every_band_and_every_mark_is_where_it_belongs(
    bands: list[int], ceilings: list[Fraction], floor: Fraction, height: int, ink: Ink
) -> None:
    """A band shows if and only if it holds something, higher ones no lower; marks stand in their column."""
    marks = [Mark(at, CEILING, str(at)) for at in ceilings] + [Mark(floor, FLOOR, "floor")]
    lines = [line[2:] for line in histogram(bands, marks, height=height, ink=ink).splitlines()]
    rows, axis, scale = lines[:height], lines[height], lines[height + 1]
    assert max(map(len, lines)) <= 78
    assert len(axis) == COLUMNS
    assert axis[column_of(floor)] == FLOOR
    assert all(axis[column_of(at)] in {CEILING, FLOOR} for at in ceilings)
    assert scale.index("0.5") == COLUMNS // 2
    filled = [sum(row.ljust(COLUMNS)[at * 3] in ink.levels for row in rows) for at in range(BANDS)]
    assert [bool(cells) for cells in filled] == [bool(number) for number in bands]
    assert all(
        filled[one] <= filled[other]
        for one in range(BANDS)
        for other in range(BANDS)
        if bands[one] <= bands[other]
    )


@given(BANDS_GIVEN, SCORES)
def test_colour_changes_no_character(bands: list[int], floor: Fraction) -> None:
    """What lies under the floor is dim; without colour the text is the same."""
    marks = [Mark(floor, FLOOR, "floor")]
    colored = histogram(bands, marks, colored=True)
    assert [line.rstrip() for line in click.unstyle(colored).splitlines()] == [
        line.rstrip() for line in histogram(bands, marks).splitlines()
    ]


@pytest.mark.parametrize("bands", [[0] * 19, [-1] + [0] * 19])
def test_what_is_no_histogram_is_refused(bands: list[int]) -> None:
    """Twenty counts."""
    with pytest.raises(ValueError, match="20 bands"):
        histogram(bands)


def test_a_legend_names_marks_that_share_a_column_and_cannot_drive_a_terminal() -> None:
    """The sign drawn is the later one's."""
    drawn = histogram([1] * BANDS, [THIRD, Mark(Fraction(1, 3), FLOOR, "floor \x1b[2J")])
    assert "| 1/3   ^ floor \\x1b[2J" in drawn
    assert drawn.splitlines()[3].count(CEILING) == 0
