"""Asks an engine each question under two sets: what the model would get to see; nothing is written."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from knobctl.engine.evaluating import evaluated_under
from knobctl.errors import EngineError
from knobctl.evidence.replaying import AT_ONCE, patience, searched
from knobctl.evidence.simulating import Pair, Seen, Shown, Simulated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from threading import Event

    from knobctl.engine.interface import Engine
    from knobctl.evidence.harvest.asked import Question
    from knobctl.evidence.simulating import Asked, Judged
    from knobctl.knobs import Catalogue, KnobValue

FAILED: Final = "failed"
"""Why a question is in no figure: it could not be asked, or a ranker did not answer."""
_ALL: Final = 0
_MANY: Final = 12
_BEST: Final = 1
"""Candidates that come back, beside what is assembled: what answers is looked for among many, then among all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BothSets:
    """Whose corpus is asked, and under what."""

    engine: Engine
    catalogue: Catalogue
    tenant: str
    before: Mapping[str, KnobValue]
    after: Mapping[str, KnobValue]
    judged: Judged
    """What is known of the questions."""
    parallelism: int
    """Calls at a time."""
    stop: Event
    """Set where no further call may begin."""
    failures: list[str] = field(default_factory=list)
    """Why questions could not be asked, or what they were answered is no answer."""

    @property
    def configs(self) -> list[dict[str, KnobValue]]:
        """Both sets, with all the time that a ranker may take."""
        longest = patience(self.catalogue)
        return [{**one, **longest} for one in (self.before, self.after)]


def simulated(
    both: BothSets,
    questions: Sequence[tuple[Question, Asked]],
    *,
    kind: str,
    tell: Callable[[], object],
) -> Simulated:
    """Ask all questions under both sets.

    Args:
        both: The engine and the sets.
        questions: Each with what may be said of it.
        kind: What kind of engine it is, without address or secret.
        tell: Told of each question that is through, from several threads.

    Returns:
        Fewer questions than were given where it was stopped.

    Raises:
        InputError: If the tenant has no text.
        EngineError: If the engine does not say what it searches.
    """
    encoder, corpus = searched(both.engine, both.tenant)
    found = [*_asked_all(both, questions, tell)]
    pairs = [one for one in found if isinstance(one, Pair)]
    values = [both.catalogue.effective(one) for one in (both.before, both.after)]
    return Simulated(
        tenant=both.tenant,
        before=values[0],
        after=values[1],
        pairs=pairs,
        unknown=dict(Counter(one for one in found if isinstance(one, str))),
        judged=both.judged,
        encoder=encoder,
        corpus=corpus,
        engine=kind,
        rankers=_live(both, pairs),
    )


def _live(both: BothSets, pairs: Sequence[Pair]) -> tuple[str, ...]:
    """The rankers that returned a row to any question under the later set."""
    found = {name for one in pairs for name in one.after.live}
    return tuple(name for name in both.catalogue.rankers if name in found)


def _asked_all(
    both: BothSets, questions: Sequence[tuple[Question, Asked]], tell: Callable[[], object]
) -> Iterator[Pair | str]:
    def ask(batch: Sequence[tuple[Question, Asked]]) -> list[Pair | str]:
        found = _asked(both, batch)
        for _ in found:
            tell()
        return found

    batches = [questions[at : at + AT_ONCE] for at in range(0, len(questions), AT_ONCE)]
    with ThreadPoolExecutor(both.parallelism, thread_name_prefix="simulate") as pool:
        for found in pool.map(ask, batches):
            yield from found


def _asked(both: BothSets, batch: Sequence[tuple[Question, Asked]]) -> list[Pair | str]:
    """Ask some questions, and once more those whose answer is not among the first candidates."""
    found = _answered(both, batch, _MANY if both.judged.has_qrels else _BEST)
    if not both.judged.has_qrels or not found:
        return found
    missing = [place for place, one in enumerate(found) if _is_missing(both.judged, one)]
    if missing:
        again = _answered(both, [batch[place] for place in missing], _ALL)
        for place, one in zip(missing, again, strict=False):
            found[place] = one
    return found


def _is_missing(judged: Judged, one: Pair | str) -> bool:
    if isinstance(one, str) or not judged.answerable(one.asked.id):
        return False
    return any(seen.match is None and not seen.expanded for seen in (one.before, one.after))


def _answered(
    both: BothSets, batch: Sequence[tuple[Question, Asked]], top_k: int
) -> list[Pair | str]:
    """What a call gives; where it fails, each of its questions is asked alone."""
    if both.stop.is_set():
        return []
    request = {"queries": [question.question for question, _ in batch], "topK": top_k}
    try:
        sides = evaluated_under(both.engine, both.tenant, both.configs, request)
        return [
            _pair(both, asked, before, after)
            for (_, asked), before, after in zip(batch, *sides, strict=True)
        ]
    except EngineError as error:
        why = str(error)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"{both.engine.name} answered nonsense: {type(error).__name__} {error}"
    if len(batch) > 1:
        return [found for one in batch for found in _answered(both, (one,), top_k)]
    both.failures.append(why)
    return [FAILED]


def _pair(
    both: BothSets, asked: Asked, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Pair | str:
    relevant = both.judged.qrels.relevant(asked.id) if both.judged.has_qrels else None
    rankers = both.catalogue.rankers
    seen = [seen_in(one, rankers, relevant) for one in (before, after)]
    if seen[0] is None or seen[1] is None:
        both.failures.append(f"{both.engine.name}: a ranker failed or was late")
        return FAILED
    return Pair(asked, seen[0], seen[1])


def seen_in(
    answer: Mapping[str, Any], rankers: Sequence[str], relevant: frozenset[str] | None
) -> Seen | None:
    """Read what one evaluation would have assembled.

    Args:
        answer: The evaluation.
        rankers: In summation order.
        relevant: What answers the question; None where nobody knows, then the best chunk of all is looked for.

    Returns:
        None where a ranker failed: the others rank otherwise without it.
    """
    quality = answer.get("quality", {})
    reports = quality.get("rankers", {})
    if quality.get("fallbackUsed") or any(
        report.get("error") or report.get("timedOut") for report in reports.values()
    ):
        return None
    chunks = [_shown(hit, rankers) for hit in answer.get("chunks", [])]
    expanded = bool(quality.get("expanded", False))
    candidates = (_shown(hit, rankers) for hit in answer.get("candidates", []))
    in_order = sorted(chunks, key=lambda one: -one.score) if expanded else candidates
    match = next((one for one in in_order if relevant is None or one.is_named(relevant)), None)
    floor = float(quality.get("effectiveMinScore", 0.0))
    return Seen(
        chunks=tuple(chunks),
        tokens=int(quality.get("promptTokens", 0)),
        expanded=expanded,
        live=tuple(name for name in rankers if reports.get(name, {}).get("rows")),
        match=match,
        passes=match is not None and match.score >= floor and not quality.get("noMatch"),
    )


def _shown(hit: Mapping[str, Any], rankers: Sequence[str]) -> Shown:
    held = hit.get("ranks", {})
    return Shown(
        chunk=str(hit["chunkId"]),
        document=str(hit["documentId"]),
        rankers=tuple(name for name in rankers if name in held),
        score=float(hit["score"]),
    )
