"""Remarks on what an answer leaves open: whose knobs explain it, what contradicts itself, what is odd."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from knobctl.diagnosis.answer import Outcome
from knobctl.diagnosis.case import Case, Remark, Verdict, score_text
from knobctl.fusion.numbers import number_text
from knobctl.text import count, joined, visible

if TYPE_CHECKING:
    from collections.abc import Iterator


def on_the_scale(case: Case) -> Iterator[Remark]:
    """Scores that are no normalised fused scores: a floor then compares what it was not made for."""
    if case.makes_sense:
        return
    answer = case.answer
    readers = joined([*case.knobs.on_scale_of("floor.fused"), "the minScore of Search's callers"])
    yield Remark(
        "scale-mismatch",
        "scale",
        f"{_why_off(case)}: not the normalised fused scale. Everything that is compared with this "
        f"score is then wrong: {readers}",
    )
    best, floor = _best(case), answer.floor
    if not case.is_outcome(Outcome.BELOW_THRESHOLD) or best is None or floor is None:
        return
    if 1 - best >= floor > best > _raw_at_most(case):
        yield Remark(
            "direction-inverted",
            "direction",
            f"everything lies under the floor, and 1 - score would pass ({score_text(1 - best)}): "
            "distances taken for similarities, or the reverse",
        )


def _best(case: Case) -> float | None:
    known = [*case.answer.scores[:1]]
    if case.answer.best_removed is not None:
        known.append(case.answer.best_removed)
    return max(known, default=None)


def _raw_at_most(case: Case) -> float:
    """The best score of rank fusion that is not normalised: first in every live ranker, all weights 1."""
    return len(case.scale.live) / (case.scale.k + 1) * 1.001


def _why_off(case: Case) -> str:
    best, live = _best(case), len(case.scale.live)
    if best is None or not case.off_scale:
        floor = number_text(case.floor or Fraction(0))
        return f"a floor of {floor} lies under the last row of every list, and yet it removed some"
    if best > 1:
        return f"a score of {score_text(best)} is above 1"
    least = "1" if live == 1 else f"1/{live}"
    with_live = count(live, "live ranker")
    raw = (
        f", as in rank fusion that is not normalised ({live}/{case.scale.k + 1} at most)"
        if best <= _raw_at_most(case)
        else ""
    )
    return (
        f"the best score is {score_text(best, Fraction(1, live))}{raw}, and with {with_live} the best row cannot "
        f"score less than {least}"
    )


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


def on_the_knobs(case: Case, verdict: Verdict) -> Iterator[Remark]:
    """By whose weights and k the scores are explained."""
    answer, scale = case.answer, case.scale
    silent = verdict in {Verdict.DID_NOT_RUN, Verdict.NO_RESULTS}
    if silent or not scale.live or not case.tells_of_scores or not case.makes_sense:
        return
    weights = " ".join(
        f"{visible(name)} {number_text(weight)}" for name, weight in scale.weights.items()
    )
    even = len(set(scale.weights.values())) == 1
    told = "equal weights" if even else f"weights {weights}"
    if any(scale.agrees(row) is False for row in answer.rows):
        whose = f"{case.knobs.tenant}'s" if case.knobs.tenant else "the platform's"
        more = "" if case.knobs.tenant else f"; {_own_knobs(case)}"
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
            f"{told}, k {scale.k}, as shipped; {_own_knobs(case)}",
        )


def _own_knobs(case: Case) -> str:
    """How to be told by the tenant's own knobs; who asked for a tenant was not let at them."""
    if case.asked is not None:
        return "the token may not read the tenant's own, which needs L3"
    return "the tenant's own: --tenant NAME"


def on_the_retrieval(case: Case) -> Iterator[Remark]:
    """What to know of the retrieval behind the answer."""
    answer = case.answer
    if answer.last_good_knobs:
        yield Remark(
            "last-good-knobs",
            "knobs",
            "the engine could not ask its store: the tenant's last good set ranked this",
        )
    if case.asked is not None and not answer.fallback_used:
        at = f" on corpus {visible(answer.corpus_version)}" if answer.corpus_version else ""
        text = f"a new retrieval{at}; an earlier answer may be of another"
        yield Remark("second-retrieval", "asked now", text)
    for oddity in answer.oddities:
        yield Remark("oddity", "unread", oddity)
