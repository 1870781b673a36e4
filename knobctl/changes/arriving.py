"""The judged tenants in the order in which the engine tells what it holds of them: each is looked at while others are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.changes.plan import plan_tenant
from knobctl.checks.carried_evidence import Carrying
from knobctl.checks.evidences import Evidences
from knobctl.engine.reading import read_arriving
from knobctl.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knobctl.changes.plan import TenantPlan
    from knobctl.documents.model import Document, Effective
    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import Engine, LiveSet
    from knobctl.knobs import KnobValue


class Arriving:
    """Gives each judged tenant once, when its live set is there; by then it is known whether it changes."""

    def __init__(self, repository: Repository, engine: Engine, *, workers: int) -> None:
        """Take the documents and the engine; nothing is read yet.

        Args:
            repository: Its judged tenants are looked at; none is claimed twice.
            engine: Where live is read.
            workers: How many reads are under way at a time.
        """
        self._repository, self._engine, self._workers = repository, engine, workers
        self.live: dict[str, LiveSet] = {}
        self.knobs: dict[str, Mapping[str, KnobValue]] = {}
        """By tenant, the canonical set that the engine holds."""
        self.changing: dict[str, Effective] = {}
        """By tenant that live does not hold as its documents want it, what these come to."""
        self.planned: list[TenantPlan] = []
        """What is planned for each of them; nothing is said of it yet."""
        self.staying: dict[str, str | None] = {}
        """By each of the others, the revision."""
        self._carrying = Carrying(Evidences(repository))

    def __iter__(self) -> Iterator[Document]:
        """Give the tenants.

        Raises:
            EngineError: If one cannot be read.
        """
        repository = self._repository
        documents = {one.name: one for one in repository.tenants}
        for tenant, found in read_arriving(self._engine, documents, workers=self._workers):
            if isinstance(found, EngineError):
                raise found
            document = documents[tenant]
            self.live[tenant] = found
            self.knobs[tenant] = found.knobs
            if repository.wants(document, found.knobs):
                self.staying[tenant] = found.revision
            else:
                self._change(found, document)
            yield document

    def _change(self, live: LiveSet, document: Document) -> None:
        effective = self._repository.effective(document)
        self.changing[live.tenant] = effective
        planned = plan_tenant(
            effective.catalogue,
            live,
            effective.desired,
            document=document,
            evidence=lambda before: self._carrying.of(effective, before),
        )
        self.planned.append(planned)
