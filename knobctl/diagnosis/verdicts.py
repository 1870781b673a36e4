"""The verdict on an answer and the line that says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.diagnosis.answer import Outcome
from knobctl.diagnosis.case import Case, Verdict, score_text
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LONGEST_QUOTE: Final = 300
_DECLARED: Final[Mapping[str, tuple[Verdict, str]]] = {
    Outcome.ACCESS_REVOKED_UPSTREAM: (
        Verdict.ACCESS_REVOKED_UPSTREAM,
        "the source has taken back the access by which its texts were found",
    ),
    Outcome.SOURCE_UNAVAILABLE: (
        Verdict.SOURCE_UNAVAILABLE,
        "the source of what was found cannot be reached",
    ),
    Outcome.DOCUMENT_NO_LONGER_EXISTS: (
        Verdict.DOCUMENT_NO_LONGER_EXISTS,
        "what was found has been deleted at its source",
    ),
    Outcome.DOCUMENT_REF_UNRESOLVED: (
        Verdict.DOCUMENT_REF_UNRESOLVED,
        "what was found points to a document that cannot be resolved",
    ),
}


def verdict_of(case: Case) -> Verdict:  # noqa: PLR0911  one return a verdict
    """Classify an answer: the gravest that holds."""
    answer = case.answer
    if answer.error is not None:
        return Verdict.CALL_FAILED
    if case.breaches:
        return Verdict.ROW_BELOW_FLOOR
    if answer.fallback_used:
        return Verdict.DID_NOT_RUN
    match answer.outcome:
        case None | Outcome.UNSPECIFIED:
            return Verdict.UNCLASSIFIED
        case Outcome.NO_RESULTS:
            return Verdict.NO_RESULTS
        case Outcome.BELOW_THRESHOLD:
            return _removed(case)
        case Outcome.OK:
            return _kept(case)
        case declared if declared in _DECLARED:
            return _DECLARED[declared][0]
        case _:
            return Verdict.UNKNOWN_OUTCOME


def _removed(case: Case) -> Verdict:
    answer = case.answer
    if answer.no_match:
        return Verdict.NO_MATCH
    if answer.removed:
        return Verdict.FLOOR_REMOVED_ALL
    return (
        Verdict.EXPANSION_FLOOR_REMOVED_ALL
        if answer.removed_by_expansion
        else Verdict.REMOVED_UNCOUNTED
    )


def _kept(case: Case) -> Verdict:
    answer = case.answer
    if case.assembled and answer.kept and not answer.rows:
        return Verdict.PROMPT_EMPTY
    return Verdict.FLOOR_REMOVED_SOME if answer.removed else Verdict.ALL_PASSED


def headline(case: Case, verdict: Verdict) -> str:
    """Say the verdict in a line."""
    said = _HEADLINES.get(verdict)
    if said is not None:
        return said(case)
    outcome = visible((case.answer.outcome or "")[:60])
    declared = _DECLARED.get(case.answer.outcome or "")
    if declared:
        return f"{outcome}: {declared[1]}; no floor took it."
    return f"{outcome}: an outcome that this knobctl does not know; the engine is newer."


def _call_failed(case: Case) -> str:
    error = case.answer.error
    said = visible(error.message[:LONGEST_QUOTE]) if error else ""
    code = visible(error.code[:40]) if error else ""
    return f"The call failed, {code}{f': {said}' if said else ''}"


def _breach(case: Case) -> str:
    rows = case.breaches
    first = rows[0]
    score = score_text(first.score or 0.0, case.floor)
    more = f", and {len(rows) - 1:,} more" if len(rows) > 1 else ""
    floor = case.floor_words
    return (
        f"Contract breach: row {visible(first.chunk_id[:80]) or '1'} scores {score}, under {floor} "
        f"that the answer states{more}."
    )


def _did_not_run(case: Case) -> str:
    reason = visible(case.answer.fallback_reason[:60]) or "no reason given"
    return f"Retrieval did not run: {reason}."


def _unclassified(case: Case) -> str:
    rows = count(len(case.answer.rows), "chunk" if case.assembled else "result")
    if case.answer.outcome is None:
        return f"No outcome in the answer, which holds {rows}: an older engine."
    return f"unspecified: the engine did not classify this call. The answer holds {rows}."


def _no_results(_case: Case) -> str:
    return "no_results: no ranker gave anything that could be fused, so no floor removed anything."


def _no_match(case: Case) -> str:
    best, floor = case.answer.best_cosine, case.knobs.said("floor.no_match")
    nearest = "the closest chunk" if best is None else f"the closest chunk has cosine {best:.3f}"
    return (
        f"below_threshold: {nearest}, under {floor}, so nothing was assembled: the no-match gate."
        if best is not None
        else f"below_threshold: {nearest} was under {floor}, so nothing was assembled."
    )


def _floor_removed_all(case: Case) -> str:
    answer = case.answer
    removed = answer.removed or 0
    candidates = count(removed, "candidate")
    all_of_them = {1: "it", 2: "both"}.get(removed, f"all {removed:,}")
    best = (
        ""
        if answer.best_removed is None
        else f"; {'it' if removed == 1 else 'the best'} scored {score_text(answer.best_removed, case.floor)}"
    )
    floor = case.floor_words or "the floor"
    return f"below_threshold: {candidates}, {floor} removed {all_of_them}{best}."


def _expansion_removed_all(case: Case) -> str:
    cut = case.answer.removed_by_expansion
    known = case.knobs.tenant is not None
    name = case.knobs.said("floor.expansion") if known else case.knobs.name("floor.expansion")
    return (
        f"below_threshold: {count(cut, 'candidate')}, {name} removed all of them in the expansion "
        f"pass; {case.floor_words or 'the floor'} had nothing left to look at."
    )


def _removed_uncounted(case: Case) -> str:
    floor = f"{case.floor_words} removed" if case.floor else "the floor removed"
    return f"below_threshold: {floor} everything; the answer does not count it."


def _ok(case: Case) -> str:
    answer = case.answer
    removed, kept = answer.removed or 0, answer.kept
    floor = case.floor_words or "the floor"
    weakest = (
        f"; the weakest {'in the prompt' if case.assembled else 'shown'} scores "
        f"{score_text(answer.scores[-1], case.floor)}"
        if answer.scores
        else ""
    )
    more = " or more" if answer.bands is None and not case.assembled and answer.rows else ""
    if not removed:
        return f"ok: {count(kept, 'candidate')}{more}, {floor} removed none{weakest}."
    found = f"{kept + removed:,}{more} candidates"
    return f"ok: {found}, {floor} removed {removed:,} and kept {kept:,}{more}{weakest}."


def _prompt_empty(case: Case) -> str:
    kept = count(case.answer.kept, "candidate")
    return f"ok, and yet the prompt is empty: {kept} passed the floor and none entered it."


_HEADLINES: Final[Mapping[Verdict, Callable[[Case], str]]] = {
    Verdict.CALL_FAILED: _call_failed,
    Verdict.ROW_BELOW_FLOOR: _breach,
    Verdict.DID_NOT_RUN: _did_not_run,
    Verdict.UNCLASSIFIED: _unclassified,
    Verdict.NO_RESULTS: _no_results,
    Verdict.NO_MATCH: _no_match,
    Verdict.FLOOR_REMOVED_ALL: _floor_removed_all,
    Verdict.FLOOR_REMOVED_SOME: _ok,
    Verdict.ALL_PASSED: _ok,
    Verdict.EXPANSION_FLOOR_REMOVED_ALL: _expansion_removed_all,
    Verdict.REMOVED_UNCOUNTED: _removed_uncounted,
    Verdict.PROMPT_EMPTY: _prompt_empty,
}
