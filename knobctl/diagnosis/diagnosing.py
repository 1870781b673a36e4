"""Diagnoses one answer: the verdict, the remarks in falling order of need, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.diagnosis import (
    doubts,
    floor_remarks,
    kept_remarks,
    pipeline_remarks,
    relevance_remarks,
)
from knobctl.diagnosis.advice import advice
from knobctl.diagnosis.case import Case, Diagnosis, Remark, Verdict
from knobctl.diagnosis.counting import would_keep
from knobctl.diagnosis.verdicts import headline, verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from knobctl.diagnosis.answer import Answer
    from knobctl.diagnosis.case import Asked
    from knobctl.diagnosis.tenant_knobs import TenantKnobs


def diagnose(
    answer: Answer,
    knobs: TenantKnobs,
    *,
    asked: Asked | None = None,
    floor: Fraction | None = None,
) -> Diagnosis:
    """Explain an answer. Total: whatever stands in it, there is a verdict.

    Args:
        answer: What an engine said.
        knobs: By whose weights, k and floors it is explained.
        asked: The question, where knobctl asked it itself.
        floor: Another floor: how many candidates would it keep?
    """
    case = Case(answer=answer, knobs=knobs, asked=asked)
    verdict = verdict_of(case)
    return Diagnosis(
        case=case,
        verdict=verdict,
        headline=headline(case, verdict),
        remarks=tuple(_remarks(case, verdict)),
        actions=tuple(advice(case, verdict)),
        what_if=None if floor is None or answer.error else would_keep(answer, floor),
    )


def _remarks(case: Case, verdict: Verdict) -> Iterator[Remark]:
    if verdict is Verdict.CALL_FAILED:
        text = "an error came instead of an answer: nothing was retrieved and no floor ran"
        yield Remark("no-answer", "means", text)
        return
    yield from pipeline_remarks.on_the_fallback(case)
    yield from kept_remarks.on_the_breach(case)
    yield from doubts.on_the_age(case)
    yield from doubts.on_the_scale(case)
    yield from pipeline_remarks.on_no_match(case)
    yield from pipeline_remarks.on_emptiness(case, verdict)
    if verdict not in {Verdict.NO_RESULTS, Verdict.DID_NOT_RUN, Verdict.NO_MATCH}:
        yield from _on_floors(case, verdict)
    yield from pipeline_remarks.on_the_cosine_filter(case)
    yield from floor_remarks.on_the_cost(case, verdict)
    yield from kept_remarks.on_what_was_kept(case)
    yield from kept_remarks.on_the_reach_of_vector(case)
    yield from relevance_remarks.on_the_relevance(case)
    yield from kept_remarks.on_top_k(case)
    yield from kept_remarks.on_the_prompt(case)
    yield from doubts.on_contradictions(case)
    yield from doubts.on_the_retrieval(case)
    yield from doubts.on_the_knobs(case, verdict)


def _on_floors(case: Case, verdict: Verdict) -> Iterator[Remark]:
    yield from floor_remarks.on_the_floor(case)
    yield from pipeline_remarks.on_the_divergence(case, verdict)
    yield from pipeline_remarks.on_the_expansion(case, verdict)
    yield from floor_remarks.on_the_best_removed(case)
    yield from floor_remarks.on_the_rankers(case)
    yield from floor_remarks.on_what_it_asks(case, verdict)
