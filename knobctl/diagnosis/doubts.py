"""Remarks on what an answer leaves open: whose knobs explain it, what contradicts itself, what is odd."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from knobctl.diagnosis.answer import Outcome
from knobctl.diagnosis.case import Case, Remark, score_text
from knobctl.fusion.numbers import number_text
from knobctl.text import joined, visible

if TYPE_CHECKING:
    from collections.abc import Iterator


def on_the_scale(case: Case) -> Iterator[Remark]:
    """Scores that are no normalised fused scores: a floor then compares what it was not made for."""
    answer = case.answer
    if not case.off_scale and not _removes_at_the_bottom(case):
        return
    knobs = case.knobs.on_scale_of("floor.fused")
    readers = joined([*knobs, "the minScore of Search's callers"])
    yield Remark(
        "scale-mismatch",
        "scale",
        f"{_why_off(case)}: not the normalised fused scale. Everything that is compared with this "
        f"score is then wrong: {readers}",
    )
    best = (
        answer.best_removed if answer.best_removed is not None else max(answer.scores, default=None)
    )
    everything = case.is_outcome(Outcome.BELOW_THRESHOLD) and answer.floor is not None
    if best is not None and everything and 1 - best >= (answer.floor or 1) > best:
        yield Remark(
            "direction-inverted",
            "direction",
            f"everything lies under the floor, and 1 - score would pass ({score_text(1 - best)}): "
            "distances taken for similarities, or the reverse",
        )


def _removes_at_the_bottom(case: Case) -> bool:
    """Whether a floor under every score that the lists can hold still removed something."""
    if (
        case.floor is None
        or not case.answer.removed
        or not case.scale.stated
        or case.answer.no_match
    ):
        return False
    reached = case.scale.reach(case.floor)
    return reached is not None and reached.removes_nothing(case.scale.live)


def _why_off(case: Case) -> str:
    answer = case.answer
    seen = [*answer.scores, *([] if answer.best_removed is None else [answer.best_removed])]
    best = max(seen, default=0.0)
    if best > 1:
        return f"a score of {score_text(best)} is above 1"
    if case.off_scale:
        live = len(case.scale.live)
        least = "1" if live == 1 else f"1/{live}"
        return (
            f"the best score is {score_text(best)}, and the first row of the heaviest of "
            f"{live} live rankers cannot score less than {least}"
        )
    floor = number_text(case.floor or Fraction(0))
    return f"a floor of {floor} lies under the last row of every list, and yet it removed some"


def on_contradictions(case: Case) -> Iterator[Remark]:
    """What in the answer cannot be so."""
    answer = case.answer
    returned = len(answer.rows)
    silent = {Outcome.NO_RESULTS, Outcome.BELOW_THRESHOLD}
    if answer.outcome in silent and returned:
        yield _contradiction(f"{answer.outcome}, and yet it holds {returned}")
    if case.is_outcome(Outcome.OK) and not answer.kept:
        yield _contradiction("ok, and yet it holds nothing")
    if answer.bands is not None and answer.removed is not None and not answer.no_match:
        total = sum(answer.bands)
        if answer.removed > total:
            yield _contradiction(f"{answer.removed:,} removed of {total:,} candidates")
        elif returned > total - answer.removed:
            kept = total - answer.removed
            yield _contradiction(f"{returned:,} returned, though {kept:,} passed the floor")
    if case.is_outcome(Outcome.UNSPECIFIED) and case.assembled and not answer.fallback_used:
        yield Remark(
            "unspecified-without-fallback",
            "means",
            "on AssembleContext, unspecified comes with fallbackUsed; without it the engine is an "
            "older one, or left the call unclassified",
        )


def on_the_age(case: Case) -> Iterator[Remark]:
    """What an engine does not tell that is older than the fields."""
    answer = case.answer
    if answer.outcome is not None or answer.error is not None:
        return
    text = "what the floor removed is not told"
    if not answer.rows:
        text += ": an empty corpus and a floor that removed everything look the same"
    yield Remark("older-engine", "means", f"from before outcome and resultsBelowThreshold: {text}")


def _contradiction(what: str) -> Remark:
    return Remark("contradiction", "odd", f"the answer contradicts itself: {what}")


def on_the_knobs(case: Case) -> Iterator[Remark]:
    """By whose weights and k the scores are explained."""
    answer, scale = case.answer, case.scale
    if answer.error is not None or not scale.live:
        return
    weights = " ".join(
        f"{visible(name)} {number_text(weight)}" for name, weight in scale.weights.items()
    )
    even = len(set(scale.weights.values())) == 1
    told = "equal weights" if even else f"weights {weights}"
    if any(scale.agrees(row) is False for row in answer.rows):
        whose = f"{case.knobs.tenant}'s" if case.knobs.tenant else "the platform's"
        more = "" if case.knobs.tenant else "; the tenant's own: --tenant NAME"
        yield Remark(
            "knobs-contradicted",
            "weights",
            f"the scores do not follow from {whose} {weights} and k {scale.k}: other knobs ranked "
            f"this, so shares and ceilings here may be wrong{more}",
        )
    elif case.knobs.tenant is None:
        yield Remark(
            "knobs-assumed",
            "assumed",
            f"{told}, k {scale.k}, as shipped; the tenant's own: --tenant NAME",
        )


def on_the_retrieval(case: Case) -> Iterator[Remark]:
    """What to know of the retrieval behind the answer."""
    answer = case.answer
    if answer.last_good_knobs:
        yield Remark(
            "last-good-knobs",
            "knobs",
            "the engine could not ask its store: the tenant's last good set ranked this",
        )
    if case.asked is not None:
        at = f" on corpus {visible(answer.corpus_version)}" if answer.corpus_version else ""
        text = f"a new retrieval{at}; an earlier answer may be of another corpus or set"
        yield Remark("second-retrieval", "asked now", text)
    for oddity in answer.oddities:
        yield Remark("oddity", "unread", oddity)
