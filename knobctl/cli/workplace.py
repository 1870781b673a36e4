"""What the terminal UI asks of the rim, over the session and the functions of the commands."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from knobctl.tui.workplace import Where

if TYPE_CHECKING:
    from datetime import datetime

    from knobctl.changes.single import Subject
    from knobctl.cli.session import Session
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import LiveSet


class SessionWorkplace:
    """A session as the terminal UI sees it; see `knobctl.tui.workplace.Workplace`."""

    def __init__(self, session: Session, path: str, *, read_only: bool) -> None:
        """Find the engine; nothing is read and nobody is asked yet."""
        self._session = session
        self._opening = RLock()
        self._read: Repository | None = None
        self._claims: dict[str, list[Document]] = {}
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
        from knobctl.cli.choosing import choose

        with self._opening:
            if self._read is None:
                self._read, _ = choose(self._session, (self.where.path,))
            return self._read

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
        with self._opening:  # a repository may bring its own schema, and both go by one
            self.repository()
            engine = self._session.engine
        return engine.read(tenant)
