"""Writes a run's journal: what shall be done is on the disk before it is done."""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from knobctl.changes.journal import Chain, Intent
from knobctl.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
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

    def begin(self, *records: Mapping[str, Any], plan: Iterable[Mapping[str, Any]] = ()) -> None:
        """Note what a run or another attempt at it is about, durably.

        Args:
            records: What it is about.
            plan: What it is to write, see `plan.plan_records`: too much to be held at once.

        Raises:
            JournalError: If that is not possible.
        """
        self._append(*records)
        for record in plan:
            self._append(record)
        self._sync()

    def intend(self, *intents: Intent) -> None:
        """Note writes that are about to be sent; when this returns, they are on the disk.

        Raises:
            JournalError: If that is not possible; then none of them may be sent.
        """
        if intents:
            self._append(*(intent.as_record() for intent in intents))
            self._sync()

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
            self._append(record)
            self._sync()

    def close(self) -> None:
        """Close the file, and give the run free."""
        os.close(self._handle)

    def _append(self, *records: Mapping[str, Any]) -> None:
        with self._appending:
            if self.fault:
                raise self.fault
            before = os.lseek(self._handle, 0, os.SEEK_END)
            rest = memoryview(b"".join(map(self._chain.line, records)))
            try:
                while rest:
                    rest = rest[os.write(self._handle, rest) :]
            except OSError as error:
                with suppress(OSError):  # what is torn off is dropped by who reads it
                    os.ftruncate(self._handle, before)
                raise self._failed(error) from error

    def _sync(self) -> None:
        try:
            os.fsync(self._handle)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> JournalError:
        self.fault = JournalError(self.path, error)
        return self.fault
