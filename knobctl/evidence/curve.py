"""The refusal curve: how many questions would get nothing at a floor, counted as the gate compares."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from knobctl.evidence.recording import Label, Why

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from knobctl.evidence.recording import Heading, Question, Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherGates:
    """What refuses a question whatever the fused floor is."""

    expansion_floor: float = 0.0
    """Cuts what the expansion pass found, before the fused floor."""
    no_match_cosine: float = 0.0
    """A question whose nearest chunk is under it gets nothing; 0 where that gate is off."""

    def refuse(self, question: Question) -> bool:
        """Whether one of them does, as far as was recorded."""
        if question.nearest_cosine is not None and question.nearest_cosine < self.no_match_cosine:
            return True
        if not question.expanded or question.fused is None:
            return False
        return question.fused < self.expansion_floor


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalCurve:
    """Of some questions, how many would get no context at a floor."""

    scores: Sequence[float]
    """The best fused scores of those that only the fused floor refuses, ascending."""
    refused_anyway: int
    """Those that another gate refuses."""
    below: int
    """Those of which nothing reached the floor that they were recorded under."""
    known_from: float
    """At floors below it nothing is known."""

    @property
    def counted(self) -> int:
        """How many questions it is about."""
        return len(self.scores) + self.below + self.refused_anyway

    def knows(self, floor: Fraction) -> bool:
        """Whether the recording says anything of this floor."""
        return float(floor) >= self.known_from

    def refused(self, floor: Fraction) -> int:
        """How many get nothing: those that score strictly under the floor, as doubles, as the gate compares.

        Raises:
            ValueError: If nothing is known of this floor.
        """
        if not self.knows(floor):
            raise ValueError(f"nothing is known below {self.known_from}")
        return bisect_left(self.scores, float(floor)) + self.below + self.refused_anyway

    def share(self, floor: Fraction) -> float | None:
        """The same as a part of all; None where there are no questions, or nothing is known."""
        if not self.counted or not self.knows(floor):
            return None
        return self.refused(floor) / self.counted


def curve_of(
    recording: Recording, gates: OtherGates | None = None, label: Label | None = None
) -> RefusalCurve:
    """Make the curve of a recording.

    Questions that could not be asked, and those for which no ranker returned a row, are in no rate.

    Args:
        recording: What was recorded.
        gates: The other gates in force; none by default.
        label: Only the questions with this label.
    """
    gates = gates or OtherGates()
    asked = [one for one in counted(recording.questions) if label in (None, one.label)]
    refused = [one for one in asked if gates.refuse(one)]
    left = [one for one in asked if not gates.refuse(one)]
    return RefusalCurve(
        scores=sorted(one.fused for one in left if one.fused is not None),
        refused_anyway=len(refused),
        below=sum(one.fused is None for one in left),
        known_from=_known_from(recording.heading, asked, gates),
    )


def counted(questions: Iterable[Question]) -> Iterable[Question]:
    """The questions that a floor had something to decide about."""
    return (one for one in questions if one.why not in (Why.EMPTY, Why.FAILED))


def _known_from(heading: Heading, asked: Sequence[Question], gates: OtherGates) -> float:
    """The lowest floor at which everything recorded decides; expanded ones were cut by their own floor."""
    cut = any(one.expanded and one.fused is None for one in asked)
    if cut and gates.expansion_floor < heading.expansion_floor:
        return max(heading.floor, heading.expansion_floor)
    return heading.floor


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Best fused scores by band, for each label apart."""

    edges: Sequence[float]
    """One more than there are bands, ascending; a score on an edge is in the band above it."""
    by_label: Mapping[Label | None, Sequence[int]]
    """Only labels that have a score."""


def scores_by_label(recording: Recording) -> dict[Label | None, list[float]]:
    """The best scores of the questions of each label, ascending; only labels that have one."""
    found: dict[Label | None, list[float]] = {}
    for one in counted(recording.questions):
        if one.fused is not None:
            found.setdefault(one.label, []).append(one.fused)
    return {label: sorted(found[label]) for label in sorted(found, key=str)}


def histogram(
    scores: Mapping[Label | None, Sequence[float]], best_score: Fraction, bands: int
) -> Histogram:
    """Count scores in equal bands from 0 to the best score there is.

    A score on an edge is in the band above it, as a score equal to a floor passes; the best is in the last.

    Args:
        scores: Ascending, see `scores_by_label`.
        best_score: Where the last band ends.
        bands: How many.
    """
    top = float(best_score)
    edges = [top * at / bands for at in range(bands + 1)]
    by_label = {}
    for label, ascending in scores.items():
        below = [0, *(bisect_left(ascending, edge) for edge in edges[1:-1]), len(ascending)]
        by_label[label] = [after - before for before, after in pairwise(below)]
    return Histogram(edges=edges, by_label=by_label)
