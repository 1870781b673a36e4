"""What the terminal UI asks of the rim, over the session and the functions of the commands."""

from __future__ import annotations

import shlex
import time
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from knobctl.engine.target import EMBEDDED
from knobctl.errors import RefusedError
from knobctl.tui.logbook import Kind, Logbook
from knobctl.tui.workplace import Where

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date, datetime

    from knobctl.changes.file_edits import FileEdit
    from knobctl.changes.limits import Limits
    from knobctl.changes.news import Begun, Halted, News
    from knobctl.changes.outcomes import TenantOutcome
    from knobctl.changes.single import Subject
    from knobctl.changes.tenant_proposal import Acknowledged, Carried, TenantProposal, Wanted
    from knobctl.changes.witness import Witness
    from knobctl.cli.draft_folder import DraftFolder
    from knobctl.cli.session import Session
    from knobctl.documents.filing import Filing
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.documents.sources import Files
    from knobctl.engine.interface import Engine, LiveSet
    from knobctl.evidence.recording import Recording
    from knobctl.knobs import Catalogue
    from knobctl.tui.audit import Mine
    from knobctl.tui.draft import Draft
    from knobctl.tui.workplace import KeptText


class SessionWorkplace:
    """A session as the terminal UI sees it; see `knobctl.tui.workplace.Workplace`."""

    def __init__(self, session: Session, path: str, *, read_only: bool) -> None:
        """Find the engine; nothing is read and nobody is asked yet."""
        self._session = session
        self._opening = RLock()
        self._read: Repository | None = None
        self._begun: Repository | None = None
        self._claims: dict[str, list[Document]] = {}
        self._names: tuple[Repository | None, tuple[str, ...]] = (None, ())
        self.log = Logbook(session.now, time.perf_counter)
        session.overhear(self.log.called, self.log.asked_git)
        target = session.target
        self.where = Where(
            engine=target.engine,
            context=target.context,
            production=target.production,
            actor=session.actor,
            path=path,
            typed=session.typed_place,
            read_only=read_only,
        )

    def now(self) -> datetime:
        """The time, with its zone."""
        return self._session.now()

    def repository(self) -> Repository:
        """See `Workplace.repository`."""
        with self._opening:
            if self._read is None:
                self._read = self._opened()
            return self._read

    def _opened(self) -> Repository:
        from knobctl.cli.choosing import chosen_of

        session = self._session

        def filing(repository: Repository, files: Files) -> Filing:
            self._begun = repository
            # Without reading live ahead, as commands do: here the list of tenants comes first.
            return session.filing(repository, files)

        try:
            opening = session.opening((self.where.path,), filing=filing)
            # Where there are no documents, there is still what the engine holds.
            repository = session.understood(opening, may_be_empty=True)
        finally:
            self._begun = None
        return chosen_of(session, repository, None)[0] if repository.tenants else repository

    def begun(self) -> Repository | None:
        """See `Workplace.begun`."""
        return self._begun

    def fleet(self) -> Document | None:
        """See `Workplace.fleet`."""
        from knobctl.changes.preparing import fleet_of

        return fleet_of(self.repository(), self._session.fleet)

    def today(self) -> date:
        """See `Workplace.today`."""
        return self._session.today

    def subject(self, tenant: str) -> Subject:
        """See `Workplace.subject`."""
        from knobctl.changes.preparing import fleet_of
        from knobctl.changes.single import Subject, claims_in, document_of

        with self._opening:
            repository = self.repository()
            fleet = fleet_of(repository, self._session.fleet)
            self._claims = self._claims or claims_in(repository, fleet)
            document = document_of(tenant, self._claims)
        return Subject(tenant=tenant, repository=repository, fleet=fleet, document=document)

    def read(self, tenant: str) -> LiveSet:
        """See `Workplace.read`."""
        return self.engine.read(tenant)

    @property
    def engine(self) -> Engine:
        """See `Workplace.engine`."""
        with self._opening:  # a repository may bring its own schema, and both go by one
            self.repository()
            return self._session.engine

    @property
    def catalogue(self) -> Catalogue:
        """See `Workplace.catalogue`."""
        return self._session.catalogue

    def tenant_names(self) -> Sequence[str]:
        """See `Workplace.tenant_names`."""
        read = self._read
        of, names = self._names
        if of is not read:
            names = tuple(dict.fromkeys([one.name for one in read.tenants] if read else ()))
            self._names = read, names
        return names

    def limits(self) -> Limits:
        """See `Workplace.limits`."""
        from knobctl.changes.preparing import fleet_of
        from knobctl.cli.choosing import limits_for

        return limits_for(self._session, fleet_of(self.repository(), self._session.fleet))

    def reload(self) -> None:
        """See `Workplace.reload`."""
        with self._opening:
            self._read, self._claims = None, {}

    def propose(self, wanted: Wanted) -> TenantProposal:
        """See `Workplace.propose`."""
        from knobctl.cli.tenant_push import propose

        return propose(self._session, wanted)

    def carry_out(
        self,
        found: TenantProposal,
        said: Acknowledged,
        tell: Callable[[News | Begun | Halted], object],
    ) -> Carried:
        """See `Workplace.carry_out`."""
        from knobctl.cli.tenant_push import carry

        return carry(self._session, found, said, tell)

    def event_of(self, found: TenantProposal, outcome: TenantOutcome) -> Witness:
        """See `Workplace.event_of`."""
        from knobctl.cli.tenant_push import witnessed

        return witnessed(self._session, found, outcome)

    def stop_pushes(self) -> None:
        """See `Workplace.stop_pushes`."""
        self._session.stop.set()

    def draft(self, tenant: str) -> Draft | None:
        """See `Workplace.draft`."""
        return self._drafts.find(tenant)

    def keep_draft(self, draft: Draft) -> None:
        """See `Workplace.keep_draft`."""
        with self.log.noting(Kind.FILE, f"draft of {draft.tenant}"):
            self._drafts.keep(draft)

    def unkept_drafts(self) -> Sequence[str]:
        """See `Workplace.unkept_drafts`."""
        return self._drafts.unkept

    def keep_text(self, tenant: str, text: bytes) -> KeptText:
        """See `Workplace.keep_text`."""
        from knobctl.cli.editors import keep_text

        return keep_text(self._session.state_folder / "edits", tenant, text)

    def edit(self, kept: KeptText) -> None:
        """See `Workplace.edit`."""
        from knobctl.cli.editors import editor_command, run_editor

        command = editor_command()
        try:
            with self.log.noting(Kind.EDITOR, shlex.join((*command, str(kept.path)))):
                run_editor(command, kept.path)
        except KeyboardInterrupt as error:
            raise RefusedError("the editor was interrupted; nothing was taken from it") from error

    def write_file(self, edit: FileEdit) -> None:
        """See `Workplace.write_file`."""
        from knobctl.changes.file_edits import prove_edits

        prove_edits([edit])
        with self.log.noting(Kind.FILE, f"write {edit.name}"):
            edit.write()
        self.reload()

    @cached_property
    def _drafts(self) -> DraftFolder:
        from knobctl.cli.draft_folder import DraftFolder

        folder = self._session.state_folder / "drafts"
        return DraftFolder(folder, self.engine_key, self._session.now)

    @cached_property
    def engine_key(self) -> str:
        """See `Workplace.engine_key`."""
        target = self._session.target
        named = target.engine.removeprefix(EMBEDDED) if target.is_embedded else ""
        return (
            f"{EMBEDDED}{self._session.cwd / Path(named).expanduser()}" if named else target.engine
        )

    def clearance(self) -> int | None:
        """See `Workplace.clearance`."""
        if not self._session.target.is_embedded:
            return None
        from knobctl.engine.embedded import EmbeddedEngine

        with self._opening:
            engine = self._session.unheard_engine
        return engine.clearance if isinstance(engine, EmbeddedEngine) else None

    def mine(self) -> Mine:
        """See `Workplace.mine`."""
        from knobctl.changes.own_writes import own_writes
        from knobctl.tui.audit import Mine

        session, target = self._session, self._session.target
        runs = own_writes(session.state_folder / "runs", target.engine, session.cwd)
        return Mine(session.actor if target.is_embedded else "", runs)

    def revision(self) -> str:
        """See `Workplace.revision`."""
        from knobctl.documents.revisions import standing_at

        named = Path(self.where.path)
        folder = self._session.cwd / (named if named.is_dir() else named.parent)
        return standing_at(folder, self._session.git(folder))

    def recording_of(self, tenant: str) -> Recording | None:
        """See `Workplace.recording_of`."""
        from knobctl.evidence.opening import named_recording

        subject = self.subject(tenant)
        named = subject.document.evidence if subject.document else ()
        return named_recording(subject.repository.root, named, self._session.cwd)

    def recording(self, path: str) -> Recording:
        """See `Workplace.recording`."""
        from knobctl.evidence.opening import recorded

        return recorded(path, self._session.cwd)

    def write_new(self, path: str, text: str) -> str:
        """See `Workplace.write_new`."""
        from knobctl.documents.files import write_new

        whole = self._session.cwd / Path(path).expanduser()
        try:
            write_new(whole, text.encode())
        except FileExistsError as error:
            raise RefusedError(
                f"{whole} is there already; nothing was written", hint="take another name"
            ) from error
        except OSError as error:
            raise RefusedError(f"{whole} cannot be written: {error.strerror}") from error
        return str(whole)
