"""The reference engine inside this process. The only way from the client's side into `server`."""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from knobctl.engine.interface import (
    EngineRefusedError,
    LiveSet,
    NotOfferedError,
    Receipt,
    TenantNotFoundError,
    Violation,
)
from knobctl.engine.refusals import moved
from knobctl.engine.target import EMBEDDED
from knobctl.errors import EngineError
from knobctl.server.auth import local_caller
from knobctl.server.opening import open_services
from knobctl.server.refusal import Code, ServiceError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from knobctl.engine.pace import Pace
    from knobctl.knobs import Catalogue, KnobValue
    from knobctl.server.json_calls import JsonCalls
    from knobctl.server.opening import Services
    from knobctl.server.retrieval.embedder import Vectors
    from knobctl.server.retrieval.stored_vectors import StoredVectors
    from knobctl.server.stored import Page, Stored

PAGE_SIZE: Final = 1000
T = TypeVar("T")


def open_embedded(  # noqa: PLR0913  what an engine in the process is made of
    url: str,
    catalogue: Catalogue,
    *,
    actor: str,
    clock: Callable[[], datetime],
    pace: Pace | None = None,
    embedder: str | None = None,
    embedder_key: str | None = None,
) -> EmbeddedEngine:
    """Open the reference engine over a file.

    Args:
        url: `embedded:FILE`; `embedded:` alone is `engine.db` in the user's data folder.
        catalogue: The knobs.
        actor: The local user, who becomes the actor of audit events.
        clock: Tells the time, with its zone.
        pace: Gives the turns of calls; None where nobody limits them.
        embedder: What embeds questions; None for the one that is shipped.
        embedder_key: For an endpoint that wants one.

    Raises:
        EngineError: If the file cannot be used.
    """
    named = url.removeprefix(EMBEDDED)
    store = f"{EMBEDDED}{Path(named).expanduser()}" if named else EMBEDDED
    services = open_services(
        store, catalogue, clock=clock, embedder=embedder, embedder_key=embedder_key
    )
    return EmbeddedEngine(url, services, actor=actor, pace=pace)


class EmbeddedEngine:
    """The reference engine in this process; the caller is the local user, L4, all tenants."""

    def __init__(
        self, name: str, services: Services, *, actor: str, pace: Pace | None = None
    ) -> None:
        self.name = name
        self._pace = pace
        self._services = services
        self._service = services.knobs
        self._caller = local_caller(actor)

    @property
    def clearance(self) -> int:
        """The clearance of the caller: 4 for L4."""
        return self._caller.clearance

    def read(self, tenant: str) -> LiveSet:
        """Read one tenant's set; an empty one where it was never written."""
        return _live(self._asked(tenant, lambda: self._service.get(self._caller, tenant)))

    def list(self) -> Iterator[LiveSet]:
        """Read the sets of every tenant that was ever written."""
        service, caller = self._service, self._caller
        for stored in self._pages(
            lambda token: service.list(caller, page_size=PAGE_SIZE, page_token=token)
        ):
            yield _live(stored)

    def audit_events(
        self, tenant: str | None = None, *, since: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Read audit events, oldest first."""
        yield from self._pages(
            lambda token: self._service.audit_events(
                self._caller, tenant=tenant, since=since, page_size=PAGE_SIZE, page_token=token
            ),
            tenant,
        )

    def replace(
        self,
        tenant: str,
        knobs: Mapping[str, KnobValue],
        *,
        expected_revision: str | None,
        reason: str,
        idempotency_key: str,
        expected_knobs: Mapping[str, KnobValue] | None = None,  # noqa: ARG002  revisions say more
    ) -> Receipt:
        """Replace a tenant's whole set."""
        updated = self._asked(
            tenant,
            lambda: self._service.update(
                self._caller,
                tenant,
                knobs,
                expected_revision=expected_revision,
                reason=reason,
                idempotency_key=idempotency_key,
            ),
        )
        return Receipt(
            knobs=updated.stored.knobs,
            revision=updated.stored.revision,
            changed_field_paths=updated.changed_field_paths,
        )

    def search(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call Search."""
        return self._asked(tenant, lambda: self._retrieval.search(tenant, request))

    def assemble(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call AssembleContext."""
        return self._asked(tenant, lambda: self._retrieval.assemble(tenant, request))

    def evaluate(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call Evaluate."""
        return self._asked(tenant, lambda: self._retrieval.evaluate(tenant, request))

    def describe(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call Describe."""
        return self._asked(tenant, lambda: self._retrieval.describe(tenant, request))

    def stored_vectors(self, tenant: str) -> StoredVectors:
        """Read the vectors of a tenant's corpus.

        Raises:
            EngineError: If the store cannot be asked, or retrieval is not offered.
        """
        from knobctl.server.retrieval.stored_vectors import stored_vectors
        from knobctl.server.store.interface import StoreUnavailableError

        self.describe(tenant, {})  # refuses what is no tenant, and where retrieval is not offered
        try:
            return stored_vectors(self._service.store, tenant)
        except StoreUnavailableError as error:
            raise EngineError(f"{self.name} cannot be read: {error}") from error

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts as questions are.

        Raises:
            EngineError: If the embedder cannot be asked, or retrieval is not offered.
        """
        context = self._services.context
        if context is None:
            raise NotOfferedError(f"{self.name}: {self._services.missing}")
        from knobctl.server.retrieval.embedder import EmbedderUnavailableError

        try:
            return context.embedder.embed(texts)
        except EmbedderUnavailableError as error:
            raise EngineError(f"the embedder did not answer: {error}") from error

    @cached_property
    def _retrieval(self) -> JsonCalls:
        """Retrieval; knobs alone never pay for the import."""
        from knobctl.server.json_calls import JsonCalls

        return JsonCalls(self._services, self._caller)

    def assert_addresses(self, tenants: Collection[str]) -> None:
        """Every tenant is addressed by its name here."""

    def close(self) -> None:
        """Close the store, and what retrieval opened."""
        self._services.close()

    def _pages(self, page: Callable[[str], Page[T]], tenant: str | None = None) -> Iterator[T]:
        token = ""
        while True:
            found = self._asked(tenant, partial(page, token))
            yield from found.items
            token = found.next_page_token
            if not token:
                return

    def _asked(self, tenant: str | None, ask: Callable[[], T]) -> T:
        if self._pace:
            self._pace.turn()
        try:
            return ask()
        except ServiceError as error:
            raise self._explained(error, tenant) from error

    def _explained(self, error: ServiceError, tenant: str | None) -> Exception:
        said = visible(error.message)
        if error.code is Code.ABORTED and tenant:
            return moved(tenant)
        if error.code is Code.NOT_FOUND:
            return TenantNotFoundError(f"{self.name} has no tenant {visible(tenant or '')}: {said}")
        if error.code is Code.UNIMPLEMENTED:
            return NotOfferedError(f"{self.name}: {said}")
        return EngineRefusedError(
            f"{self.name} refused ({error.code}): {said}",
            code=str(error.code),
            violations=tuple(Violation(v.field, v.description) for v in error.violations),
        )


def _live(stored: Stored) -> LiveSet:
    return LiveSet(
        tenant=stored.tenant,
        knobs=stored.knobs,
        revision=stored.revision,
        updated_at=stored.updated_at,
        updated_by=stored.updated_by,
        last_good=stored.last_good,
    )
