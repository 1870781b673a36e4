"""How `knobctl calibrate relevance` comes to its labels: from what is kept, unless it says nothing about today."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.cli.calibrating import subject_of
from knobctl.cli.calibrations import assert_holds, command_for, kept, never_measured
from knobctl.errors import UsageError
from knobctl.evidence.corpus_calibration import corpus_on
from knobctl.evidence.snapshot import Mode
from knobctl.report.relevance import (
    gap_json,
    gap_text,
    given_json,
    given_labels,
    given_text,
    labelled,
    relevance_json,
    relevance_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from knobctl.cli.calibrating import Wanted
    from knobctl.cli.session import Session
    from knobctl.evidence.snapshot import Kept


def labels_of(
    session: Session, wanted: Wanted, cosines: Sequence[float], alpha: float | None
) -> dict[str, Callable[[], str | Iterable[str]]]:
    """Label cosines, and give what renders the labels.

    Raises:
        UsageError: If nothing is kept of that corpus.
        RefusedError: If what is kept says nothing about what is there now.
    """
    found = kept(session, wanted)
    if found is not None:
        assert_holds(session, found, command_for(session, wanted))
    if wanted.mode is Mode.COMPAT:
        return _given(session, wanted, cosines, found)
    if found is None or found.snapshot.measured is None:
        raise never_measured(session, wanted)
    labels = labelled(
        found.snapshot, found.snapshot.measured, cosines, alpha=alpha, drift=found.drift
    )
    now = session.now()
    return {
        "text": lambda: relevance_text(labels, now),
        "json": lambda: relevance_json(labels),
    }


def gap_labels(scores: Sequence[float]) -> dict[str, Callable[[], str | Iterable[str]]]:
    """Label by the gap of fused scores, as the given package does where no cosine is known."""
    return {"text": lambda: gap_text(scores), "json": lambda: gap_json(scores)}


def _given(
    session: Session, wanted: Wanted, cosines: Sequence[float], found: Kept | None
) -> dict[str, Callable[[], str | Iterable[str]]]:
    snapshot = found.snapshot if found else None
    labels = given_labels(
        subject_of(session, wanted).words,
        snapshot,
        snapshot.given if snapshot else None,
        cosines,
        dims=_dims(session, wanted, found),
        drift=found.drift if found else None,
    )
    now = session.now()
    return {"text": lambda: given_text(labels, now), "json": lambda: given_json(labels)}


def _dims(session: Session, wanted: Wanted, found: Kept | None) -> int:
    """How long the vectors of questions are; where nothing was measured the engine says so."""
    dims = found.snapshot.fingerprint.encoder.dims if found else None
    if dims is not None:
        return dims
    if wanted.tenant is None:
        raise never_measured(session, wanted)
    on = corpus_on(
        session.engine, wanted.tenant, session.catalogue, parallelism=1, stop=session.stop
    )
    if on.encoder.dims is None:
        raise UsageError("the engine does not say how long its vectors are")
    return on.encoder.dims
