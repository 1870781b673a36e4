"""What AssembleContext answers, made of a view: the floor, the no-match gate, the prompt, and what they did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.server.retrieval.assembly import Picked, pick
from knobctl.server.retrieval.floor import Floored, all_removed, apply_floor, histogram
from knobctl.server.retrieval.gate import no_match
from knobctl.server.retrieval.hits import bare_hits, hits, stacked
from knobctl.server.retrieval.model import Assembled, Fallback, Outcome, Quality
from knobctl.server.retrieval.prompt import written_prompt
from knobctl.server.retrieval.tokens import count_tokens
from knobctl.server.retrieval.view import answered
from knobctl.server.store.corpus import corpus_version

if TYPE_CHECKING:
    from knobctl.server.retrieval.model import Fused
    from knobctl.server.retrieval.settings import Settings
    from knobctl.server.retrieval.view import Standing, View


def wanted_in_prompt(fused: Fused, settings: Settings) -> list[str]:
    """The chunks whose texts an assembly needs: those above the floor, or the nearest where nothing matches."""
    if _is_no_match(fused, settings):
        return [chunk_id for chunk_id, _ in fused.nearest]
    return [candidate.chunk_id for candidate in _floored(fused, settings).kept]


def assembled(task: str | None, view: View) -> Assembled:
    """Assemble a prompt for a task.

    Args:
        task: What the prompt is for; None where nobody reads it, and its text is left empty.
        view: With the chunks that `wanted_in_prompt` names, and their vectors.
    """
    fused, settings = view.fused, view.standing.settings
    if not answered(fused):
        return _without_retrieval(view.standing, _fallback(fused), fused)
    floored = _floored(fused, settings)
    kept = hits(floored.kept, view.chunks, view.retrieved)
    vectors = stacked([view.chunks[hit.chunk.chunk_id] for hit in kept])
    picked = pick(kept, vectors, settings.limits, count_tokens)
    return Assembled(
        prompt="" if task is None else written_prompt(task, picked.hits),
        chunks=picked.hits,
        quality=_quality(view, floored, picked),
    )


def ranked(view: View) -> Assembled:
    """Say what the ranking half came to: nothing is floored, and no prompt is made.

    Args:
        view: With the vector of the best candidate, where its cosine is not known.

    Returns:
        As its only chunk the best candidate of the expansion pass, where there was one; by its id alone.
    """
    fused = view.fused
    best = fused.candidates[:1] if fused.expanded else ()
    quality = Quality(
        effective_min_score=view.standing.settings.floor,
        retrieval_outcome=Outcome.UNSPECIFIED,
        corpus_version=spelled_version(view.standing.corpus_version),
        rankers=fused.rankers,
        expanded=fused.expanded,
        rewrites=fused.rewrites,
        removed_by_expansion_floor=fused.removed_by_expansion_floor,
        best_cosine=fused.best_cosine,
        last_good_knobs=view.standing.last_good,
    )
    return Assembled(
        prompt="", chunks=bare_hits(best, view.chunks, view.retrieved), quality=quality
    )


def no_query(standing: Standing) -> Assembled:
    """The answer to a blank task: nothing was retrieved, and nothing is wrong."""
    return _without_retrieval(standing, Fallback.NO_QUERY, None)


def _without_retrieval(standing: Standing, fallback: Fallback, fused: Fused | None) -> Assembled:
    quality = Quality(
        effective_min_score=standing.settings.floor,
        retrieval_outcome=Outcome.UNSPECIFIED,
        corpus_version=spelled_version(standing.corpus_version),
        fallback=fallback,
        rankers=fused.rankers if fused else {},
        last_good_knobs=standing.last_good,
    )
    return Assembled(prompt="", chunks=(), quality=quality)


def _fallback(fused: Fused) -> Fallback:
    if all(report.error for report in fused.rankers.values()):
        return Fallback.RETRIEVAL_FAILED
    return Fallback.RETRIEVAL_TIMEOUT


def _quality(view: View, floored: Floored, picked: Picked) -> Quality:
    fused, settings = view.fused, view.standing.settings
    is_no_match = _is_no_match(fused, settings)
    emptied = floored.outcome is Outcome.NO_RESULTS and fused.removed_by_expansion_floor > 0
    nearest = fused.nearest if is_no_match else ()
    return Quality(
        effective_min_score=settings.floor,
        retrieval_outcome=Outcome.BELOW_THRESHOLD if emptied else floored.outcome,
        corpus_version=corpus_version(fused.corpus_version),
        results_below_threshold=floored.removed,
        rankers=fused.rankers,
        expanded=fused.expanded,
        rewrites=fused.rewrites,
        removed_by_expansion_floor=fused.removed_by_expansion_floor,
        best_cosine=fused.best_cosine,
        no_match=is_no_match,
        nearest=tuple((view.chunks[i], cosine) for i, cosine in nearest if i in view.chunks),
        best_removed_score=floored.best_removed_score,
        score_histogram=histogram(fused.candidates),
        omitted=picked.omitted,
        prompt_tokens=picked.tokens,
        last_good_knobs=view.standing.last_good,
    )


def _floored(fused: Fused, settings: Settings) -> Floored:
    if _is_no_match(fused, settings):
        return all_removed(fused.candidates)
    return apply_floor(fused.candidates, settings.floor)


def _is_no_match(fused: Fused, settings: Settings) -> bool:
    return no_match(fused.best_cosine, settings.no_match_min_cosine)


def spelled_version(version: int | None) -> str:
    """Spell a corpus' version as answers do; empty where the store could not be asked."""
    return "" if version is None else corpus_version(version)
