"""Says whose limits do not hold because no fleet is named: forgetting `--fleet` must not go unnoticed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knobctl.changes.plan import Plan
    from knobctl.cli.session import Session
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository


def tell_unnamed_fleets(
    session: Session,
    repository: Repository,
    documents: Iterable[Document],
    fleet: Document | None,
) -> None:
    """Tell which fleets have tenants that are about to change, where none applies; see `unnamed_fleets`."""
    for words in unnamed_fleets(repository, documents, fleet):
        session.notice(words)


def unnamed_fleets(
    repository: Repository, documents: Iterable[Document], fleet: Document | None
) -> Iterator[str]:
    """Say which fleets have tenants that are about to change, where none applies.

    Args:
        repository: Where the fleets stand.
        documents: Of the tenants that would change.
        fleet: The fleet that applies.
    """
    if fleet is not None or not repository.fleets:
        return
    found = Counter(one for document in documents for one in repository.fleets_of(document))
    for over, number in found.items():
        place = visible(f"{over.source}:{over.location().line}")
        yield (
            f"{count(number, 'tenant')} of fleet {over.name} ({place}) would change without its limits; "
            f"they hold with --fleet {over.name}"
        )


def documents_behind(plan: Plan, repository: Repository) -> Iterator[Document]:
    """The documents that ask for what a plan changes."""
    planned = {(one.tenant, one.source) for one in plan.changing}
    return (one for one in repository.tenants if (one.name, one.source) in planned)
