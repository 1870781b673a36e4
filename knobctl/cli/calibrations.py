"""Where calibrations are kept, when one of them is used again, and when it is refused."""

from __future__ import annotations

import shlex
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from knobctl import __version__
from knobctl.cli.calibrating import measurable, probe_texts, subject_of
from knobctl.errors import InputError, RefusedError, UsageError
from knobctl.evidence.corpus_calibration import corpus_on
from knobctl.evidence.noise_floor import Measurement
from knobctl.evidence.snapshot import (
    Corpus,
    Encoder,
    Fingerprint,
    Kept,
    Mode,
    ProbeSet,
    Snapshot,
    drift,
    mismatches,
    read_snapshot,
    snapshot_path,
    write_snapshot,
)
from knobctl.evidence.vectors_file import read_vectors

if TYPE_CHECKING:
    from pathlib import Path
    from threading import Event

    from knobctl.cli.calibrating import Measurable, Wanted
    from knobctl.cli.session import Session

FOLDER: Final = "calibrations"


def calibrated_by(
    session: Session, wanted: Wanted, stop: Event, *, force: bool, expires_days: int
) -> Kept:
    """Measure and keep it, unless the same was measured already and still holds.

    Raises:
        KnobctlError: As `measurable`, and where it cannot be measured or kept.
    """
    corpus = measurable(session, wanted, stop)
    path = snapshot_path(session.data_folder / FOLDER, corpus.subject, wanted.mode)
    known = None if force else _known(path)
    if known and _is_same(known, corpus, wanted) and session.now() < known.expires_at:
        return Kept(path=path, snapshot=known)
    found = corpus.measure()
    made_at = session.now().replace(microsecond=0)
    snapshot = Snapshot(
        mode=wanted.mode,
        subject=corpus.subject,
        made_at=made_at,
        made_by=f"knobctl {__version__}",
        expires_at=made_at + timedelta(days=expires_days),
        fingerprint=corpus.fingerprint,
        on_topic_digest=corpus.on_topic_digest,
        measured=None if isinstance(found, Measurement) else found,
        given=found if isinstance(found, Measurement) else None,
    )
    write_snapshot(path, snapshot)
    return Kept(path=path, snapshot=snapshot, anew=True)


def _known(path: Path) -> Snapshot | None:
    try:
        return read_snapshot(path)
    except InputError:  # what cannot be read is measured anew
        return None


def _is_same(known: Snapshot, corpus: Measurable, wanted: Wanted) -> bool:
    asked = known.measured.asked if known.measured else wanted.asked
    return (known.fingerprint, known.on_topic_digest, asked) == (
        corpus.fingerprint,
        corpus.on_topic_digest,
        wanted.asked,
    )


def kept(session: Session, wanted: Wanted) -> Kept | None:
    """Find the calibration of a corpus and hold it against what is there now; None where there is none.

    Raises:
        InputError: If it cannot be read.
        EngineError: If the engine does not say what it searches.
    """
    subject = subject_of(session, wanted)
    path = snapshot_path(session.data_folder / FOLDER, subject, wanted.mode)
    snapshot = read_snapshot(path)
    if snapshot is None:
        return None
    now = _fingerprint_now(session, wanted, snapshot)
    return Kept(
        path=path,
        snapshot=snapshot,
        mismatches=tuple(mismatches(snapshot.fingerprint, now)),
        compared=True,
        drift=drift(snapshot.fingerprint.corpus, now.corpus),
    )


def _fingerprint_now(session: Session, wanted: Wanted, made: Snapshot) -> Fingerprint:
    """What a measurement of today would be of; probes that nobody names are those of then, unless we shipped them."""
    probes = made.fingerprint.probes
    if wanted.vectors is not None:
        rows = read_vectors(wanted.vectors)
        encoder = Encoder(model=wanted.encoder, dims=len(rows.rows[0]))
        corpus = Corpus(chunks=len(rows.ids), digest=rows.digest)
        if wanted.probes is not None:
            own = read_vectors(wanted.probes)
            probes = ProbeSet(number=len(own.ids), digest=own.digest)
        return Fingerprint(encoder=encoder, probes=probes, corpus=corpus)
    assert wanted.tenant is not None
    on = corpus_on(
        session.engine, wanted.tenant, session.catalogue, parallelism=1, stop=session.stop
    )
    if wanted.probes is not None or probes.version is not None:
        texts = probe_texts(wanted)
        probes = ProbeSet(number=len(texts.texts), digest=texts.digest, version=texts.version)
    return Fingerprint(encoder=on.encoder, probes=probes, corpus=on.corpus)


def assert_holds(session: Session, found: Kept, again: str) -> None:
    """Refuse a calibration that says nothing about what is there now, and tell of one that may not.

    Args:
        session: Tells the time, and the person.
        found: The calibration.
        again: The command that measures anew.

    Raises:
        RefusedError: If it is of another embedder or other probes, or has expired.
    """
    snapshot = found.snapshot
    if found.mismatches:
        raise RefusedError(
            f"the calibration of {snapshot.subject.words} says nothing about what is there now: {'; '.join(found.mismatches)}",
            hint=f"measure anew: {again}",
        )
    if session.now() >= snapshot.expires_at:
        raise RefusedError(
            f"the calibration of {snapshot.subject.words} expired on {snapshot.expires_at.date()}",
            hint=f"measure anew: {again}",
        )
    if found.drift:
        session.notice(f"{found.drift}; measure anew: {again}")


def command_for(session: Session, wanted: Wanted) -> str:
    """The command that measures a corpus, as it was named here."""
    probes = wanted.probes or ("FILE" if wanted.vectors else None)
    more = "" if probes is None else f" --probes {shlex.quote(str(probes))}"
    return f"knobctl calibrate{_named(wanted)}{more}{session.typed_place}"


def labelling_command(session: Session, wanted: Wanted) -> str:
    """The command that labels a cosine of it."""
    return f"knobctl calibrate relevance COSINE{_named(wanted)}{session.typed_place}"


def _named(wanted: Wanted) -> str:
    named = (("--tenant", wanted.tenant), ("--vectors", wanted.vectors))
    words = [f" {option} {shlex.quote(str(value))}" for option, value in named if value is not None]
    return "".join(words) + (" --compat" if wanted.mode is Mode.COMPAT else "")


def never_measured(session: Session, wanted: Wanted) -> UsageError:
    """What to say where nothing is kept of a corpus."""
    return UsageError(
        f"no calibration is kept of {subject_of(session, wanted).words}",
        hint=f"measure it: {command_for(session, wanted)}",
    )


def write_record(session: Session, snapshot: Snapshot, path: Path) -> None:
    """Write a calibration as the record that a tenant's document names.

    Raises:
        RefusedError: If nothing was measurable: there is no figure that it would be evidence of.
        AnswerError: If the disk or the permissions do not allow it.
    """
    from knobctl.evidence.calibration_record import calibration_record
    from knobctl.evidence.evidence_file import write_evidence

    tenant = str(snapshot.subject.tenant)
    values = session.catalogue.effective(session.engine.read(tenant).knobs)
    record = calibration_record(snapshot, session.catalogue, values, engine=session.target.kind)
    if record is None:
        raise RefusedError(
            f"no evidence was written: the noise floor of {tenant} is not measurable",
            hint=f"why: knobctl calibrate show --tenant {tenant}",
        )
    write_evidence(path, record)
