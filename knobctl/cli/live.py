"""Which live sets a command is about, and what the documents of the working folder say of their tenants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.errors import UsageError
from knobctl.finding import Severity
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from knobctl.checks.selecting import Selection
    from knobctl.cli.session import Session
    from knobctl.documents.model import Document
    from knobctl.engine.interface import LiveSet
    from knobctl.report.sets import ShownSet


def live_sets(
    session: Session, selection: Selection, *, with_labels: bool = False
) -> list[ShownSet]:
    """Read the live sets that a selection means: names in their order, else by tenant.

    Args:
        session: The command's surroundings.
        selection: Which tenants; every tenant that the token opens if it says nothing.
        with_labels: Whether labels and owners are wanted though they decide nothing.

    Raises:
        UsageError: If a named tenant is unknown to the engine, or a condition chooses nobody.
        EngineError: If a set cannot be read.
    """
    from knobctl.checks.selecting import Candidate, assert_some
    from knobctl.report.sets import ShownSet

    documents = tenant_documents(session) if selection.needs_labels or with_labels else {}
    catalogue = session.catalogue
    chosen = []
    for live in _read(session, selection, documents):
        document = documents.get(live.tenant)
        one = ShownSet(
            live=live,
            catalogue=catalogue,
            labels=document.labels if document else {},
            owner=(document.owner or "") if document else "",
        )
        candidate = Candidate(
            tenant=live.tenant,
            knobs=live.knobs,
            effective=catalogue.effective(live.knobs),
            labels=one.labels,
            owner=one.owner,
        )
        if selection.takes(candidate):
            chosen.append(one)
    assert_some(chosen, selection)
    return chosen


def tenant_documents(session: Session) -> Mapping[str, Document]:
    """The tenant documents of the working folder's repository, by tenant; the first where two claim one.

    Raises:
        UsageError: If there are no documents.
    """
    repository = session.repository()
    errors = sum(finding.severity is Severity.ERROR for finding in repository.findings)
    if errors:
        session.notice(
            f"{count(errors, 'error')} in the documents here, so tenants may be missing: knobctl validate"
        )
    found: dict[str, Document] = {}
    for document in repository.tenants:
        found.setdefault(document.name, document)
    return found


def read_named(session: Session, names: Iterable[str]) -> list[LiveSet]:
    """Read the sets of named tenants, in their order.

    Raises:
        UsageError: If the engine has no such tenant for us.
        EngineError: If a set cannot be read.
    """
    from knobctl.engine.interface import TenantNotFoundError
    from knobctl.engine.reading import read_all

    try:
        return list(read_all(session.engine, names).values())
    except TenantNotFoundError as error:
        raise UsageError(error.message, hint=error.hint) from error


def tenants_of_documents(session: Session, why: str) -> Collection[str]:
    """The tenants of the working folder's documents, where the engine cannot say which it has.

    Raises:
        UsageError: If there are no documents either.
    """
    try:
        names = tenant_documents(session)
    except UsageError as error:
        raise UsageError(f"{why}, and {error.message}", hint="name the tenants") from error
    session.notice(f"{why}; these are the tenants of the documents here")
    return names


def _read(
    session: Session, selection: Selection, documents: Mapping[str, Document]
) -> Iterable[LiveSet]:
    from knobctl.engine.interface import NotOfferedError

    if selection.names:
        return read_named(session, selection.names)
    if selection.labels:
        fitting = [name for name, one in documents.items() if selection.takes_labels(one.labels)]
        return read_named(session, sorted(fitting))
    try:
        return list(session.engine.list())
    except NotOfferedError as error:
        return read_named(session, sorted(tenants_of_documents(session, error.message)))
