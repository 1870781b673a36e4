"""What each of several floors would have refused, and what that cost, counted over rows of scores. Pure.

A score equal to the floor passes. A row without a score is in no count; one without a label is in the
refusal curve and not in the judged sweep. There is no aggregate score.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError
from knobctl.evidence.rates import Rate

try:
    import numpy as np
except ImportError as error:
    raise EngineError("evidence needs numpy", hint="pip install 'knobctl[engine]'") from error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

QUANTILES: Final = (0, 10, 25, 50, 75, 90, 100)
_UNLABELLED, _UNANSWERABLE, _REJECTED, _ANSWERABLE = range(4)
_LABELS: Final = 4
"""How a row is labelled: not at all; unanswerable and declined, or not declined, by the answer step; answerable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question: the score that a floor is held against, and what is known of it."""

    max_similarity: float | None
    """None where it got no score."""
    answerable: bool | None = None
    """Whether the corpus can answer it; None where nobody said."""
    source: str = "user_prompt"
    declined: bool = False
    """Whether the answer step itself said that nothing bears on it: the gate behind the floor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Many rows as columns of one length."""

    scores: NDArray[np.float64]
    """NaN where a row has none."""
    labels: NDArray[np.int8]
    """See `_LABELS`."""
    source_of: NDArray[np.integer]
    """The place of each row's source in `sources`."""
    sources: tuple[str, ...]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Rows:
        """Put rows into columns."""
        sources = tuple(dict.fromkeys(row.source for row in rows))
        place = {source: number for number, source in enumerate(sources)}
        return cls(
            scores=np.array(
                [math.nan if row.max_similarity is None else row.max_similarity for row in rows],
                dtype=np.float64,
            ),
            labels=np.array([_label(row) for row in rows], dtype=np.int8),
            source_of=np.array([place[row.source] for row in rows], dtype=np.int64),
            sources=sources,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorRefusals:
    """What one floor refuses."""

    floor: float
    refused: Rate
    refused_by_source: Mapping[str, Rate]
    """Of the sources that have a scored row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFloor:
    """What one floor does to questions whose label is known: one table, read in both directions."""

    floor: float
    answerable_refused: Rate
    """Of those that can be answered, the refused: what a floor costs."""
    unanswerable_passed: Rate
    refused_answerable: Rate
    """Of the refused, those that can be answered: what somebody who reads a refusal wants to know."""
    passed_unanswerable: Rate
    declined: Rate
    """Of the unanswerable that pass, those that the answer step declines."""


def refusal_curve(rows: Sequence[Row] | Rows, floors: Sequence[float]) -> list[FloorRefusals]:
    """Count what each floor refuses, over all rows with a score.

    Args:
        rows: The questions.
        floors: In any order, which is kept.
    """
    table = _Table(rows, floors)
    return [
        FloorRefusals(
            floor=floor,
            refused=table.refused(at),
            refused_by_source={
                source: rate
                for number, source in enumerate(table.sources)
                if (rate := table.refused(at, source=number)).denominator
            },
        )
        for at, floor in enumerate(floors)
    ]


def judged_sweep(rows: Sequence[Row] | Rows, floors: Sequence[float]) -> list[JudgedFloor]:
    """Count, over all rows with a score and a label, how each floor and the labels agree; see `refusal_curve`."""
    table = _Table(rows, floors)
    return [_judged(table, at, floor) for at, floor in enumerate(floors)]


def _judged(table: _Table, at: int, floor: float) -> JudgedFloor:
    yes, no = (_ANSWERABLE,), (_UNANSWERABLE, _REJECTED)
    answerable, unanswerable = table.refused(at, labels=yes), table.refused(at, labels=no)
    refused = answerable.numerator + unanswerable.numerator
    passed = answerable.denominator + unanswerable.denominator - refused
    unanswerable_passed = unanswerable.denominator - unanswerable.numerator
    declined = table.refused(at, labels=(_UNANSWERABLE,))
    return JudgedFloor(
        floor=floor,
        answerable_refused=answerable,
        unanswerable_passed=Rate(unanswerable_passed, unanswerable.denominator),
        refused_answerable=Rate(answerable.numerator, refused),
        passed_unanswerable=Rate(unanswerable_passed, passed),
        declined=Rate(declined.denominator - declined.numerator, unanswerable_passed),
    )


def quantiles(scores: Sequence[float]) -> dict[str, float]:
    """Give the scores at some shares of the way up, as they are: none is interpolated.

    Returns:
        By `p0` to `p100`; empty where there are no scores.
    """
    ordered = sorted(scores)
    if not ordered:
        return {}
    return {f"p{q}": ordered[round(q / 100 * (len(ordered) - 1))] for q in QUANTILES}


class _Table:
    """How many rows of each source and label lie between neighbouring floors."""

    def __init__(self, rows: Sequence[Row] | Rows, floors: Sequence[float]) -> None:
        columns = rows if isinstance(rows, Rows) else Rows.of(rows)
        self.sources = columns.sources
        self._floors = np.unique(np.array(floors, dtype=np.float64))
        self._at = np.searchsorted(self._floors, floors)
        width = len(self._floors) + 1
        scored = ~np.isnan(columns.scores)
        # How many floors a score passes: those that are not above it.
        passes = np.searchsorted(self._floors, columns.scores[scored], side="right")
        group = columns.source_of[scored].astype(np.int64) * _LABELS + columns.labels[scored]
        counted = np.bincount(group * width + passes, minlength=len(self.sources) * _LABELS * width)
        by_group = counted.reshape(len(self.sources), _LABELS, width)
        self._all = by_group.sum(axis=2)
        self._refused = by_group.cumsum(axis=2)
        """Those that pass at most so many floors: the refused of the floor behind those."""

    def refused(
        self, at: int, *, source: int | None = None, labels: Sequence[int] = range(_LABELS)
    ) -> Rate:
        """Of the rows of a source and some labels, those that a floor refuses."""
        which = slice(None) if source is None else source
        place = self._at[at]
        refused = self._refused[which][..., list(labels), place].sum()
        return Rate(int(refused), int(self._all[which][..., list(labels)].sum()))


def _label(row: Row) -> int:
    if row.answerable is None:
        return _UNLABELLED
    if row.answerable:
        return _ANSWERABLE
    return _UNANSWERABLE if row.declined else _REJECTED
