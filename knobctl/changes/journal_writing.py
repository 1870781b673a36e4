"""Writes a run's journal: what shall be done is on the disk before it is done."""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from knobctl.changes.journal import Chain, Intent
from knobctl.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from knobctl.changes.outcomes import TenantOutcome


class JournalError(RefusedError):
    """The journal cannot be written; nothing is sent that it does not name."""

    def __init__(self, path: Path, error: OSError) -> None:
        self.why = error.strerror or str(error)
        super().__init__(
            f"the journal of this run cannot be written: {path}: {self.why}",
            hint="nothing is sent that it does not name, so that a killed run can be resumed; make room there, "
            "or name another place: XDG_STATE_HOME=FOLDER",
        )


class Journal:
    """The journal of one run, open for records. Safe to use from several threads.

    The open file is locked for as long as it is, so that two processes do not resume one run.
    """

    def __init__(self, handle: int, path: Path, *, run: str, last: str | None = None) -> None:
        """Take an open file that is positioned at the end of its last whole record.

        Args:
            handle: Opened for appending; closed with the journal.
            path: Its name, for words.
            run: The run.
            last: The checksum of the last record; None in an empty file.
        """
        self.run = run
        self.path = path
        self.fault: JournalError | None = None
        """Why nothing more can be noted; None while it can."""
        self._handle = handle
        self._chain = Chain() if last is None else Chain(last)
        self._appending = Lock()
        self._syncing = Lock()
        self._appended = 0
        self._synced = 0

    def begin(self, *records: Mapping[str, Any]) -> None:
        """Note what a run or another attempt at it is about, durably.

        Raises:
            JournalError: If that is not possible.
        """
        for record in records:
            self._append(record)
        self._sync(self._appended)

    def intend(self, intent: Intent) -> None:
        """Note a write that is about to be sent; when this returns, it is on the disk.

        Threads that come while the disk is busy wait for one turn of it together.

        Raises:
            JournalError: If that is not possible; then the write must not be sent.
        """
        self._sync(self._append(intent.as_record()))

    def tell(self, outcome: TenantOutcome) -> None:
        """Note what became of a tenant.

        The disk is not waited for: an outcome that a power cut takes is found out again. Where it
        cannot be noted, `fault` says so, and nothing more is intended.
        """
        with suppress(JournalError):
            self._append({"kind": "outcome", **outcome.as_json()})

    def end(self, *, left: int, ended_at: str, outcomes: Mapping[str, int]) -> None:
        """Note how an attempt ended: how many tenants are left, when, and how many have each outcome."""
        record = {"kind": "end", "left": left, "ended_at": ended_at, "outcomes": dict(outcomes)}
        with suppress(JournalError):
            self._sync(self._append(record))

    def close(self) -> None:
        """Close the file, and give the run free."""
        os.close(self._handle)

    def _append(self, record: Mapping[str, Any]) -> int:
        with self._appending:
            if self.fault:
                raise self.fault
            before = os.lseek(self._handle, 0, os.SEEK_END)
            rest = memoryview(self._chain.line(record))
            try:
                while rest:
                    rest = rest[os.write(self._handle, rest) :]
            except OSError as error:
                with suppress(OSError):  # what is torn off is dropped by who reads it
                    os.ftruncate(self._handle, before)
                raise self._failed(error) from error
            self._appended += 1
            return self._appended

    def _sync(self, number: int) -> None:
        with self._syncing:
            if self.fault:
                raise self.fault
            if self._synced >= number:
                return
            reached = self._appended
            try:
                os.fsync(self._handle)
            except OSError as error:
                raise self._failed(error) from error
            self._synced = reached

    def _failed(self, error: OSError) -> JournalError:
        self.fault = JournalError(self.path, error)
        return self.fault
