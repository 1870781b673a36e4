"""The plots of a floor: what it reaches for every set of live rankers, and what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.fusion.numbers import number_text
from knobctl.report import evidence_words as words
from knobctl.report.floor_view import marks
from knobctl.report.plot import GUTTER, Bar, Frame, Role, Scores, Steps, bars, histogram, line_plot
from knobctl.report.plot_parts import said
from knobctl.report.reach import passes
from knobctl.report.reach_words import emptiness
from knobctl.text import number_word, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.evidence.measured import Measured
    from knobctl.fusion import Reach
    from knobctl.fusion.row import Names
    from knobctl.report.floor_view import FloorView
    from knobctl.report.plot import Ink, Row

MOST_SETS: Final = 9
"""Of more sets of live rankers the table says the rest."""
_BANDS: Final = (20, 25, 24, 30, 40, 50)
"""How many bands a histogram may have, so that their edges are round, or are the ceilings."""
_LEAST_BAR: Final = 12
VECTOR: Final = "vector"
CAN_BE_EMPTY: Final = "! empty"
"""Stands behind a set of live rankers with which an answer can be empty."""


def reach_rows(view: FloorView, *, width: int, ink: Ink) -> list[Row]:
    """Bars of what scores can be reached, for every set of live rankers."""
    reached = view.reached
    live_sets = reached.live_sets[:MOST_SETS]
    items = [_bar(reached, live) for live in live_sets]
    beside = max(len(item.label) for item in items) + max(len(item.note) for item in items) + 2
    scores = Scores(most=reached.best_score, columns=max(width - beside, _LEAST_BAR))
    more = len(reached.live_sets) - len(live_sets)
    frame = Frame(
        title=f"What passes at {number_text(view.floor)}, by live rankers",
        sentence=emptiness(reached)[0] + (f" {more} more sets are in the table." if more else ""),
        width=width,
        height=0,
        ink=ink,
        marks=marks(view),
    )
    found = [
        "found by one",
        *(f"by {number_word(each)}" for each in range(2, len(reached.enabled) + 1)),
    ]
    empty = f"{CAN_BE_EMPTY}: an answer can be" if any(map(reached.can_be_empty, live_sets)) else ""
    return bars(items, scores, frame, floor=view.floor, legend=found, more=empty)


def _bar(reached: Reach, live: Names) -> Bar:
    alone = VECTOR if VECTOR in live else live[0]
    row = reached.row(live, (alone,))
    empty = f" {CAN_BE_EMPTY}" if reached.can_be_empty(live) else ""
    return Bar(
        label=visible(" ".join(live)),
        ends=[reached.best(live, number) for number in range(1, len(live) + 1)],
        note=f"{visible(alone)} {passes(row).strip()}{empty}",
    )


def curve_rows(view: FloorView, *, width: int, height: int, ink: Ink) -> list[Row]:
    """The share of questions that get nothing, by floor; where nothing was measured, why there is none."""
    evidence = view.evidence
    if evidence is None:
        return said(words.no_curve(view), width)
    scores = _axis(view.reached, width)
    curves = [_steps(evidence, Role.DATA)]
    title = f"Questions that get no context, by floor: {_n(evidence)}"
    if view.beside:
        curves.append(_steps(view.beside.measured, Role.OTHER))
        title += f"; dotted: {visible(view.beside.name)}, {_n(view.beside.measured)}"
    sentence = " ".join(
        filter(None, (words.refusal(view), words.labels(view), words.comparison(view)))
    )
    frame = Frame(
        title=title, sentence=sentence, width=width, height=height, ink=ink, marks=marks(view)
    )
    return line_plot(curves, scores, frame)


def score_rows(view: FloorView, *, width: int, height: int, ink: Ink) -> list[Row]:
    """The best scores of the questions by band, a panel a label; empty where nothing was measured."""
    evidence = view.evidence
    if evidence is None:
        return []
    scores = _axis(view.reached, width)
    bands = next(bands for bands in _by_fit(width) if not scores.columns % bands)
    counted = evidence.by_band(view.reached.best_score, bands)
    groups = {label.value if label else "": each for label, each in counted.by_label.items()}
    if "" in groups and len(groups) > 1:
        groups["not labelled"] = groups.pop("")
    frame = Frame(
        title=f"Best fused score of each question, x below the floor: {_n(evidence)}",
        sentence=words.spread(view),
        width=width,
        height=height,
        ink=ink,
        marks=marks(view),
    )
    return histogram(groups, scores, frame, floor=view.floor)


def floor_rows(view: FloorView, *, width: int, ink: Ink) -> Iterator[Row]:
    """All plots under one another, with what stands behind them."""
    yield from reach_rows(view, width=width, ink=ink)
    yield ()
    yield from curve_rows(view, width=width, height=7, ink=ink)
    if view.evidence:
        yield ()
        yield from score_rows(view, width=width, height=3, ink=ink)
    if view.measured:
        yield ()
        yield from said(words.origin(view.measured), width)
        for caution in words.cautions(view.measured):
            yield from said(f"! {caution}", width)


def _axis(reached: Reach, width: int) -> Scores:
    room = max(width - GUTTER, _LEAST_BAR)
    bands = _by_fit(width)[0]
    return Scores(most=reached.best_score, columns=max(room // bands * bands, bands))


def _by_fit(width: int) -> list[int]:
    """The numbers of bands, the one first that uses most of the width; of equal ones with the widest bands."""
    room = max(width - GUTTER, _LEAST_BAR)
    return sorted(_BANDS, key=lambda bands: (-(room // bands * bands), _BANDS.index(bands)))


def _steps(measured: Measured, role: Role) -> Steps:
    curve = measured.curve
    return Steps(
        scores=curve.scores,
        of=curve.counted,
        before=curve.below + curve.refused_anyway,
        known_from=curve.known_from,
        role=role,
    )


def _n(measured: Measured) -> str:
    return f"n {measured.curve.counted:,}, {measured.heading.made_at.date()}"
