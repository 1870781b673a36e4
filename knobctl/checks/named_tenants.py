"""Tenants that waivers and fleets name and that no document claims: most likely a typing error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knobctl.documents.model import Kind
from knobctl.finding import Finding, Severity
from knobctl.text import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository

_GUESSES: Final = 20
"""For so many names the nearest is looked for: among thousands of tenants that takes its time."""


class _Stranger(NamedTuple):
    """A name that no document claims, and where it stands."""

    document: Document
    key: str
    place: int
    name: str
    known: Collection[str]
    """The names that could be meant."""


def stranger_findings(repository: Repository, documents: Iterable[Document]) -> Iterator[Finding]:
    """Find names of tenants that have no document.

    Args:
        repository: All of it, read whole: of a part nobody could say.
        documents: Those to look at; only waivers and fleets have such names.
    """
    for number, one in enumerate(_strangers(repository, documents)):
        close = nearest(one.name, one.known, cutoff=0.7) if number < _GUESSES else None
        fleet = f" of fleet {one.document.name}" if one.document.kind is Kind.FLEET else ""
        yield Finding(
            rule="unknown-tenant",
            severity=Severity.WARNING,
            message=f"no document{fleet} claims the tenant {one.name}",
            hint=f"did you mean {close}?" if close else "take it out where the tenant is gone",
            field_path=f"{one.key}.{one.place}",
            value=one.name,
            primary=one.document.location(one.key, one.place),
        )


def _strangers(repository: Repository, documents: Iterable[Document]) -> Iterator[_Stranger]:
    for document in documents:
        known: Collection[str]
        match document.kind:
            case Kind.WAIVER:
                key, known = "tenants", repository.claimed
            case Kind.FLEET:
                key, known = "protected", repository.managed_by(document)
            case _:
                continue
        named: Any = document.value.get(key)
        for index, name in enumerate(named if isinstance(named, list) else ()):
            if name not in known:
                yield _Stranger(document, key, index, name, known)
