"""A simulation as a record of evidence: aggregates alone. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl import __version__
from knobctl.checks.evidence_record import (
    Corpus,
    Estimate,
    Figure,
    Kind,
    Record,
    Share,
    measured_knobs,
)
from knobctl.evidence.harvest.asked import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from knobctl.checks.evidence_record import Sample
    from knobctl.evidence.simulation import Summary
    from knobctl.knobs import Catalogue, KnobValue


def record_of(
    summary: Summary, catalogue: Catalogue, *, made_at: datetime, sample: Sample | None = None
) -> Record:
    """Make the record of a simulation.

    Args:
        summary: What it came to; of several tenants, all of them together.
        catalogue: The knobs.
        made_at: When it was measured.
        sample: The tenants, where there are several.
    """
    found = summary.simulated
    also = found.changed_knobs
    corpus = found.corpus
    return Record(
        kind=Kind.SIMULATION,
        made_at=made_at,
        made_by=f"knobctl {__version__}",
        tenant=None if sample else found.tenant,
        knobs=_measured(catalogue, found.after, also),
        before=_measured(catalogue, found.before, also),
        questions=len(found.pairs),
        questions_digest=digest_of({one.asked.id for one in found.pairs}),
        labelled=sum(found.judged.answerable(one.asked.id) is not None for one in found.pairs),
        encoder=found.encoder,
        rankers=found.rankers,
        engine=found.engine,
        corpus=Corpus(
            chunks=corpus.chunks if corpus else 0,
            documents=corpus.documents if corpus else None,
            fingerprint=(corpus.digest or None) if corpus else None,
        ),
        figures=figures_of(summary),
        sample=sample,
    )


def figures_of(summary: Summary) -> dict[str, Figure]:
    """What came out, by stable names."""
    found = summary.simulated
    figures: dict[str, Figure] = {
        "emptied": Share.of(found.changes["emptied"]),
        "vector_only_best_lost_before": Share.of(found.vector_alone[0]),
        "vector_only_best_lost": Share.of(found.vector_alone[1]),
        "answerable_lost": None,
    }
    if passing := found.passing:
        figures |= {
            "answerable_cut": Share.of(passing.lost),
            "answerable_above_floor_before": Share.of(passing.before),
            "answerable_above_floor_after": Share.of(passing.after),
        }
    if silenced := found.silenced:
        before, after = silenced
        figures |= {
            "unanswerable_silent_before": Share.of(before),
            "unanswerable_silenced": Share.of(after),
        }
    if tokens := summary.tokens:
        figures |= {
            "tokens_before": tokens.before,
            "tokens_after": tokens.after,
            "tokens_difference": Estimate(tokens.difference, tokens.low, tokens.high),
        }
    return figures | (_of_prompts(summary) if found.knows_texts else {})


def _of_prompts(summary: Summary) -> dict[str, Figure]:
    """The figures that only an engine's prompts give."""
    found = summary.simulated
    figures: dict[str, Figure] = {"changed": Share.of(found.changes["changed"])}
    if served := found.served:
        figures |= {
            "answerable_lost": Share.of(served.lost),
            "answerable_gained": Share.of(served.gained),
            "answerable_served_before": Share.of(served.before),
            "answerable_served_after": Share.of(served.after),
        }
    for moved in summary.measures:
        shift = moved.shift
        figures |= {
            f"{moved.measure}_before": shift.before,
            f"{moved.measure}_after": shift.after,
            f"{moved.measure}_difference": Estimate(shift.difference, shift.low, shift.high),
        }
    if found.judged.has_qrels:
        before, after = found.unjudged
        figures |= {"unjudged_before": Share.of(before), "unjudged_after": Share.of(after)}
    return figures


def _measured(
    catalogue: Catalogue, values: Mapping[str, KnobValue], also: list[str]
) -> dict[str, KnobValue]:
    """Of a sample only what is the same in all of its tenants is there."""
    known = {**catalogue.defaults, **values}
    found = measured_knobs(catalogue, known, also=also)
    return {name: value for name, value in found.items() if name in values}
