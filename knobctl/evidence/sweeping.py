"""A report of replayed questions, swept over floors: what stands in tables, whoever renders them. Pure."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from knobctl.errors import InputError, UsageError
from knobctl.evidence.paired_shares import difference_interval
from knobctl.evidence.rates import Rate
from knobctl.evidence.recording import JudgedBy, Label, Why
from knobctl.evidence.sweep import Row, Rows, judged_sweep, quantiles, refusal_curve
from knobctl.text import joined, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knobctl.evidence.recording import Heading, Question, Recording
    from knobctl.evidence.sweep import FloorRefusals, JudgedFloor


class Signal(StrEnum):
    """The score that a floor is held against."""

    COSINE = "cosine"
    """The largest cosine among the best results, as a floor on similarity reads it."""
    FUSED = "fused"
    """The best fused score, as `retrieval_min_score` reads it."""


ROLES: Final = {Signal.COSINE: "floor.no_match", Signal.FUSED: "floor.fused"}
"""Of the knob that is a floor on that score."""
PROMPTS: Final = "user_prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """The counts of one report over some floors."""

    recording: Recording
    signal: Signal
    source: str | None
    """The one source that is counted; None for all."""
    rows: tuple[Row, ...]
    curve: Sequence[FloorRefusals]
    judged: Sequence[JudgedFloor]
    """Empty where no question is labelled."""
    quantiles: Mapping[str, tuple[int, Mapping[str, float]]]
    """By group (`all`, then the labels that there are): how many scores, and their quantiles."""
    answerable: Rate
    """The base rate: of the labelled questions, scored or not, those that can be answered."""
    by_source: Mapping[str, int]
    unscored: Mapping[str, int]
    """Questions in no rate, by why."""
    excluded: Mapping[str, int]
    """Questions without a label although they were judged, by why."""
    configured: float | None
    """The floor that was in force for the tenant's users; None where there was none, or nobody says."""
    caveats: Sequence[str]

    @property
    def heading(self) -> Heading:
        """Under what it was measured."""
        return self.recording.heading

    @property
    def answer_usd(self) -> float | None:
        """What one answer cost on average where models judged, in dollars; None where nobody knows."""
        judging = self.heading.judging
        answered = sum(one.label is not None for one in self.recording.questions)
        if judging is None or judging.answer_cost_usd is None or not answered:
            return None
        return judging.answer_cost_usd / answered

    def saved_usd(self, refused: Rate) -> float | None:
        """What refusing so many questions saves: their answers."""
        return None if self.answer_usd is None else self.answer_usd * refused.numerator

    def marks(self, floor: float) -> bool:
        """Whether a row is that of the floor in force."""
        return self.configured is not None and math.isclose(floor, self.configured, abs_tol=1e-9)


def swept(
    recording: Recording,
    floors: Sequence[float],
    signal: Signal,
    *,
    knob: str | None,
    source: str | None = None,
) -> Swept:
    """Count a report over floors.

    Args:
        recording: The report.
        floors: In any order; counted ascending, each once.
        signal: The score that they are held against.
        knob: The knob that is a floor on it; None where the schema has none.
        source: Count only the questions of this source.

    Raises:
        UsageError: If a floor lies outside [0, 1], or the source has no question.
        InputError: If nothing is known of a floor, or of the signal at all.
    """
    wrong = [floor for floor in floors if not 0 <= floor <= 1]
    if wrong:
        raise UsageError(f"--floor {wrong[0]:g} must lie in [0, 1]")
    questions = [one for one in recording.questions if source in {None, one.source}]
    if not recording.questions:
        raise InputError(f"{visible(recording.source)} holds no question")
    if not questions:
        known = sorted({one.source for one in recording.questions})
        raise UsageError(
            f"no question is of {visible(str(source))}", hint=f"there are: {joined(known)}"
        )
    rows = tuple(_row(one, signal) for one in questions)
    ordered = sorted(dict.fromkeys(floors))
    _assert_known(recording, ordered[0], signal, rows)
    labels = [one.label for one in questions if one.label]
    excluded = Counter(one.excluded.value for one in questions if one.excluded)
    unscored = Counter(_why(one) for one, row in zip(questions, rows, strict=True) if _lacks(row))
    return Swept(
        recording=recording,
        signal=signal,
        source=source,
        rows=rows,
        curve=refusal_curve(rows, ordered),
        judged=judged_sweep(rows, ordered) if labels else (),
        quantiles=_quantiles(rows),
        answerable=Rate(labels.count(Label.ANSWERABLE), len(labels)),
        by_source=dict(sorted(Counter(one.source for one in questions).items())),
        unscored=dict(sorted(unscored.items())),
        excluded=dict(sorted(excluded.items())),
        configured=configured_floor(recording, knob),
        caveats=tuple(_caveats(recording, questions, signal)),
    )


