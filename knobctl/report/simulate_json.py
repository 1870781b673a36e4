"""What a simulation came to, for machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from knobctl import __version__
from knobctl.errors import ExitCode
from knobctl.evidence.harvest.asked import fingerprint_of
from knobctl.evidence.simulating import CHANGES
from knobctl.report.sweep_json import rate_json
from knobctl.text import rfc3339

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from knobctl.checks.evidence_record import Sample
    from knobctl.evidence.paired import Shift
    from knobctl.evidence.ranking_measures import Moved
    from knobctl.evidence.rankings import Heading
    from knobctl.evidence.rates import Rate
    from knobctl.evidence.simulating import Kept, Pair, Simulated
    from knobctl.evidence.simulation import Slice, Summary


def simulate_json(
    summaries: Sequence[Summary],
    *,
    made_at: datetime,
    sample: Sample | None,
    recorded: str | None,
) -> str:
    """Tell machines: all tenants together, then each with its questions that change.

    Args:
        summaries: As for text.
        made_at: When it was measured.
        sample: The tenants that were drawn, where they were.
        recorded: The SHA-256 of the recording that was simulated over; None where an engine was asked.
    """
    whole, *tenants = summaries
    found = whole.simulated
    document: dict[str, Any] = {
        "version": 1,
        "command": "simulate",
        "outcome": ExitCode.OK.outcome,
        "exit_code": int(ExitCode.OK),
        "run": {
            "made_at": rfc3339(made_at),
            "made_by": f"knobctl {__version__}",
            "engine": found.engine,
            "recording_digest": recorded,
            "encoder": found.encoder,
            "rankers": list(found.rankers),
            "fingerprint": fingerprint_of({one.asked.id for one in found.pairs}),
        },
        "sample": _sample(sample),
        **_summary(whole),
        "slices": [_slice(one) for one in whole.slices],
        "tenants": [_tenant(one) for one in tenants or [whole]],
        "caveats": list(whole.caveats),
    }
    return json.dumps(document, indent=2)


def _sample(sample: Sample | None) -> dict[str, Any] | None:
    if sample is None:
        return None
    return {
        "layer": sample.layer,
        "tenants": list(sample.tenants),
        "of": sample.of,
        "seed": sample.seed,
    }


def _summary(one: Summary) -> dict[str, Any]:
    found = one.simulated
    return {
        "questions": len(found.pairs),
        "unknown": dict(found.unknown),
        "changes": {name: rate_json(rate) for name, rate in found.changes.items()},
        "nothing_assembled": _both(found.empty),
        "answerable_above_floors": _kept(found.passing),
        "answerable_in_prompt": _kept(found.served),
        "unanswerable_nothing_assembled": _both(found.silenced) if found.silenced else None,
        "best_match_by_rankers": [
            {"rankers": list(names), "above_floors": _kept(kept)}
            for names, kept in found.by_rankers.items()
        ],
        "prompt_tokens": _shift(one.tokens) if one.tokens else None,
        "measures": [_moved(each) for each in one.measures],
        "unjudged": _both(found.unjudged) if found.judged.has_qrels else None,
    }


def _tenant(one: Summary) -> dict[str, Any]:
    found = one.simulated
    corpus = found.corpus
    return {
        "tenant": found.tenant,
        "chunks": corpus.chunks if corpus else None,
        "corpus_digest": corpus.digest if corpus else None,
        "changes": [
            {"field_path": name, "before": found.before[name], "after": found.after[name]}
            for name in found.changed_knobs
        ],
        "questions": len(found.pairs),
        "answerable_above_floors": _kept(found.passing),
        "answerable_in_prompt": _kept(found.served),
        "nothing_assembled": _both(found.empty),
        "changed_questions": [_pair(found, each) for each in found.pairs if each.changed],
    }


def _pair(found: Simulated, pair: Pair) -> dict[str, Any]:
    """One question, by ids alone."""
    id_ = pair.asked.id
    answerable = found.judged.answerable(id_)
    served = [found.judged.is_served(id_, seen) for seen in (pair.before, pair.after)]
    return {
        "id": id_,
        "source": pair.asked.source,
        "tags": list(pair.asked.tags),
        "answerable": answerable,
        "changes": [name for name, happened in CHANGES.items() if happened(pair)],
        "lost": list(pair.lost),
        "gained": list(pair.gained),
        "above_floors": [pair.before.passes, pair.after.passes] if answerable else None,
        "in_prompt": served if answerable else None,
        "tokens": [pair.before.tokens, pair.after.tokens],
    }


def _slice(one: Slice) -> dict[str, Any]:
    return {
        "name": one.name,
        "questions": one.questions,
        "changed": rate_json(one.changed),
        "nothing_assembled": _both(one.empty),
        "answerable_above_floors": _kept(one.passing),
        "answerable_in_prompt": _kept(one.served),
        "measures": [_moved(each) for each in one.measures],
    }


def _both(rates: tuple[Rate, Rate]) -> dict[str, Any]:
    before, after = rates
    return {"before": rate_json(before), "after": rate_json(after)}


def _kept(kept: Kept | None) -> dict[str, Any] | None:
    if kept is None:
        return None
    return {
        "before": rate_json(kept.before),
        "after": rate_json(kept.after),
        "lost": rate_json(kept.lost),
        "gained": rate_json(kept.gained),
    }


def _shift(shift: Shift) -> dict[str, Any]:
    return {
        "questions": shift.questions,
        "before": shift.before,
        "after": shift.after,
        "difference": shift.difference,
        "interval": [shift.low, shift.high],
        "p_value": shift.p_value,
    }


def _moved(one: Moved) -> dict[str, Any]:
    return {"measure": one.measure, **_shift(one.shift), "p_value_corrected": one.corrected}


def recorded_json(heading: Heading, path: str, *, failed: int) -> str:
    """Tell machines what was recorded."""
    code = ExitCode.OK
    document = {
        "version": 1,
        "command": "simulate",
        "outcome": code.outcome,
        "exit_code": int(code),
        "recorded": path,
        "tenant": heading.tenant,
        "encoder": heading.encoder,
        "chunks": heading.corpus.chunks,
        "questions": heading.questions,
        "failed": failed,
    }
    return json.dumps(document, indent=2)
