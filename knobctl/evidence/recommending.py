"""A floor that labelled questions speak for, or why none can be named yet. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from knobctl.errors import InputError, RefusedError
from knobctl.evidence.bounded_floor import (
    floor_on_average,
    held_out,
    largest_floor,
    missing,
)
from knobctl.evidence.rates import Rate
from knobctl.evidence.recording import Label
from knobctl.evidence.separation import area_under_curve
from knobctl.evidence.sweeping import Signal, swept
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knobctl.evidence.bounded_floor import Bound, Chosen
    from knobctl.evidence.recording import Heading, Recording
    from knobctl.evidence.sweep import JudgedFloor
    from knobctl.evidence.sweeping import Swept

NO_BETTER: Final = 0.6
"""An area under the curve below it: a floor on that score cannot separate."""
WELL: Final = 0.9
"""From here on it separates well."""


@dataclass(frozen=True, kw_only=True)
class Recommended:
    """What labelled questions say of a floor under a bound."""

    swept: Swept
    """Over the floors that were tried, as the gate reads the scores."""
    knob: str
    bound: Bound
    chosen: Chosen | None
    """None where no floor keeps to the bound, as far as so few questions can say."""
    held_out: Rate | None
    """Of the answerable questions, those lost under floors in whose choice they had no part."""
    on_average: float | None
    missing: int
    """How many more answerable questions it takes, where none is chosen."""
    by_answer: bool
    """Whether a question is lost where the chunk that answers it is; else where nothing is left."""
    areas: dict[Signal, float | None]
    """By signal, how well it separates questions that can be answered from others."""

    @property
    def signal(self) -> Signal:
        """What the floor is held against."""
        return self.swept.signal

    @property
    def heading(self) -> Heading:
        """Under what the scores were measured."""
        return self.swept.heading

    @cached_property
    def answerable(self) -> list[float]:
        """The scores of the answerable questions, ascending."""
        return _scores(self.swept, answerable=True)

    @property
    def unanswerable(self) -> int:
        """How many scored questions cannot be answered."""
        return len(_scores(self.swept, answerable=False))

    @property
    def area(self) -> float | None:
        """How well the signal separates; None where one of both kinds is missing."""
        return self.areas[self.signal]

    @property
    def silenced(self) -> Rate | None:
        """Of the unanswerable questions, those that the floor leaves without context."""
        return None if self.chosen is None else silenced_at(self.row(self.chosen.floor))

    def row(self, floor: float) -> JudgedFloor:
        """What one of the floors does."""
        return next(one for one in self.swept.judged if one.floor == floor)

    def curve(self, beside: int) -> Sequence[JudgedFloor]:
        """The floors around the chosen one, or the lowest where there is none."""
        floors = [one.floor for one in self.swept.judged]
        at = floors.index(self.chosen.floor) if self.chosen else 0
        return self.swept.judged[max(at - beside, 0) : at + beside + 1]


def silenced_at(row: JudgedFloor) -> Rate:
    """Of the unanswerable questions, those under a floor."""
    passed = row.unanswerable_passed
    return Rate(passed.denominator - passed.numerator, passed.denominator)


def recommended(
    recording: Recording,
    signal: Signal,
    bound: Bound,
    *,
    knob: str,
    answers: Mapping[str, float] | None = None,
) -> Recommended:
    """Choose the largest floor that keeps to a bound.

    Args:
        recording: Labelled questions and what they scored under open floors.
        signal: What the floor is held against.
        bound: What it is to keep to.
        knob: The knob that is that floor.
        answers: By question id, the best fused score of a chunk that answers it, where one was found; None
            where nobody said which chunks do.

    Raises:
        InputError: If no question is labelled answerable, or nothing is known of the score.
        RefusedError: If the scores are none that a fused floor is held against.
    """
    if not any(one.label is Label.ANSWERABLE for one in recording.questions):
        raise InputError(
            f"no question of {visible(recording.source)} is labelled answerable: nobody knows what a floor would lose",
            hint="say which can be answered: --labels FILE, or knobctl bench judge",
        )
    if signal is Signal.FUSED:
        _refuse_one_ranker(recording)
    found = swept(_as_read(recording, signal, answers), bound.floors, signal, knob=knob)
    lost = _scores(found, answerable=True)
    if not lost:
        raise InputError(
            f"no answerable question of {visible(recording.source)} has a {signal.value} score"
        )
    chosen = largest_floor(lost, bound)
    return Recommended(
        swept=found,
        knob=knob,
        bound=bound,
        chosen=chosen,
        held_out=held_out(_by_id(found), bound) if chosen else None,
        on_average=floor_on_average(lost, bound),
        missing=0 if chosen else missing(lost, bound),
        by_answer=signal is Signal.FUSED and answers is not None,
        areas={each: _area(recording, each) for each in Signal},
    )


def _as_read(
    recording: Recording, signal: Signal, answers: Mapping[str, float] | None = None
) -> Recording:
    """The recording with the scores that the gate reads.

    A cosine floor reads the nearest chunk that was admitted, rendered or not. What a fused floor takes
    from an answerable question is the chunk that answers it, where it is known which does.
    """
    questions = recording.questions
    if signal is Signal.COSINE and any(one.nearest_cosine is not None for one in questions):
        questions = tuple(replace(one, max_cosine=one.nearest_cosine) for one in questions)
    if signal is Signal.FUSED and answers is not None:
        questions = tuple(
            replace(one, fused=answers.get(one.id))
            if one.label is Label.ANSWERABLE and one.why is None
            else one
            for one in questions
        )
    return replace(recording, questions=questions)


def _refuse_one_ranker(recording: Recording) -> None:
    """One ranker's run says nothing of the fused scores that users get."""
    live = {name for one in recording.questions for name in one.live}
    rankers = live or set(recording.heading.rankers)
    if len(rankers) > 1:
        return
    only = visible(next(iter(rankers), "no ranker"))
    raise RefusedError(
        f"{visible(recording.source)} was measured with {only} alone: users are served by several rankers, and this run says nothing of the fused scores that the floor filters.",
        hint="replay the questions with all rankers live; a cosine floor can be recommended from this: --signal cosine",
    )


