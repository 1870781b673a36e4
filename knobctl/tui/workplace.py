"""What the terminal UI asks of the rim: the repository, the engine, the clock, the user's folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from knobctl.changes.limits import Limits
    from knobctl.changes.single import Subject
    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import Catalogue
    from knobctl.tui.draft import Draft


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


class Workplace(Protocol):
    """One session's surroundings. Safe to call from several threads; what asks much is called in a worker.

    Every method raises `KnobctlError` where the command that does the same would.
    """

    @property
    def where(self) -> Where:
        """Which engine and which documents."""

    def now(self) -> datetime:
        """The time, with its zone."""

    def repository(self) -> Repository:
        """The documents that PATH names, through the index; read once, until `reload`."""

    def subject(self, tenant: str) -> Subject:
        """A tenant with its document, its fleet and the repository around it."""

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

    def drafted(self) -> Sequence[str]:
        """The tenants of this engine that have a draft."""

    @property
    def engine_key(self) -> str:
        """The engine, spelled so that it means the same wherever a session begins."""

    def clearance(self) -> int | None:
        """The caller's clearance on the engine, 4 for L4; None where it does not say."""

    def revision(self) -> str:
        """What the documents' checkout stands at: `main@3f2c1a9`; empty outside Git."""
