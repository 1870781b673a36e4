"""What the terminal UI asks of the rim: the repository, the engine, the clock, the user's folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date, datetime
    from pathlib import Path

    from knobctl.changes.file_edits import FileEdit
    from knobctl.changes.limits import Limits
    from knobctl.changes.news import Begun, Halted, News
    from knobctl.changes.outcomes import TenantOutcome
    from knobctl.changes.single import Subject
    from knobctl.changes.tenant_proposal import Acknowledged, Carried, TenantProposal, Wanted
    from knobctl.changes.witness import Witness
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import Engine, LiveSet
    from knobctl.evidence.recording import Recording
    from knobctl.knobs import Catalogue
    from knobctl.tui.audit import Mine
    from knobctl.tui.draft import Draft
    from knobctl.tui.logbook import Logbook


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Which engine and which documents a session is about; fixed when it begins."""

    engine: str
    """As people name it, without secrets."""
    context: str | None
    production: bool
    """Whether the context is marked production."""
    actor: str
    """The local user."""
    path: str
    """The documents, as named on the command line."""
    typed: str
    """The options that another command needs to come to the same engine, as text to append."""
    read_only: bool
    """Whether nothing may be written, armed or not."""


class KeptText(Protocol):
    """A text in a file of the user's, where an editor finds it; it stays there until it is needed no more."""

    done: bool
    """Whether it is needed no more."""

    @property
    def path(self) -> Path:
        """Where it lies."""

    @property
    def original(self) -> bytes:
        """The text as it was put there."""

    def saved(self) -> bytes:
        """The text as it stands now; nothing where the file was taken away."""

    def left(self) -> Path | None:
        """Take the file away if it is done, or as it was; where it stays, say so."""


class Workplace(Protocol):
    """One session's surroundings. Safe to call from several threads; what asks much is called in a worker.

    Every method raises `KnobctlError` where the command that does the same would.
    """

    @property
    def where(self) -> Where:
        """Which engine and which documents."""

    @property
    def log(self) -> Logbook:
        """What was asked of the outside, and what was told."""

    @property
    def engine(self) -> Engine:
        """The engine; the first time it is opened, after the repository. Each call stands in the log."""

    def now(self) -> datetime:
        """The time, with its zone."""

    def repository(self) -> Repository:
        """The documents that PATH names, through the index; read once, until `reload`."""

    def subject(self, tenant: str) -> Subject:
        """A tenant with its document, its fleet and the repository around it."""

    def begun(self) -> Repository | None:
        """The documents that are being opened now, as far as they are read; None where that is quick."""

    def fleet(self) -> Document | None:
        """The fleet that applies to all documents; None where each tenant has its own, or none."""

    def today(self) -> date:
        """The day, for waivers."""

    def read(self, tenant: str) -> LiveSet:
        """The set that the engine holds for a tenant."""

    @property
    def catalogue(self) -> Catalogue:
        """The knobs."""

    def tenant_names(self) -> Sequence[str]:
        """The tenants that have a document, in its order; none until `repository` was read."""

    def limits(self) -> Limits:
        """What the context and the fleet demand of a write."""

    def reload(self) -> None:
        """Forget the documents: they are read anew when they are asked for next."""

    def draft(self, tenant: str) -> Draft | None:
        """The draft of a tenant that an earlier session, or this one, left in the user's folder."""

    def keep_draft(self, draft: Draft) -> None:
        """Write a draft down; one in which nothing is edited is taken away."""

    def unkept_drafts(self) -> Sequence[str]:
        """The tenants whose drafts could not be written down: they last as long as the session."""

    def keep_text(self, tenant: str, text: bytes) -> KeptText:
        """Put a text where an editor finds it."""

    def edit(self, kept: KeptText) -> None:
        """Let the user's editor edit a text, and wait for it; the terminal must be given up before."""

    def write_file(self, edit: FileEdit) -> None:
        """Edit a file as `set --file` does, and have the documents read anew."""

    @property
    def engine_key(self) -> str:
        """The engine, spelled so that it means the same wherever a session begins."""

    def clearance(self) -> int | None:
        """The caller's clearance on the engine, 4 for L4; None where it does not say."""

    def mine(self) -> Mine:
        """Which audit events are this user's own, by the journals of runs and who the engine knows us as."""

    def revision(self) -> str:
        """What the documents' checkout stands at: `main@3f2c1a9`; empty outside Git."""

    def propose(self, wanted: Wanted) -> TenantProposal:
        """Check, plan and judge what a tenant's set shall become; nothing is written."""

    def carry_out(
        self,
        found: TenantProposal,
        said: Acknowledged,
        tell: Callable[[News | Begun | Halted], object],
    ) -> Carried:
        """Write what was proposed, as a command does: journal, write, read back, then the file.

        Args:
            found: What was shown.
            said: What was acknowledged of it.
            tell: Hears of each step, in whatever thread takes it.

        Raises:
            RefusedError: If a guard stops it that nobody acknowledged; nothing was written.
            ConflictError: If a file was changed meanwhile; nothing was written.
        """

    def event_of(self, found: TenantProposal, outcome: TenantOutcome) -> Witness:
        """Wait for the audit event of a write, and compare it with what was planned."""

    def stop_pushes(self) -> None:
        """Let nothing more be sent, for good: the writes in flight are finished."""

    def recording_of(self, tenant: str) -> Recording | None:
        """The recorded scores that a tenant's document names as evidence; None where it names none."""

    def recording(self, path: str) -> Recording:
        """The recorded scores in a file of the user's."""

    def write_new(self, path: str, text: str) -> str:
        """Write a file of the user's that is not there yet; gives its whole name."""
