"""`knobctl engine load`: a file of texts into a tenant's corpus."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Final

import click

from knobctl.cli.engine_options import (
    candidates_option,
    embedder_option,
    ingest_of,
    open_engine,
    require_tenant,
    store_option,
    tenant_option,
)
from knobctl.cli.options import Settings, common_options
from knobctl.errors import EngineError, ExitCode, InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.cli.stopping import Stopping
    from knobctl.finding import Finding
    from knobctl.report.corpus import Loaded
    from knobctl.report.loading import Bar
    from knobctl.server.auth import Caller
    from knobctl.server.opening import Services
    from knobctl.server.retrieval.corpus_file import Line
    from knobctl.server.retrieval.ingest import IngestService

BATCH_TEXTS: Final = 256
BATCH_BYTES: Final = 1 << 20
"""A batch ends at whichever comes first: what is written is written in whole batches."""
MOST_FINDINGS: Final = 100
"""More than these are counted."""


@click.command(short_help="Take a file of texts into a tenant's corpus.")
@click.argument("file", metavar="FILE.jsonl")
@tenant_option
@store_option
@candidates_option
@embedder_option
@common_options()
def load(
    settings: Settings,
    file: str,
    tenant: str,
    store: str,
    candidates: str | None,
    embedder: str | None,
) -> ExitCode:
    """Take a file of texts into a tenant's corpus: one JSON object a line, - for standard input.

    Such as {"documentId": "handbook", "text": "..."}. Also read: chunkId, sourceId, createdAt
    (RFC 3339), metadata (an object of texts).

    A text without chunkId is its whole document. What is longer than the embedder reads is cut
    into pieces. What is there already, unchanged, is left alone, so that a load can be repeated.
    The whole file is checked first; where a line is bad, nothing is loaded.
    """
    from knobctl.cli.stopping import stopping_on_signals
    from knobctl.report.corpus import loaded_json, loaded_text

    require_tenant(tenant)
    with ExitStack() as stack:
        lines = _File(stack, file)
        checked = _check(lines)
        if checked.findings:
            return _refused(settings, checked, lines.name, tenant)
        services = stack.enter_context(
            closing(open_engine(store, settings.schema, candidates=candidates, embedder=embedder))
        )
        stopping = stack.enter_context(stopping_on_signals())
        loaded, code = _Load(settings, services, tenant, stopping).run(lines, checked)
        settings.answer(
            {
                "text": lambda: loaded_text(loaded, lines.name),
                "json": lambda: loaded_json(loaded, code),
            }
        )
    return code


class _File:
    """The lines of a file, to be read twice."""

    def __init__(self, stack: ExitStack, name: str) -> None:
        self.name = "standard input" if name == "-" else name
        try:
            self._file: IO[bytes] = stack.enter_context(_copied() if name == "-" else _opened(name))
        except OSError as error:
            raise UsageError(f"{name} cannot be read: {error.strerror}") from error

    def __iter__(self) -> Iterator[Line]:
        from knobctl.server.retrieval.corpus_file import read_lines

        self._file.seek(0)
        return read_lines(self._raw(), self.name)

    def _raw(self) -> Iterator[bytes]:
        from knobctl.server.retrieval.corpus_file import LONGEST_LINE

        number = 0
        try:
            while line := self._file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise InputError(
                        f"{self.name}:{number} is longer than {LONGEST_LINE >> 20} MiB",
                        hint="one JSON object a line",
                    )
                yield line
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error.strerror}") from error


def _opened(name: str) -> IO[bytes]:
    """Open a file; what cannot be read twice is copied."""
    opened = open(name, "rb")  # noqa: SIM115, PTH123  the caller closes it; a name as it was typed
    if opened.seekable():
        return opened
    with opened:
        return _copied(opened)


def _copied(source: IO[bytes] | None = None) -> IO[bytes]:
    import shutil
    import tempfile

    copy: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  the caller closes it
    shutil.copyfileobj(source or sys.stdin.buffer, copy)
    return copy


@dataclass(slots=True)
class _Checked:
    """What the first look at the file gave."""

    texts: int = 0
    size: int = 0
    findings: list[Finding] = field(default_factory=list)
    untold: int = 0


def _check(lines: _File) -> _Checked:
    checked = _Checked()
    for line in lines:
        checked.texts += 1
        checked.size += line.size
        room = MOST_FINDINGS - len(checked.findings)
        checked.findings += line.findings[:room]
        checked.untold += len(line.findings[room:])
    if not checked.texts:
        raise UsageError(f"{lines.name} holds no text", hint='{"documentId": "a", "text": "..."}')
    return checked


def _refused(settings: Settings, checked: _Checked, file: str, tenant: str) -> ExitCode:
    from knobctl.report.corpus import Loaded, bad_lines_text, loaded_json

    nothing, code = Loaded(tenant=tenant, of=checked.texts), ExitCode.FINDINGS
    found, untold = checked.findings, checked.untold
    settings.answer(
        {
            "text": lambda: bad_lines_text(found, untold, file),
            "json": lambda: loaded_json(nothing, code, findings=found, untold=untold),
        }
    )
    return code


class _StoppedError(Exception):
    """A signal asked to stop while texts were embedded; nothing of their batch is written."""


class _Load:
    """One load, batch by batch."""

    def __init__(
        self, settings: Settings, services: Services, tenant: str, stopping: Stopping
    ) -> None:
        self._settings = settings
        self._services = services
        self._tenant = tenant
        self._stopping = stopping

    def run(self, lines: _File, checked: _Checked) -> tuple[Loaded, ExitCode]:
        """Load the file; what was loaded by the time of a trouble stays and is told.

        Raises:
            EngineError: If nothing could be loaded.
        """
        from time import monotonic

        from knobctl.report.corpus import Loaded
        from knobctl.report.loading import loading_bar
        from knobctl.server.refusal import ServiceError

        ingest = ingest_of(self._services)
        loaded = Loaded(tenant=self._tenant, of=checked.texts, embedder=ingest.ready())
        started = monotonic()
        wanted = self._settings.shows_progress
        with loading_bar(checked.size, checked.texts, sys.stderr, wanted=wanted) as bar:
            try:
                for batch in _batches(lines):
                    self._take(ingest, batch, loaded, bar)
            except _StoppedError:
                pass
            except ServiceError as error:
                if not loaded.texts:
                    raise EngineError(error.message, hint=_cause(error)) from error
                loaded.trouble = error.message
        loaded.seconds = monotonic() - started
        return loaded, self._code(loaded)

    def _code(self, loaded: Loaded) -> ExitCode:
        if loaded.texts == loaded.of:
            return ExitCode.OK
        return self._stopping.code or ExitCode.PARTIAL

    def _take(self, ingest: IngestService, batch: list[Line], loaded: Loaded, bar: Bar) -> None:
        def embedded(chunks: int) -> None:
            bar.embedded(chunks)
            if self._stopping.requested.is_set():
                raise _StoppedError

        if self._stopping.requested.is_set():
            raise _StoppedError
        texts = [line.text for line in batch if line.text]
        if len(texts) < len(batch):
            raise InputError("the file changed while it was loaded")
        answer = ingest.upsert(self._caller, self._tenant, texts, progress=embedded)
        loaded.add(answer, len(texts))
        bar.taken(sum(line.size for line in batch), len(texts))

    @property
    def _caller(self) -> Caller:
        from knobctl.cli.session import Session
        from knobctl.server.auth import local_caller

        return local_caller(Session(self._settings, engine=False).actor)


def _batches(lines: _File) -> Iterator[list[Line]]:
    batch: list[Line] = []
    size = 0
    for line in lines:
        if batch and (len(batch) == BATCH_TEXTS or size + line.size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += line.size
    if batch:
        yield batch


def _cause(error: BaseException) -> str | None:
    """What lies behind a refusal; in this process it may be told."""
    return str(error.__cause__) if error.__cause__ else None