def _area(recording: Recording, signal: Signal) -> float | None:
    """Over the best score that a question got: the same for both kinds of questions."""
    scores: dict[Label, list[float]] = {label: [] for label in Label}
    for one in _as_read(recording, signal).questions:
        score = one.max_cosine if signal is Signal.COSINE else one.fused
        if one.label and score is not None:
            scores[one.label].append(score)
    return area_under_curve(scores[Label.ANSWERABLE], scores[Label.UNANSWERABLE])


def _by_id(found: Swept) -> list[float]:
    """The scores of the answerable in the order of their ids, which no score has to do with."""
    named = zip((one.id for one in found.recording.questions), found.rows, strict=True)
    rows = (row for _, row in sorted(named, key=lambda one: one[0]))
    return [row.max_similarity for row in rows if row.answerable and row.max_similarity is not None]


def _scores(found: Swept, *, answerable: bool) -> list[float]:
    return sorted(
        row.max_similarity
        for row in found.rows
        if row.answerable is answerable and row.max_similarity is not None
    )


def caveats(found: Recommended) -> Iterator[str]:
    """What a reader must know before writing the floor."""
    questions = found.swept.recording.questions
    labelled = sum(one.label is Label.ANSWERABLE for one in questions)
    if lacking := labelled - len(found.answerable):
        why = "no ranker found what answers, whatever the floor" if found.by_answer else "no score"
        yield f"{count(lacking, 'answerable question')} in no figure: {why}."
    if found.signal is Signal.FUSED and (expanded := sum(one.expanded for one in questions)):
        yield f"{count(expanded, 'question')} went through the expansion pass: there the floor of that pass cuts first, and what it takes is not counted here."
    if found.signal is Signal.COSINE and all(one.nearest_cosine is None for one in questions):
        yield f"The report holds the largest cosine among the best {found.heading.top_k} results. The gate reads that of the nearest chunk, which is no smaller: no more is lost than stated, and less may be silenced."
    yield from found.swept.caveats
