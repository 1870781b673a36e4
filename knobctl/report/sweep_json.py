"""What floors would have refused, for machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from knobctl.errors import ExitCode
from knobctl.evidence.harvest.asked import fingerprint_of
from knobctl.evidence.rates import rule_of_three, wilson_interval
from knobctl.report.sweep import JUDGED
from knobctl.text import rfc3339

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.evidence.rates import Rate
    from knobctl.evidence.sweeping import Compared, Swept


def sweep_json(swept: Swept, *, compare: Sequence[Compared] = ()) -> str:
    """Tell machines."""
    heading = swept.heading
    document: dict[str, Any] = {
        "version": 1,
        "command": "bench sweep",
        "outcome": ExitCode.OK.outcome,
        "exit_code": int(ExitCode.OK),
        "signal": swept.signal.value,
        "source": swept.source,
        "run": {
            "made_at": rfc3339(heading.made_at),
            "made_by": heading.made_by,
            "engine": heading.engine,
            "tenant": heading.tenant,
            "encoder": heading.encoder,
            "corpus_digest": heading.corpus.digest,
            "chunks": heading.corpus.chunks,
            "top_k": heading.top_k,
            "report_digest": swept.recording.digest,
            "fingerprint": fingerprint_of(one.id for one in swept.recording.questions),
        },
        "questions": len(swept.rows),
        "by_source": dict(swept.by_source),
        "unscored": dict(swept.unscored),
        "excluded": dict(swept.excluded),
        "answerable": rate_json(swept.answerable),
        "quantiles": {
            group: {"n": number, **found} for group, (number, found) in swept.quantiles.items()
        },
        "configured_floor": swept.configured,
        "refusal_curve": [
            {
                "floor": one.floor,
                "configured": swept.marks(one.floor),
                "refused": rate_json(one.refused),
                "calls_saved": one.refused.numerator,
                "usd_saved": swept.saved_usd(one.refused),
                "refused_by_source": {
                    source: rate_json(rate) for source, rate in one.refused_by_source.items()
                },
            }
            for one in swept.curve
        ],
        "judged_sweep": [
            {
                "floor": one.floor,
                "configured": swept.marks(one.floor),
                **{name: rate_json(getattr(one, name)) for name, _ in JUDGED},
            }
            for one in swept.judged
        ],
        "caveats": list(swept.caveats),
    }
    if compare:
        document["compared"] = [_compared(one) for one in compare]
    return json.dumps(document, indent=2)


def rate_json(rate: Rate) -> dict[str, Any]:
    """A rate with both intervals; null where there is nothing to divide by."""
    wilson = wilson_interval(rate.numerator, rate.denominator) if rate.denominator else None
    none = rate.denominator and not rate.numerator
    return {
        "numerator": rate.numerator,
        "denominator": rate.denominator,
        "value": rate.value,
        "exact": [rate.low, rate.high] if rate.denominator else None,
        "wilson": list(wilson) if wilson else None,
        "rule_of_three": rule_of_three(rate.denominator) if none else None,
    }


def _compared(one: Compared) -> dict[str, Any]:
    here, there = (rate_json(rate) for rate in one.refused)
    lost_here, lost_there = (rate_json(rate) for rate in one.answerable_refused)
    return {
        "floor": one.floor,
        "refused": here,
        "refused_there": there,
        "answerable_refused": lost_here,
        "answerable_refused_there": lost_there,
        "difference": one.difference,
        "interval": [one.low, one.high],
    }
