"""What `knobctl calibrate` measures: a tenant's corpus on an engine, or vectors in files."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.errors import UsageError
from knobctl.evidence.calibrating import Asked
from knobctl.evidence.corpus_calibration import corpus_on, measured, measured_compat
from knobctl.evidence.probe_texts import ProbeTexts, read_probe_texts
from knobctl.evidence.snapshot import (
    Corpus,
    Encoder,
    Fingerprint,
    Mode,
    ProbeSet,
    Subject,
)
from knobctl.evidence.vectors_calibration import files_compat, files_measured
from knobctl.evidence.vectors_file import read_vectors
from knobctl.server.retrieval.off_topic_probes import GIVEN_PROBES, PROBE_SET_VERSION, PROBES
from knobctl.server.store import embedded_file
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from threading import Event

    from knobctl.cli.session import Session
    from knobctl.evidence.calibrating import Calibration
    from knobctl.evidence.corpus_calibration import CorpusOnEngine
    from knobctl.evidence.noise_floor import Measurement

_CALLS: Final = 4
_GIVEN_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the command line says of the corpus and the way to measure it."""

    tenant: str | None = None
    vectors: Path | None = None
    probes: Path | None = None
    on_topic: Path | None = None
    mode: Mode = Mode.DEFAULT
    asked: Asked = Asked()  # noqa: RUF009  it is frozen
    dims: int | None = None
    encoder: str | None = None
    calls: int = _CALLS

    def assert_one_corpus(self) -> None:
        """See that exactly one corpus is named.

        Raises:
            UsageError: If not.
        """
        if (self.tenant is None) == (self.vectors is None):
            raise UsageError(
                "name one corpus: --tenant T on an engine, or --vectors FILE with --probes FILE"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurable:
    """A corpus that can be measured."""

    subject: Subject
    fingerprint: Fingerprint
    on_topic_digest: str | None
    measure: Callable[[], Calibration | Measurement]


def measurable(session: Session, wanted: Wanted, stop: Event) -> Measurable:
    """Find what is to be measured; nothing is measured yet.

    Raises:
        UsageError: If the options do not go together.
        InputError: If a file cannot be read, or there is nothing to measure.
        EngineError: If the engine does not say what it searches.
    """
    wanted.assert_one_corpus()
    if wanted.tenant is not None:
        return _on_engine(session, wanted, wanted.tenant, stop)
    return _in_files(wanted)


def subject_of(session: Session, wanted: Wanted) -> Subject:
    """Whose corpus is meant; no engine is asked."""
    wanted.assert_one_corpus()
    if wanted.vectors is not None:
        return Subject(vectors=str(wanted.vectors.expanduser().resolve()))
    engine = session.target.engine
    file = embedded_file(engine) if session.target.is_embedded else None
    if file is not None:
        engine = f"embedded:{file.expanduser().resolve()}"
    return Subject(engine=engine, tenant=wanted.tenant)


def probe_texts(wanted: Wanted) -> ProbeTexts:
    """The probes of a tenant: the file's, else those that are shipped."""
    if wanted.probes is not None:
        return read_probe_texts(wanted.probes)
    if wanted.mode is Mode.COMPAT:
        return ProbeTexts(texts=GIVEN_PROBES, version=_GIVEN_VERSION)
    return ProbeTexts(texts=PROBES, version=PROBE_SET_VERSION)


def _on_engine(session: Session, wanted: Wanted, tenant: str, stop: Event) -> Measurable:
    probes = probe_texts(wanted)
    if probes.repeated:
        session.notice(f"{count(probes.repeated, 'probe')} that stand there twice count once")
    aside = read_probe_texts(wanted.on_topic) if wanted.on_topic else None
    on = corpus_on(session.engine, tenant, session.catalogue, parallelism=wanted.calls, stop=stop)
    texts = aside.texts if aside else ()
    compat = wanted.mode is Mode.COMPAT
    return Measurable(
        subject=subject_of(session, wanted),
        fingerprint=Fingerprint(
            encoder=on.encoder,
            corpus=on.corpus,
            probes=ProbeSet(number=len(probes.texts), digest=probes.digest, version=probes.version),
        ),
        on_topic_digest=aside.digest if aside else None,
        measure=lambda: (
            measured_compat(on, probes.texts)
            if compat
            else _told(session, on, wanted.asked, probes.texts, texts)
        ),
    )


def _told(
    session: Session,
    on: CorpusOnEngine,
    asked: Asked,
    probes: tuple[str, ...],
    on_topic: tuple[str, ...],
) -> Calibration:
    from knobctl.report.progress import progress

    number = len(probes) + len(on_topic)
    shows = session.settings.shows_progress
    with (
        progress(number, "asking", sys.stderr, clock=time.monotonic, wanted=shows) as step,
        session.beside(step.make_room),
    ):

        def tell(done: int) -> None:
            for _ in range(done):
                step()

        return measured(on, probes, asked, on_topic, tell)


def _in_files(wanted: Wanted) -> Measurable:
    assert wanted.vectors is not None
    if wanted.probes is None:
        raise UsageError("--vectors FILE needs --probes FILE: the vectors of the probes")
    chunks, probes = read_vectors(wanted.vectors), read_vectors(wanted.probes)
    aside = read_vectors(wanted.on_topic) if wanted.on_topic else None
    dims = len(probes.rows[0]) if wanted.dims is None else wanted.dims
    resolved = str(wanted.vectors.expanduser().resolve())
    return Measurable(
        subject=Subject(vectors=resolved),
        fingerprint=Fingerprint(
            encoder=Encoder(model=wanted.encoder, dims=dims),
            corpus=Corpus(chunks=len(chunks.ids), digest=chunks.digest),
            probes=ProbeSet(number=len(probes.ids), digest=probes.digest),
        ),
        on_topic_digest=aside.digest if aside else None,
        measure=lambda: (
            files_compat(chunks, probes, dims)
            if wanted.mode is Mode.COMPAT
            else files_measured(chunks, probes, aside, dims, wanted.asked)
        ),
    )
