"""A recommendation as a record of evidence: aggregates alone. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.checks.evidence_record import Corpus, Kind, Record, Share, measured_knobs
from knobctl.errors import InputError
from knobctl.evidence.harvest.asked import digest_of
from knobctl.evidence.sweeping import Signal
from knobctl.text import visible

if TYPE_CHECKING:
    from knobctl.checks.evidence_record import Figure
    from knobctl.evidence.recommending import Recommended
    from knobctl.knobs import Catalogue


def record_of(found: Recommended, catalogue: Catalogue) -> Record:
    """Make the record of a recommendation: it speaks for the set in force with the recommended floor in it.

    Args:
        found: With a floor.
        catalogue: The knobs.

    Raises:
        InputError: If nobody says which set was in force.
    """
    heading, recording = found.heading, found.swept.recording
    assert found.chosen is not None
    if not heading.configured:
        raise InputError(
            f"{visible(recording.source)} does not say which knobs were in force: it is evidence for no set",
            hint="replay the questions: knobctl bench replay",
        )
    values = {**heading.configured, found.knob: found.chosen.floor}
    return Record(
        kind=Kind.RECOMMENDATION,
        made_at=heading.made_at,
        made_by=heading.made_by,
        tenant=heading.tenant,
        knobs=measured_knobs(catalogue, {**catalogue.defaults, **values}),
        questions=len(recording.questions),
        questions_digest=digest_of(one.id for one in recording.questions),
        labelled=sum(one.label is not None for one in recording.questions),
        encoder=heading.encoder,
        rankers=heading.rankers,
        engine=heading.engine,
        corpus=Corpus(
            chunks=heading.corpus.chunks,
            documents=heading.corpus.documents,
            fingerprint=heading.corpus.digest,
        ),
        figures=figures_of(found),
    )


def figures_of(found: Recommended) -> dict[str, Figure]:
    """What came out, by stable names.

    Under a fused floor a question that keeps some chunk may lose the one that answers it. Where nobody
    said which one that is, questions left with nothing are all that is bounded, and are named so.
    """
    chosen, bound = found.chosen, found.bound
    assert chosen is not None
    held_out = Share.of(found.held_out) if found.held_out else None
    knows_lost = found.signal is Signal.COSINE or found.by_answer
    of_loss: dict[str, Figure] = (
        {
            "max_loss": bound.max_loss,
            "answerable_lost": Share.of(chosen.lost),
            "answerable_lost_held_out": held_out,
        }
        if knows_lost
        else {
            "max_emptied": bound.max_loss,
            "answerable_lost": None,
            "answerable_emptied": Share.of(chosen.lost),
            "answerable_emptied_held_out": held_out,
        }
    )
    return {
        "floor": chosen.floor,
        "confidence": bound.confidence,
        **of_loss,
        "unanswerable_silenced": Share.of(found.silenced) if found.silenced else None,
        "floor_on_average": found.on_average,
        "auc": found.area,
        "seed": bound.seed,
    }
