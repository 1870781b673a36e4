"""A recommended floor, or why none can be named yet, for machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from knobctl.evidence.harvest.asked import fingerprint_of
from knobctl.evidence.rates import exact_interval
from knobctl.evidence.recommending import caveats, silenced_at
from knobctl.evidence.sweeping import Signal
from knobctl.fusion import exact, reach
from knobctl.report.recommend import guarantee
from knobctl.report.sweep_json import rate_json
from knobctl.text import rfc3339

if TYPE_CHECKING:
    from knobctl.errors import ExitCode
    from knobctl.evidence.recommending import Recommended
    from knobctl.evidence.sweep import JudgedFloor

_AROUND = 10_000


def recommend_json(found: Recommended, *, code: ExitCode, plan_with: str) -> str:
    """Tell machines; `recommended` is null where it is refused, and `missing` says how many labels it takes."""
    bound = found.bound
    document: dict[str, Any] = {
        "version": 1,
        "command": "recommend",
        "outcome": code.outcome,
        "exit_code": int(code),
        "tenant": found.heading.tenant,
        "knob": found.knob,
        "signal": found.signal.value,
        "max_loss": bound.max_loss,
        "confidence": bound.confidence,
        "lost_is": "answer" if found.by_answer else "everything",
        "tried": {
            "lowest": bound.floors[0],
            "highest": bound.floors[-1],
            "floors": len(bound.floors),
        },
        "recommended": _chosen(found, plan_with) if found.chosen else None,
        "missing": found.missing,
        "guarantee": guarantee(found) if found.chosen else None,
        "on_average": found.on_average,
        "auc": {each.value: area for each, area in found.areas.items()},
        "answerable": len(found.answerable),
        "unanswerable": found.unanswerable,
        "questions": len(found.swept.rows),
        "unscored": dict(found.swept.unscored),
        "configured_floor": found.swept.configured,
        "curve": [_row(found, row) for row in found.curve(_AROUND)],
        "run": _run(found),
        "caveats": [*caveats(found)],
    }
    return json.dumps(document, indent=2)


def _chosen(found: Recommended, plan_with: str) -> dict[str, Any]:
    chosen = found.chosen
    assert chosen is not None
    return {
        "floor": chosen.floor,
        "lost": rate_json(chosen.lost),
        "interval": list(chosen.interval),
        "held_out": rate_json(found.held_out) if found.held_out else None,
        "seed": found.bound.seed,
        "silenced": rate_json(found.silenced) if found.silenced else None,
        "reach": _reach(found, chosen.floor) if found.signal is Signal.FUSED else None,
        "command": plan_with,
    }


def _row(found: Recommended, row: JudgedFloor) -> dict[str, Any]:
    lost = row.answerable_refused
    return {
        "floor": row.floor,
        "lost": rate_json(lost),
        "interval": list(exact_interval(lost.numerator, lost.denominator, found.bound.confidence)),
        "silenced": rate_json(silenced_at(row)),
    }


def _reach(found: Recommended, floor: float) -> dict[str, Any]:
    """Down to which rank hits of one ranker pass, and whether the floor can empty a result."""
    reached = reach(found.heading.setup(exact(floor)))
    return {
        "deepest_ranks": {
            name: reached.deepest(reached.enabled, (name,)) for name in reached.enabled
        },
        "can_be_empty": reached.can_be_empty(reached.enabled),
    }


def _run(found: Recommended) -> dict[str, Any]:
    heading, recording = found.heading, found.swept.recording
    return {
        "made_at": rfc3339(heading.made_at),
        "made_by": heading.made_by,
        "engine": heading.engine,
        "encoder": heading.encoder,
        "corpus_digest": heading.corpus.digest,
        "documents": heading.corpus.documents,
        "chunks": heading.corpus.chunks,
        "fingerprint": fingerprint_of(one.id for one in recording.questions),
    }
