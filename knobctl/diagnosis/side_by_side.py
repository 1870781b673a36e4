"""One question under two sets: what each step removed, and what a model would gain, lose and get in another order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from knobctl.diagnosis.case import score_text
from knobctl.diagnosis.comparing import facts_of
from knobctl.diagnosis.diagnosing import diagnose
from knobctl.diagnosis.kept_remarks import left_out
from knobctl.text import count, joined, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knobctl.diagnosis.case import Case, Diagnosis
    from knobctl.diagnosis.evaluated import Candidate, Evaluated
    from knobctl.diagnosis.tenant_knobs import TenantKnobs


class Shift(StrEnum):
    """What becomes of a chunk from the one set to the other."""

    GAINED = "gained"
    LOST = "lost"
    MOVED = "moved"
    """In both prompts, in another order among those that are in both."""
    STAYED = "stayed"
    OUT = "out"
    """In neither prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One chunk under both sets."""

    chunk_id: str
    before: Candidate | None
    """None where it was not found."""
    after: Candidate | None
    shift: Shift

    @property
    def seen(self) -> Candidate:
        """It as it is after, else as it was before."""
        found = self.after or self.before
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that both answers tell."""

    topic: str
    before: str
    """Empty where the answer does not say."""
    after: str

    @property
    def differs(self) -> bool:
        """Whether the sets make a difference here."""
        return self.before != self.after


@dataclass(frozen=True, kw_only=True)
class Side:
    """The answer under one set, and what it means."""

    evaluated: Evaluated
    diagnosis: Diagnosis

    @classmethod
    def of(cls, evaluated: Evaluated, knobs: TenantKnobs) -> Side:
        """Explain an answer by the set that it was given under."""
        return cls(evaluated=evaluated, diagnosis=diagnose(evaluated.answer, knobs))


@dataclass(frozen=True)
class SideBySide:
    """Two answers to one question."""

    before: Side
    after: Side

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Every chunk that either found: the later prompt in its order, what it lost, the others by score."""
        return tuple(sorted(_pairs(self.before.evaluated, self.after.evaluated), key=_order))

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """What both tell, in the order of the pipeline; what neither tells is left out."""
        two = [_facts(side.diagnosis.case) for side in (self.before, self.after)]
        found = (Fact(topic, *(side.get(topic, "") for side in two)) for topic in _TOPICS)
        return tuple(one for one in found if one.before or one.after)

    def number(self, shift: Shift) -> int:
        """How many chunks have that fate."""
        return sum(pair.shift is shift for pair in self.pairs)

    @property
    def changes_the_prompt(self) -> bool:
        """Whether a model would get something else, or in another order."""
        return any(self.number(shift) for shift in (Shift.GAINED, Shift.LOST, Shift.MOVED))


def _pairs(before: Evaluated, after: Evaluated) -> Iterator[Pair]:
    then, now = before.by_id, after.by_id
    common = [one.chunk_id for one in before.prompt if _is_in_prompt(now, one.chunk_id)]
    kept = [one.chunk_id for one in after.prompt if _is_in_prompt(then, one.chunk_id)]
    at_before, at_after = ({one: at for at, one in enumerate(ids)} for ids in (common, kept))
    for chunk_id in dict.fromkeys((*now, *then)):
        was, will = _is_in_prompt(then, chunk_id), _is_in_prompt(now, chunk_id)
        if was and will:
            stays = at_before[chunk_id] == at_after[chunk_id]
            shift = Shift.STAYED if stays else Shift.MOVED
        else:
            shift = Shift.GAINED if will else Shift.LOST if was else Shift.OUT
        yield Pair(
            chunk_id=chunk_id, before=then.get(chunk_id), after=now.get(chunk_id), shift=shift
        )


def _is_in_prompt(found: Mapping[str, Candidate], chunk_id: str) -> bool:
    return chunk_id in found and found[chunk_id].place is not None


def _order(pair: Pair) -> tuple[int, float, str]:
    if pair.after and pair.after.place is not None:
        return 0, pair.after.place, pair.chunk_id
    if pair.before and pair.before.place is not None:
        return 1, pair.before.place, pair.chunk_id
    return 2, -(pair.seen.score or 0.0), pair.chunk_id


_TOPICS: Final = (
    "outcome", "live", "cosine floor", "no match", "expansion", "candidates", "floor", "removed",
    "best removed", "left out", "in the prompt", "tokens",
)  # fmt: skip
"""In the order of the pipeline."""
_OTHERWISE: Final = {"best": "best removed", "returned": "in the prompt"}
"""What comparisons of answers call otherwise."""


def _facts(case: Case) -> dict[str, str]:
    """What one answer tells, topic by topic."""
    told = {
        _OTHERWISE.get(topic, topic): text
        for topic, text in facts_of(case.answer, case.floor).items()
        if text is not None
    }
    found = told | dict(_removals(case))
    if case.scale.stated:
        found["live"] = ", ".join(map(visible, case.scale.live)) or "none"
    if case.answer.prompt_tokens is not None:
        found["tokens"] = f"{case.answer.prompt_tokens:,}"
    return found


def _removals(case: Case) -> Iterator[tuple[str, str]]:
    """What the steps beside the floor removed, and by which value."""
    answer, knobs = case.answer, case.knobs
    cut = {
        name: state.removed_by_cosine
        for name, state in (answer.rankers or {}).items()
        if state.removed_by_cosine
    }
    if cut:
        rows = ", ".join(f"{number:,} of {visible(name)}" for name, number in cut.items())
        yield "cosine floor", f"{rows} under {knobs.said('floor.vector')}"
    if answer.no_match:
        floor = knobs.number("floor.no_match")
        near = answer.best_cosine
        best = "" if near is None else f"best cosine {score_text(near, floor)}, "
        yield "no match", f"{best}under {knobs.said('floor.no_match')}"
    if answer.expanded:
        removed = count(answer.removed_by_expansion, "candidate")
        yield "expansion", f"ran; {removed} under {knobs.said('floor.expansion')}"
    if bound := left_out(case):
        yield "left out", joined(bound)
