"""What a diagnosis is made of, and what it is made from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Final

from knobctl.diagnosis.answer import Answer, Corpus, Outcome, Row, Surface
from knobctl.diagnosis.scale import SLACK, Scale
from knobctl.fusion import exact
from knobctl.fusion.numbers import fraction_text, number_text
from knobctl.text import all_of, decimal_text, number_word, visible

if TYPE_CHECKING:
    from knobctl.diagnosis.counting import WhatIf
    from knobctl.diagnosis.tenant_knobs import TenantKnobs

_MOST_DIGITS: Final = 17


class Verdict(StrEnum):
    """What happened, in one word for machines; the words never change."""

    CALL_FAILED = "call-failed"
    DID_NOT_RUN = "retrieval-did-not-run"
    UNCLASSIFIED = "unclassified"
    NO_RESULTS = "no-results"
    NO_MATCH = "no-match"
    FLOOR_REMOVED_ALL = "floor-removed-all"
    FLOOR_REMOVED_SOME = "floor-removed-some"
    EXPANSION_FLOOR_REMOVED_ALL = "expansion-floor-removed-all"
    REMOVED_UNCOUNTED = "removed-uncounted"
    ALL_PASSED = "all-passed"
    PROMPT_EMPTY = "prompt-empty"
    ROW_BELOW_FLOOR = "row-below-floor"
    ACCESS_REVOKED_UPSTREAM = "access-revoked-upstream"
    SOURCE_UNAVAILABLE = "source-unavailable"
    DOCUMENT_NO_LONGER_EXISTS = "document-no-longer-exists"
    DOCUMENT_REF_UNRESOLVED = "document-ref-unresolved"
    UNKNOWN_OUTCOME = "unknown-outcome"


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to know about an answer."""

    id: str
    """Stable."""
    topic: str
    """A word for the margin."""
    text: str


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do."""

    text: str
    command: str = ""
    """A command line that does it; empty where there is none."""
    asks_engine: bool = False
    """Whether the options that choose an engine belong to the command; they are not in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question that knobctl itself asked."""

    question: str
    tenant: str
    min_score: str | None = None
    top_k: int | None = None
    sources: tuple[str, ...] = ()
    corpus: Corpus | None = None
    """Where nothing was found and the engine says what there is."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One answer with everything that is known around it."""

    answer: Answer
    knobs: TenantKnobs
    asked: Asked | None = None

    @cached_property
    def scale(self) -> Scale:
        """What scores can be here."""
        return Scale.of(self.answer, self.knobs)

    @cached_property
    def floor(self) -> Fraction | None:
        """The floor that ran, exactly as it is written."""
        return None if self.answer.floor is None else exact(self.answer.floor)

    @property
    def floor_words(self) -> str:
        """The floor as people write it."""
        return "" if self.floor is None else f"the floor {number_text(self.floor)}"

    @property
    def assembled(self) -> bool:
        """Whether AssembleContext was called."""
        return self.answer.surface is Surface.ASSEMBLE

    @property
    def tenant(self) -> str:
        """The tenant as it stands in a command."""
        return self.knobs.tenant or (self.asked.tenant if self.asked else "") or "TENANT"

    @cached_property
    def breaches(self) -> tuple[Row, ...]:
        """The returned rows under the floor that the answer states."""
        floor = self.answer.floor
        if floor is None:
            return ()
        rows = self.answer.rows
        return tuple(r for r in rows if r.score is not None and r.score < floor - SLACK)

    @cached_property
    def best_bound(self) -> Fraction | None:
        """What the best candidate scores at most; None where the answer does not tell."""
        answer = self.answer
        known = [
            *answer.scores[:1],
            *([] if answer.best_removed is None else [answer.best_removed]),
        ]
        if answer.bands is not None:
            filled = [at for at, number in enumerate(answer.bands) if number]
            return Fraction(filled[-1] + 1, len(answer.bands)) if filled else None
        told = answer.removed == 0 or answer.best_removed is not None
        whole = told and not answer.omitted.total and len(answer.scores) == len(answer.rows)
        return exact(max(known)) if known and whole else None

    @cached_property
    def off_scale(self) -> bool:
        """Whether the scores cannot be normalised fused scores.

        The first row of the heaviest live ranker scores 1/m at least, whatever the weights of the m.
        """
        answer = self.answer
        seen = (*answer.scores, answer.best_removed or 0.0)
        if max(seen) > 1 + SLACK:
            return True
        cut = any(one.removed_by_cosine for one in (answer.rankers or {}).values())
        live = self.scale.live
        if cut or not live or self.best_bound is None or answer.no_match:
            return False
        return float(self.best_bound) < 1 / max(len(live), 3 if not self.scale.stated else 1) - 1e-6

    @cached_property
    def removes_below_all(self) -> bool:
        """Whether a floor under every score that the lists can hold still removed something."""
        answer = self.answer
        if self.floor is None or not answer.removed or not self.scale.stated or answer.no_match:
            return False
        reached = self.scale.reach(self.floor)
        return reached is not None and reached.removes_nothing(self.scale.live)

    @property
    def makes_sense(self) -> bool:
        """Whether the scores can be normalised fused scores, as far as one sees."""
        return not (self.off_scale or self.removes_below_all)

    @property
    def tells_of_scores(self) -> bool:
        """Whether there is anything in the answer that live rankers help to understand."""
        return self.floor is not None or bool(self.answer.rows) or self.scale.stated

    def switched_off(self, ranker: str) -> bool:
        """Whether the tenant is known to do without a ranker."""
        return self.knobs.tenant is not None and self.knobs.disabled(ranker)

    def is_outcome(self, outcome: Outcome) -> bool:
        """Whether the engine classified the call so."""
        return self.answer.outcome == outcome


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What one answer tells."""

    case: Case
    verdict: Verdict
    headline: str
    remarks: tuple[Remark, ...]
    """In falling order of need."""
    actions: tuple[Action, ...]
    what_if: WhatIf | None = None


def score_text(score: float, beside: Fraction | None = None) -> str:
    """Write a score with three decimals, with more where it would look like the number that it is beside."""
    if 0 < abs(score) < 0.001:
        return f"{score:.3g}"
    for digits in range(3, _MOST_DIGITS):
        text = f"{score:.{digits}f}"
        if beside is None or Fraction(text) != beside or exact(score) == beside:
            return text.rstrip("0").removesuffix(".")
    return decimal_text(score)


def ceilings_words(scale: Scale) -> str:
    """Say what hits can score: `at most 1/3 by one, 2/3 by two, 1 by all`."""
    *parts, _ = ceilings(scale) or [(Fraction(1), "")]
    if not parts:
        return "its first row scores 1"
    words = ", ".join(f"{fraction_text(ceiling)} by {who}" for ceiling, who in parts)
    return f"at most {words}, 1 by {'both' if len(scale.live) == 2 else 'all'}"


def ceilings(scale: Scale) -> list[tuple[Fraction, str]]:
    """What hits can score at most, with who found them: how many rankers, or which where that differs."""
    even = all(len(found) == 1 for found in scale.by_size().values())
    live = len(scale.live)
    named = [
        (ceiling, company(len(found_by), live) if even else "+".join(map(visible, found_by)))
        for found_by, ceiling in scale.classes.items()
    ]
    return list(dict.fromkeys(named))


def company(size: int, of: int) -> str:
    """Say how many of the live rankers found a hit: `one`, `two`, `all three`."""
    return all_of(size) if size == of else number_word(size)