def configured_floor(recording: Recording, knob: str | None) -> float | None:
    """The floor that was in force for the tenant's users when it was measured; None where it was off, or nobody says."""
    value = recording.heading.configured.get(knob) if knob else None
    return float(value) if isinstance(value, int | float) and value else None


def _row(question: Question, signal: Signal) -> Row:
    score = question.max_cosine if signal is Signal.COSINE else question.fused
    if signal is Signal.FUSED and question.why is Why.BELOW_FLOOR:
        score = 0.0  # somewhere under the floor that it was measured under
    return Row(
        max_similarity=score,
        answerable=None if question.label is None else question.label is Label.ANSWERABLE,
        source=question.source,
        declined=question.declined,
    )


def _lacks(row: Row) -> bool:
    return row.max_similarity is None


def _why(question: Question) -> str:
    return question.why.value if question.why else "no score"


def _assert_known(recording: Recording, floor: float, signal: Signal, rows: Sequence[Row]) -> None:
    if all(map(_lacks, rows)):
        raise InputError(f"{recording.source} holds no {signal.value} score of these questions")
    measured = recording.heading.floor
    cut = any(one.why is Why.BELOW_FLOOR for one in recording.questions)
    if signal is Signal.FUSED and cut and floor < measured:
        raise InputError(
            f"{recording.source} was measured under a floor of {measured:g}: what scored below it is not known, so nothing is known of {floor:g}",
            hint="measure under open floors: knobctl bench replay",
        )


def _quantiles(rows: Sequence[Row]) -> dict[str, tuple[int, Mapping[str, float]]]:
    groups = {
        "all": rows,
        "answerable": [row for row in rows if row.answerable],
        "unanswerable": [row for row in rows if row.answerable is False],
    }
    found: dict[str, tuple[int, Mapping[str, float]]] = {}
    for name, group in groups.items():
        scores = [row.max_similarity for row in group if row.max_similarity is not None]
        if scores:
            found[name] = (len(scores), quantiles(scores))
    return found


def _caveats(recording: Recording, questions: Sequence[Question], signal: Signal) -> Iterator[str]:
    """What a reader must know before comparing, as far as it applies."""
    heading = recording.heading
    if heading.judging and heading.judging.by is JudgedBy.MODELS:
        yield "The labels are a language model's, which had no reference answer: they are no ground truth."
    if any(one.source == PROMPTS for one in questions):
        yield "Typed prompts lean on the talk around them, and many cannot be answered alone. That raises unanswerable -> passed; the numerator of answerable -> refused it cannot move. See the explicit questions alone: --source mcp_query"
    yield f"Measured against the corpus as it was on {heading.made_at:%Y-%m-%d}, not as it was when the questions were asked."
    if signal is Signal.COSINE:
        yield f"Cosines are of {visible(heading.encoder)}; with another embedder all of this is to be measured again."
    else:
        weights = ", ".join(f"{name} {float(one):g}" for name, one in heading.weights.items())
        yield f"Fused scores are of k {heading.k} and the weights {weights}; with others all of this is to be measured again."
    yield "One tenant's corpus: one that is smaller, or about something else, lies elsewhere on the curve."


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One floor in two reports over the same questions."""

    floor: float
    refused: tuple[Rate, Rate]
    answerable_refused: tuple[Rate, Rate]
    difference: float
    """Of the refused shares: the other report's less this one's."""
    low: float
    """The ends of its 95 % interval, see `difference_interval`."""
    high: float


def compared(one: Swept, other: Swept) -> list[Compared]:
    """Set two reports side by side over the questions that both scored.

    Args:
        one: This report, swept.
        other: The other, swept over the same floors and signal.

    Raises:
        UsageError: If they have no question in common.
    """
    mine, theirs = _by_id(one), _by_id(other)
    common = sorted(mine.keys() & theirs.keys())
    if not common:
        raise UsageError("the two reports have no scored question in common")
    rows = [Rows.of([each[id_] for id_ in common]) for each in (mine, theirs)]
    floors = [each.floor for each in one.curve]
    found = []
    for floor in floors:
        refused = [each.scores < floor for each in rows]
        gained = int((~refused[0] & refused[1]).sum())
        lost = int((refused[0] & ~refused[1]).sum())
        low, high = difference_interval(gained, lost, len(common))
        curves = [refusal_curve(each, [floor])[0] for each in rows]
        judged = [judged_sweep(each, [floor])[0] for each in rows]
        shares = [curve.refused.value or 0.0 for curve in curves]
        found.append(
            Compared(
                floor=floor,
                refused=(curves[0].refused, curves[1].refused),
                answerable_refused=(judged[0].answerable_refused, judged[1].answerable_refused),
                difference=shares[1] - shares[0],
                low=low,
                high=high,
            )
        )
    return found


def _by_id(report: Swept) -> dict[str, Row]:
    questions = [one for one in report.recording.questions if report.source in {None, one.source}]
    return {
        question.id: row
        for question, row in zip(questions, report.rows, strict=True)
        if not _lacks(row)
    }
