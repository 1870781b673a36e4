"""Simulates two sets over recorded rankings, with the engine's own fusion and gates; no engine is asked. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError, UsageError
from knobctl.evidence.simulating import Pair, Seen, Shown, Simulated
from knobctl.text import spelled, visible

try:
    from knobctl.server.retrieval.floor import all_removed, apply_floor
    from knobctl.server.retrieval.fusing import fuse
    from knobctl.server.retrieval.gate import accepts, no_match, survivors
    from knobctl.server.retrieval.model import Fused, RankerReport
    from knobctl.server.retrieval.settings import settings_of
except ImportError as error:
    raise EngineError("evidence needs the engine", hint="pip install 'knobctl[engine]'") from error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knobctl.evidence.rankings import Heading, Pass, Ranked, RankedChunk, Rankings
    from knobctl.evidence.simulating import Judged
    from knobctl.knobs import Catalogue, KnobValue
    from knobctl.server.retrieval.model import Candidate
    from knobctl.server.retrieval.settings import Settings

RUNS: Final = "runs"
"""What a recording calls the engine where it was made of runs of TREC."""
NOT_RECORDED: Final = "expansion_pass_not_recorded"
"""Why a question is in no figure: under one of the sets it goes through a pass that is not in the recording."""
_FLOORS: Final = ("floor.fused", "floor.expansion")
_FREE: Final = (
    *("fusion.k", "floor.no_match", "gate", "gate.confident", "ranker.timeout"),
    *("assembly_max_chunks", "max_chunks_per_document"),
    *("result_cache_mode", "result_cache_ttl_seconds"),
)
"""Knobs, by role or name, that may be anything: a recording says what they do."""
_TEXTUAL: Final = ("assembly_token_budget", "mmr_lambda", "dedup_min_similarity")
"""Knobs that work on texts, which are not recorded: the same in both sets, they are left out of both."""


def simulated_over(
    rankings: Rankings,
    catalogue: Catalogue,
    before: Mapping[str, KnobValue],
    after: Mapping[str, KnobValue],
    judged: Judged,
) -> Simulated:
    """Compare two canonical sets over recorded rankings.

    Raises:
        UsageError: If a set asks for what is not recorded: deeper lists, lower floors, another ranker, texts.
    """
    heading = rankings.heading
    for one in (before, after):
        _assert_recorded(heading, catalogue, catalogue.effective(one))
    _assert_same_texts(catalogue, catalogue.effective(before), catalogue.effective(after))
    sets = [settings_of(catalogue, one) for one in (before, after)]
    recorded = settings_of(catalogue, catalogue.canonical(heading.knobs))
    found = [_pair(one, sets, recorded, judged) for one in rankings.questions]
    pairs = [one for one in found if isinstance(one, Pair)]
    live = {name for one in pairs for name in one.after.live}
    return Simulated(
        tenant=heading.tenant,
        before=catalogue.effective(before),
        after=catalogue.effective(after),
        pairs=pairs,
        unknown=dict(Counter(one for one in found if isinstance(one, str))),
        judged=judged,
        encoder=heading.encoder,
        corpus=heading.corpus,
        engine=heading.engine,
        rankers=tuple(name for name in catalogue.rankers if name in live),
        knows_texts=False,
    )


def caveats(rankings: Rankings) -> Iterator[str]:
    """What a reader must know of a simulation without an engine."""
    heading = rankings.heading
    what = "runs" if heading.engine == RUNS else f"rankings of {heading.made_at:%Y-%m-%d}"
    yield (
        f"No engine was asked: these are {what}. Texts are not recorded, so duplicates, "
        "diversity and the token budget are left out of both sets: what passes is taken best first."
    )


def _pair(one: Ranked, sets: Sequence[Settings], recorded: Settings, judged: Judged) -> Pair | str:
    relevant = judged.qrels.relevant(one.asked.id) if judged.has_qrels else None
    seen = [_seen(one, settings, recorded, relevant) for settings in sets]
    if seen[0] is None or seen[1] is None:
        return NOT_RECORDED
    return Pair(one.asked, seen[0], seen[1])


def _seen(
    one: Ranked, settings: Settings, recorded: Settings, relevant: frozenset[str] | None
) -> Seen | None:
    fused = _fused(one.first, settings, settings.depths)
    expanded = not accepts(fused, settings.expansion)
    used = one.wide if expanded else one.first
    if used is None or not (used.is_whole or _fuse_alike(settings, recorded)):
        return None
    if expanded:
        fused = _fused(used, settings, settings.widened())
    kept, _ = survivors(fused.candidates, settings.expansion) if expanded else (fused.candidates, 0)
    closed = no_match(fused.best_cosine, settings.no_match_min_cosine)
    passing = (all_removed(kept) if closed else apply_floor(kept, settings.floor)).kept
    by_id = {each.chunk: each for each in used.chunks}
    match = next(
        (
            shown
            for shown in (_shown(each, by_id) for each in fused.candidates)
            if relevant is None or shown.is_named(relevant)
        ),
        None,
    )
    return Seen(
        chunks=tuple(_picked([_shown(each, by_id) for each in passing], settings)),
        expanded=expanded,
        live=tuple(name for name, report in fused.rankers.items() if report.rows),
        match=match,
        passes=match is not None and any(each.chunk_id == match.chunk for each in passing),
    )


def _fuse_alike(settings: Settings, recorded: Settings) -> bool:
    """Whether what was cut off a recorded pass, its worst, would be the worst under other settings too."""
    return (settings.fusion, settings.depths) == (recorded.fusion, recorded.depths)


def _fused(used: Pass, settings: Settings, depths: Mapping[str, int]) -> Fused:
    """What the engine's fusion makes of the recorded ranks, no deeper than it would have asked."""
    ranks = {name: _list(used, name, depths[name]) for name in depths}
    rows = {name: min(used.rows.get(name, 0), depth) for name, depth in depths.items()}
    active = [name for name, number in rows.items() if number]
    return Fused(
        candidates=fuse(ranks, active=active, fusion=settings.fusion),
        rankers={name: RankerReport(rows=number) for name, number in rows.items()},
        best_cosine=used.best_cosine if "vector" in active else None,
    )


