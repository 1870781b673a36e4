"""What must not worsen while a wave is watched: each tenant before and after, and the verdict. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.changes.probing import Answers
    from knobctl.changes.waves import Canary, Group


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric, before and after."""

    metric: str
    questions: int
    """Of so many."""
    before: int
    after: int

    @property
    def worse(self) -> Fraction:
        """By what share of the questions it worsened; negative where it improved."""
        return Fraction(self.after - self.before, self.questions) if self.questions else Fraction()

    def as_json(self) -> dict[str, Any]:
        """The measure as machine-readable output shows it."""
        return {
            "metric": self.metric,
            "questions": self.questions,
            "before": self.before,
            "after": self.after,
        }


def measured(before: Answers, after: Answers) -> tuple[Measure, ...]:
    """The guard metrics of one tenant."""
    total = before.questions
    lost = before.answered - after.answered
    return (
        Measure("below_threshold", total, len(before.below_threshold), len(after.below_threshold)),
        Measure("answers_lost", len(before.answered), 0, len(lost)),
        Measure("empty_contexts", total, len(before.empty), len(after.empty)),
    )


class WaveVerdict(StrEnum):
    """How a wave was found; of a dry run the first two."""

    HELD = "held"
    WORSE = "worse"
    """A tenant is answered worse than the bound allows."""
    NOT_WRITTEN = "not written"
    """Not all of it was."""
    NOT_ASKED = "not asked"
    """Its probes could not be."""
    PASSED_OVER = "passed over"
    """Every tenant of it had moved, and was skipped."""
    INTERRUPTED = "interrupted"
    """Written, and not watched to the end."""
    NOT_BEGUN = "not begun"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """What became of one wave."""

    name: str
    """As `waves.Group` has it."""
    tenants: tuple[str, ...]
    verdict: WaveVerdict = WaveVerdict.NOT_BEGUN
    rounds: int = 0
    """How often its questions were asked."""
    measures: Mapping[str, tuple[Measure, ...]] = field(default_factory=dict)
    """By tenant, as last asked."""
    breaches: tuple[tuple[str, Measure], ...] = ()
    """What worsened beyond the bound, by tenant."""
    why: str | None = None
    """Why the run goes back, where it does."""

    @property
    def totals(self) -> tuple[Measure, ...]:
        """The metrics over all tenants of the wave."""
        return tuple(
            Measure(
                same[0].metric,
                sum(one.questions for one in same),
                sum(one.before for one in same),
                sum(one.after for one in same),
            )
            for same in zip(*self.measures.values(), strict=True)
        )


def judged(
    group: Group,
    before: Mapping[str, Answers],
    after: Mapping[str, Answers],
    canary: Canary,
    *,
    rounds: int,
) -> Wave:
    """Judge each tenant by itself: the whole may look well where one tenant is lost."""
    measures = {name: measured(before[name], after[name]) for name in after}
    bound = canary.bound
    breaches = sorted(
        ((name, one) for name, all_of in measures.items() for one in all_of if one.worse > bound),
        key=lambda found: (-found[1].worse, found[0], found[1].metric != "answers_lost"),
    )
    return Wave(
        name=group.name,
        tenants=tuple(one.tenant for one in group.tenants),
        verdict=WaveVerdict.WORSE if breaches else WaveVerdict.HELD,
        rounds=rounds,
        measures=measures,
        breaches=tuple(breaches),
        why=breach_words(*breaches[0], canary.max_worse) if breaches else None,
    )


def breach_words(tenant: str, one: Measure, max_worse: str) -> str:
    """Say what worsened: `acme: 4 of 12 answers lost (33%, bound 2%)`."""
    how = f"({float(one.worse):.0%} worse, bound {max_worse})"
    match one.metric:
        case "answers_lost":
            return f"{tenant}: {one.after} of {count(one.questions, 'answer')} lost {how}"
        case "below_threshold":
            what = "below_threshold"
        case _:
            what = "without a context"
    return f"{tenant}: {one.after} of {count(one.questions, 'question')} {what}, {one.before} before {how}"
