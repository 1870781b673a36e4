"""What the terminal UI asks of the rim, over the session and the functions of the commands."""

from __future__ import annotations

import os
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from knobctl.tui.workplace import Where

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from knobctl.changes.limits import Limits
    from knobctl.changes.single import Subject
    from knobctl.cli.session import Session
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import Catalogue


class SessionWorkplace:
    """A session as the terminal UI sees it; see `knobctl.tui.workplace.Workplace`."""

    def __init__(self, session: Session, path: str, *, read_only: bool) -> None:
        """Find the engine; nothing is read and nobody is asked yet."""
        self._session = session
        self._opening = RLock()
        self._read: Repository | None = None
        self._claims: dict[str, list[Document]] = {}
        self._names: tuple[str, ...] = ()
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

    @property
    def catalogue(self) -> Catalogue:
        """See `Workplace.catalogue`."""
        return self._session.catalogue

    def tenant_names(self) -> Sequence[str]:
        """See `Workplace.tenant_names`."""
        if not self._names and self._read:
            self._names = tuple(dict.fromkeys(tenant.name for tenant in self._read.tenants))
        return self._names

    def limits(self) -> Limits:
        """See `Workplace.limits`."""
        from knobctl.changes.preparing import fleet_of
        from knobctl.cli.choosing import limits_for

        return limits_for(self._session, fleet_of(self.repository(), self._session.fleet))

    def revision(self) -> str:
        """See `Workplace.revision`."""
        from knobctl.cli.session import GIT_PLACE
        from knobctl.documents.revisions import standing_at

        named = Path(self.where.path)
        folder = self._session.cwd / (named if named.is_dir() else named.parent)
        kept = {name: value for name, value in os.environ.items() if name not in GIT_PLACE}
        return standing_at(folder, kept)