def _list(used: Pass, ranker: str, depth: int) -> dict[str, int]:
    held = [(one.ranks[ranker], one.chunk) for one in used.chunks if ranker in one.ranks]
    return {chunk: rank for rank, chunk in sorted(held)[:depth]}


def _picked(passing: Sequence[Shown], settings: Settings) -> Iterator[Shown]:
    """Those that enter the prompt as far as is known without texts."""
    of_document: Counter[str] = Counter()
    taken = 0
    for one in passing:
        if taken == settings.limits.max_chunks:
            return
        if of_document[one.document] < settings.limits.per_document:
            of_document[one.document] += 1
            taken += 1
            yield one


def _shown(candidate: Candidate, by_id: Mapping[str, RankedChunk]) -> Shown:
    return Shown(
        candidate.chunk_id,
        by_id[candidate.chunk_id].document,
        tuple(candidate.ranks),
        candidate.score,
    )


def _assert_recorded(
    heading: Heading, catalogue: Catalogue, values: Mapping[str, KnobValue]
) -> None:
    """See that a recording says what a set does.

    Raises:
        UsageError: Naming the knob.
    """
    for knob in catalogue.knobs:
        wanted, had = values[knob.name], heading.knobs.get(knob.name, knob.default)
        names = {knob.role or "", knob.name}
        role = knob.role or ""
        if wanted == had or names & {*_FREE, *_TEXTUAL} or role.startswith("fusion.weight."):
            continue
        if role in _FLOORS:
            if float(wanted) < float(had):
                raise _unknown(knob.name, wanted, f"what scores below {spelled(had)}")
        elif role.startswith("depth."):
            if int(wanted) > int(had):
                raise _unknown(knob.name, wanted, f"what lies deeper than {spelled(had)}")
        elif role.startswith("ranker."):
            if had == "DISABLED":
                raise _unknown(knob.name, wanted, "what that ranker finds")
        else:
            raise _unknown(knob.name, wanted, f"anything but {knob.name} {spelled(had)}")


def _assert_same_texts(
    catalogue: Catalogue, before: Mapping[str, KnobValue], after: Mapping[str, KnobValue]
) -> None:
    for name in _TEXTUAL:
        if name in catalogue.by_name and before[name] != after[name]:
            raise _unknown(name, after[name], "texts")


def _unknown(name: str, wanted: KnobValue, what: str) -> UsageError:
    return UsageError(
        f"{name} {visible(spelled(wanted))} cannot be simulated over this recording: it does not hold {what}",
        hint="ask the engine: leave --rankings out, or record anew under such a set: --record",
    )
