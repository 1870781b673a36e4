"""What documents claim of one another: names that are taken, layers that do not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.documents.model import Document, Kind
from knobctl.finding import Finding, Related, Severity
from knobctl.text import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knobctl.documents.repository import Repository

CLAIM_RULES: Final = frozenset(
    {*(f"duplicate-{kind.value}" for kind in Kind), "unknown-layer", "layer-named-twice"}
)
"""The rules of this module: what is wrong between documents, not in one."""


def claim_findings(repository: Repository) -> list[Finding]:
    """Names that two documents claim: a tenant within one fleet, any other kind within the repository."""
    several = {kind: list(_claimed_twice(repository.of_kind(kind))) for kind in Kind}
    if not any(several.values()):
        return []
    judged = set(map(id, repository.judged))
    return [
        finding
        for kind, claims in several.items()
        for documents in claims
        for group in _groups(repository, kind, documents)
        for finding in _duplicates(group, judged)
    ]


def _claimed_twice(documents: list[Document]) -> Iterable[list[Document]]:
    """Those documents that do not have their name to themselves, by name."""
    if len({document.name for document in documents}) == len(documents):
        return
    claims: dict[str, list[Document]] = {}
    for document in documents:
        if document.name:
            claims.setdefault(document.name, []).append(document)
    yield from (several for several in claims.values() if len(several) > 1)


def _groups(
    repository: Repository, kind: Kind, documents: list[Document]
) -> Iterable[list[Document]]:
    """Divide documents of one name into those that must not share it."""
    if kind is not Kind.TENANT or not repository.fleets:
        return [documents]
    groups: dict[str, list[Document]] = {}
    for document in documents:
        for fleet in [fleet.name for fleet in repository.fleets_of(document)] or [""]:
            groups.setdefault(fleet, []).append(document)
    return groups.values()


def _duplicates(group: list[Document], judged: set[int]) -> Iterator[Finding]:
    """One finding at each judged claim but the first; at the first if it alone is judged."""
    group = sorted(group, key=lambda document: (document.source, document.tree.spot.start))
    concerned = [document for document in group if id(document) in judged]
    if len(group) < 2 or not concerned:
        return
    later = [document for document in concerned if document is not group[0]] or concerned
    for document in later:
        first = next(other for other in group if other is not document)
        kind = document.kind.value
        yield Finding(
            rule=f"duplicate-{kind}",
            severity=Severity.ERROR,
            message=f"two documents claim the {kind} {document.name}",
            hint="keep one of them; a tenant is claimed once per fleet"
            if document.kind is Kind.TENANT
            else "keep one of them, or rename one",
            tenant=document.name if document.kind is Kind.TENANT else None,
            field_path=kind,
            value=document.name,
            primary=document.location(kind),
            related=(Related("claimed here too", first.location(kind)),),
        )


def layer_findings(repository: Repository) -> list[Finding]:
    """Layers that a judged tenant names and that do not exist, or that it names twice."""
    found: list[Finding] = []
    fine: set[tuple[str, ...]] = set()
    for tenant in repository.tenants:
        layers = tenant.layers
        if layers and layers not in fine:
            wrong = list(_layers_of(tenant, repository))
            found += wrong
            if not wrong:
                fine.add(layers)
    return found


def _layers_of(tenant: Document, repository: Repository) -> Iterator[Finding]:
    written = tenant.value["layers"]
    if not isinstance(written, list):
        return
    seen: dict[str, int] = {}
    for index, name in enumerate(written):
        if not isinstance(name, str):
            continue
        if name in seen:
            yield _layer_finding(
                tenant,
                index,
                "layer-named-twice",
                f"{tenant.name} names the layer {name} twice",
                "keep the one whose place in the order is meant; later layers win",
                (Related("named here first", tenant.location("layers", seen[name])),),
            )
            continue
        seen[name] = index
        if repository.layer(name) is None:
            yield _layer_finding(
                tenant, index, "unknown-layer", f"there is no layer {name}", _hint(name, repository)
            )


def _layer_finding(
    tenant: Document,
    index: int,
    rule: str,
    message: str,
    hint: str | None,
    related: tuple[Related, ...] = (),
) -> Finding:
    return Finding(
        rule=rule,
        severity=Severity.ERROR,
        message=message,
        hint=hint,
        tenant=tenant.name,
        field_path=f"layers.{index}",
        value=tenant.layers[index] if index < len(tenant.layers) else None,
        primary=tenant.location("layers", index),
        related=related,
    )


def _hint(name: str, repository: Repository) -> str:

    known = sorted(document.name for document in repository.of_kind(Kind.LAYER))
    if close := nearest(name, known):
        return f"did you mean {close}?"
    if repository.unread:
        return f"it may stand in a file that cannot be read: {', '.join(repository.unread[:3])}"
    return f"known are {', '.join(known)}" if known else "a layer is a document with layer: NAME"
