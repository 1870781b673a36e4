"""Tenants that waivers and fleets name and that no document claims: most likely a typing error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knobctl.documents.model import Kind
from knobctl.documents.repository import belongs
from knobctl.finding import Finding, Severity
from knobctl.text import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository


def stranger_findings(repository: Repository, documents: Iterable[Document]) -> Iterator[Finding]:
    """Find names of tenants that have no document.

    Args:
        repository: All of it, read whole: of a part nobody could say.
        documents: Those to look at; only waivers and fleets have such names.
    """
    for document in documents:
        match document.kind:
            case Kind.WAIVER:
                yield from _strangers(document, "tenants", repository.claims, "no document claims")
            case Kind.FLEET:
                claimed = _claimed_in(repository, document)
                words = f"no document of fleet {document.name} claims"
                yield from _strangers(document, "protected", claimed, words)
            case _:
                pass


def _claimed_in(repository: Repository, fleet: Document) -> Collection[str]:
    return {
        tenant.name
        for tenant in repository.of_kind(Kind.TENANT)
        if belongs(fleet, repository.names.get(tenant.source, tenant.source))
    }


def _strangers(
    document: Document, key: str, known: Collection[str], words: str
) -> Iterator[Finding]:
    named: Any = document.value.get(key)
    for index, name in enumerate(named if isinstance(named, list) else ()):
        if name in known:
            continue
        close = nearest(name, known, cutoff=0.7)
        yield Finding(
            rule="unknown-tenant",
            severity=Severity.WARNING,
            message=f"{words} the tenant {name}",
            hint=f"did you mean {close}?" if close else "take it out where the tenant is gone",
            field_path=f"{key}.{index}",
            value=name,
            primary=document.location(key, index),
        )
