"""Remarks on the other steps of the pipeline: what never ran or found nothing, expansion, cosine filter, no-match gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.diagnosis.case import Case, Remark, Verdict
from knobctl.diagnosis.counting import first_empty
from knobctl.fusion.numbers import number_text
from knobctl.text import count, joined, visible

if TYPE_CHECKING:
    from collections.abc import Iterator


FALLBACKS: Final = {
    "no_query": "the task was blank, so there was nothing to search for",
    "retrieval_failed": "every ranker failed",
    "retrieval_timeout": "no ranker answered in time",
}
NEVER_LOADED: Final = "c0"
"""The corpus version of a tenant that has no corpus."""
_LONGEST_QUOTE: Final = 60


def on_the_fallback(case: Case) -> Iterator[Remark]:
    """Why retrieval did not run."""
    answer = case.answer
    if not answer.fallback_used:
        return
    meaning = FALLBACKS.get(answer.fallback_reason)
    if meaning is None:
        known = joined(FALLBACKS, "or")
        meaning = f"the engine's reason is none of the three that are known: {known}"
    elif answer.fallback_reason == "retrieval_timeout":
        meaning = f"{meaning} ({case.knobs.noted('ranker.timeout')})"
    yield Remark("fallback", "why", f"{meaning}. No floor ran, so none is at fault")
    yield from _failures(case)


def _failures(case: Case) -> Iterator[Remark]:
    """What each ranker that gave nothing says of it."""
    for name, state in (case.answer.rankers or {}).items():
        said = visible(state.error[:200]) or ("did not answer in time" if state.timed_out else "")
        if said:
            kind = "ranker-late" if state.timed_out else "ranker-failed"
            yield Remark(kind, "ranker", f"{visible(name)}: {said}")


def on_emptiness(case: Case, verdict: Verdict) -> Iterator[Remark]:
    """The first step that gave nothing, where nothing was found."""
    if verdict is not Verdict.NO_RESULTS:
        return
    rankers, empty = case.answer.rankers, first_empty(case.answer)
    rows = ", ".join(f"{visible(name)} {one.rows:,}" for name, one in (rankers or {}).items())
    step = f"; the first step with nothing left: {empty.name}" if empty else ""
    text = f"{rows or 'not told by ranker'}{step}"
    yield Remark("first-empty-stage", "rows", text)
    corpus = case.asked.corpus if case.asked else None
    if corpus is not None and corpus.chunks:
        sources = joined(sorted(corpus.sources)[:5]) if corpus.sources else "none"
        there = f"{count(corpus.chunks, 'chunk')} of {count(corpus.documents, 'document')}"
        yield Remark("corpus", "corpus", f"the tenant holds {there}, in sources: {sources}")
    elif holds_nothing(case):
        yield Remark("empty-corpus", "corpus", _nothing_there(case))
    yield from _failures(case)
    if all_cut_by_cosine(case):
        yield Remark(
            "cosine-floor-removed-all",
            "cosine",
            f"{case.knobs.said('floor.vector')} took every row that was found, so the fused floor "
            "had nothing to look at; no lower fused floor helps",
        )
        return
    perhaps = "" if corpus is not None and corpus.chunks else "an empty corpus, "
    why = (
        ""
        if holds_nothing(case)
        else f": {perhaps}a scope or a token that admits no source, or rankers that failed"
    )
    text = f"no floor is at fault, and no lower one helps{why}"
    yield Remark("not-a-floor-problem", "floor", text)


def holds_nothing(case: Case) -> bool:
    """Whether the tenant is known to have no text at all."""
    asked, rankers = case.asked, (case.answer.rankers or {}).values()
    if any(one.rows or one.error or one.timed_out for one in rankers):
        return False
    told = asked.corpus if asked else None
    return not told.chunks if told else case.answer.corpus_version == NEVER_LOADED


def _nothing_there(case: Case) -> str:
    version = case.answer.corpus_version
    place = f" at {visible(case.answer.source)}" if case.asked else ""
    if version in {NEVER_LOADED, None}:
        return f"version c0: nothing was ever loaded for this tenant{place}"
    return f"version {visible(version or '')[:40]}: all that was loaded for this tenant{place} was deleted"


def all_cut_by_cosine(case: Case) -> bool:
    """Whether rows were found and the cosine filter took them all."""
    states = (case.answer.rankers or {}).values()
    found = sum(state.rows for state in states)
    return 0 < found <= sum(state.removed_by_cosine for state in states)


def on_the_expansion(case: Case, verdict: Verdict) -> Iterator[Remark]:
    """What the expansion pass cut before the floor could look at it."""
    answer = case.answer
    if not answer.expanded and not answer.removed_by_expansion:
        return
    cut, knob = answer.removed_by_expansion, case.knobs.said("floor.expansion")
    if verdict is Verdict.EXPANSION_FLOOR_REMOVED_ALL:
        floor = case.knobs.name("floor.fused") or "the floor"
        text = f"it ran before the floor, so no lower {floor} brings anything back"
        yield Remark("expansion-floor-removed-all", "before", text)
    elif cut:
        text = (
            f"{count(cut, 'candidate')} of the expansion pass fell under {knob}; no lower "
            f"{case.knobs.name('floor.fused') or 'floor'} brings them back"
        )
        yield Remark("expansion-floor-removed-some", "before", text)
    if answer.expanded:
        yield Remark("expanded", "expanded", _expansion(case))


def _expansion(case: Case) -> str:
    rewrites = case.answer.rewrites
    confident = case.knobs.said("gate.confident")
    said = f"the best first score was under {confident}, so the rankers ran again, wider"
    if not rewrites:
        return said
    quoted = ", ".join(f'"{_quoted(one)}"' for one in rewrites[:3])
    more = f" and {len(rewrites) - 3} more" if len(rewrites) > 3 else ""
    return f"{said}, with {count(len(rewrites), 'rewrite')}: {quoted}{more}"


def _quoted(text: str) -> str:
    whole = visible(text[: _LONGEST_QUOTE + 1])
    return whole if len(text) <= _LONGEST_QUOTE else f"{whole[:_LONGEST_QUOTE]}..."


def on_the_cosine_filter(case: Case) -> Iterator[Remark]:
    """What `vector_min_cosine` took out of the lists."""
    for name, state in (case.answer.rankers or {}).items():
        if not state.removed_by_cosine or all_cut_by_cosine(case):
            continue
        cut, ranker = state.removed_by_cosine, visible(name)
        rows = count(state.rows, f"{ranker} row")
        taken = f"all {rows}" if cut >= state.rows else f"{cut:,} of {rows}"
        yield Remark(
            "cosine-floor-removed-rows",
            "cosine",
            f"{case.knobs.said('floor.vector')} took {taken} before fusion; {ranker} stays live, so "
            "the others' scores are not raised by it",
        )


def on_no_match(case: Case) -> Iterator[Remark]:
    """What the no-match gate means, and what was closest."""
    answer = case.answer
    if not answer.no_match:
        return
    removed = (
        f"; it counts {count(answer.removed, 'candidate')} as removed" if answer.removed else ""
    )
    yield Remark(
        "no-match-gate",
        "gate",
        f"silence instead of noise, as the knob wants it; not the fused floor{removed}",
    )
    nearest = [
        f"{visible(name[:60]) or '?'}{'' if cosine is None else f' {cosine:.3f}'}"
        for name, cosine in answer.nearest[:5]
    ]
    if nearest:
        yield Remark("nearest", "closest", ", ".join(nearest))


def on_the_divergence(case: Case, verdict: Verdict) -> Iterator[Remark]:
    """How the floor stands to the floor of the expansion pass, where that strands results."""
    expanded = case.knobs.number("floor.expansion")
    told = verdict in {Verdict.FLOOR_REMOVED_ALL, Verdict.FLOOR_REMOVED_SOME, Verdict.ALL_PASSED}
    if not (case.assembled and told and expanded and case.floor and expanded != case.floor):
        return
    name, floor = case.knobs.name("floor.expansion"), number_text(case.floor)
    known = case.knobs.tenant is not None
    what = f"{name} {number_text(expanded)}"
    if not known:
        what = f"{name}, if that is at its default {number_text(expanded)}"
    if case.floor > expanded:
        text = (
            f"above {what}: what expansion admits from {number_text(expanded)} up to {floor} is "
            "thrown away afterwards"
        )
    else:
        text = f"below {what}: an expanded query is cut there first, which {floor} cannot rescue"
    yield Remark("floor-diverges-from-expanded-floor", "diverges", text)
