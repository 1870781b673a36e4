"""An engine over HTTP: with our extensions where it has them, safely without where it has not."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from knobctl.documents.kinds import TENANT_NAME
from knobctl.engine.answers import NonsenseError, parse_object
from knobctl.engine.capabilities import Capabilities
from knobctl.engine.failures import CallFailedError, CallRefusedError
from knobctl.engine.interface import NEVER_WRITTEN, LiveSet, NotOfferedError, Receipt
from knobctl.engine.paging import Paging
from knobctl.engine.refusals import failed, moved, refused, says_not_written, speaks_of_tenant
from knobctl.engine.set_reading import SetReader
from knobctl.engine.settling import Sent, settle
from knobctl.engine.transport import Call, Repeat, Transport, nonsense
from knobctl.engine.wire import (
    audit_event,
    list_field,
    live_set,
    read_config,
    text_field,
    wire_config,
)
from knobctl.errors import EngineError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from knobctl.engine.network import Network
    from knobctl.engine.tokens import Tokens
    from knobctl.knobs import Catalogue, KnobValue

SERVICE: Final = "upsquad.contextengine.v1.ContextEngineKnobsConfigService"
GET: Final = f"{SERVICE}/GetContextEngineKnobsConfig"
UPDATE: Final = f"{SERVICE}/UpdateContextEngineKnobsConfig"
LIST: Final = f"{SERVICE}/ListContextEngineKnobsConfigs"
EVENTS: Final = f"{SERVICE}/ListConfigAuditEvents"
CONTEXT: Final = "upsquad.context.v1.ContextEngine"
DESCRIBE: Final = "upsquad.context.v1.Ingest/Describe"
NOT_LET_IN: Final = (401, 403)


class HttpEngine:
    """An engine's knobs service at a URL."""

    def __init__(
        self,
        url: str,
        catalogue: Catalogue,
        *,
        tokens: Tokens,
        network: Network,
        notice: Callable[[str], None],
    ) -> None:
        self.name = url.rstrip("/")
        self._catalogue = catalogue
        self._sets = SetReader(catalogue)
        self._tokens = tokens
        self._notice = notice
        self._transport = Transport(url, network, say=lambda what: notice(f"{self.name} {what}"))
        self._capabilities = Capabilities(self.name, self._offers_list, tokens, notice)
        self._listing: Paging | None = None

    def read(self, tenant: str) -> LiveSet:
        """Read one tenant's set."""
        answer = self._call(GET, {}, tenant)
        if "revision" in answer:
            self._capabilities.revisions_seen()
        never = NEVER_WRITTEN if self._capabilities.has_revisions(tenant) else None
        found: LiveSet = self._sane(
            live_set, answer, self._catalogue, tenant=tenant, revision=never
        )
        return found

    def list(self) -> Iterator[LiveSet]:
        """Read the sets of every tenant that the caller holds, page by page."""
        paging, self._listing = self._listing, None
        return chain.from_iterable(self._listed(paging))

    def list_ahead(self) -> None:
        """Begin to fetch what the next `list` gives, while other work is done.

        Raises:
            NotOfferedError: If the engine cannot be asked for all tenants at once.
        """
        self._listing = self._sets_paged()
        self._listing.begin()

    def _listed(self, paging: Paging | None) -> Iterator[Sequence[LiveSet]]:
        """Give the sets of a page at a time."""
        for sets in self._in_pages(paging or self._sets_paged(), "configs"):
            if all(TENANT_NAME.match(live.tenant) for live in sets):
                yield sets
            else:
                yield [live for live in sets if self._has_name_of_document(live)]

    def _sets_paged(self) -> Paging:
        def read(body: bytes) -> dict[str, Any]:
            return self._sets.page(body, lambda page: self._read_answer(page, None))

        return self._paged(LIST, {}, None, read)

    def _has_name_of_document(self, live: LiveSet) -> bool:
        if TENANT_NAME.match(live.tenant):
            return True
        shown = visible(live.tenant[:80])
        self._notice(f"a tenant is left out whose name no document can carry: {shown}")
        return False

    def audit_events(
        self, tenant: str | None = None, *, since: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Read audit events, page by page."""
        body = {name: value for name, value in (("tenantId", tenant), ("since", since)) if value}

        def read(answer: bytes) -> dict[str, Any]:
            return self._read_answer(answer, tenant)

        paging = self._paged(EVENTS, body, tenant, read)
        for item in chain.from_iterable(self._in_pages(paging, "events")):
            event = self._sane(audit_event, item, self._catalogue)
            if tenant is not None and event["tenant_id"] != tenant:
                raise self._nonsense("an audit event of another tenant than the one asked for")
            yield event

    def replace(
        self,
        tenant: str,
        knobs: Mapping[str, KnobValue],
        *,
        expected_revision: str | None,
        reason: str,
        idempotency_key: str,
        expected_knobs: Mapping[str, KnobValue] | None = None,
    ) -> Receipt:
        """Replace a tenant's whole set, and find out what became of it where the answer is lost."""
        sent = Sent(tenant, dict(knobs), expected_revision, expected_knobs)
        body: dict[str, Any] = {"config": wire_config(knobs, self._catalogue)}
        if expected_revision is not None:
            body |= {"expectedRevision": expected_revision, "reason": reason}
        elif expected_knobs is not None and self.read(tenant).knobs != expected_knobs:
            raise moved(tenant)
        call = Call(
            method=UPDATE,
            body=body,
            repeat=Repeat.BARE_WRITE if expected_revision is None else Repeat.KEYED_WRITE,
            token=self._tokens.token(tenant),
            tenant=tenant,
            idempotency_key=idempotency_key,
        )
        return self._write(call, sent)

    def _write(self, call: Call, sent: Sent) -> Receipt:
        try:
            return self._receipt(self._transport.call(call), sent)
        except NonsenseError as error:
            lost = self._nonsense(str(error))
            return settle(self.read, sent, because=lost, is_final=False)
        except CallRefusedError as error:
            lost = refused(self.name, error, sent.tenant)
            if error.alone and sent.expected_revision is not None and error.error.code == "aborted":
                raise moved(sent.tenant) from error
            if error.alone and says_not_written(error):
                raise lost from error
            return settle(self.read, sent, because=lost, is_final=error.is_final)
        except CallFailedError as error:
            lost = failed(self.name, error)
            if not error.started:
                raise lost from error
            return settle(self.read, sent, because=lost, is_final=False)

    def _receipt(self, answer: Mapping[str, Any], sent: Sent) -> Receipt:
        if text_field(answer, "tenantId", "tenant_id") not in {"", sent.tenant}:
            raise NonsenseError("the set of another tenant than the one written")
        config = answer.get("config")
        stored = read_config(config, self._catalogue)[0] if isinstance(config, dict) else sent.knobs
        paths = list_field(answer, "changedFieldPaths", "changed_field_paths")
        guarded = sent.expected_revision is not None
        return Receipt(
            knobs=stored,
            revision=(text_field(answer, "revision") or None) if guarded else None,
            changed_field_paths=tuple(map(str, paths)) if guarded else None,
        )

    def search(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call Search."""
        return self._retrieve(f"{CONTEXT}/Search", request, tenant)

    def assemble(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call AssembleContext."""
        return self._retrieve(f"{CONTEXT}/AssembleContext", request, tenant)

    def evaluate(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call Evaluate."""
        return self._retrieve(f"{CONTEXT}/Evaluate", request, tenant)

    def describe(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call Describe."""
        return self._retrieve(DESCRIBE, request, tenant)

    def _retrieve(self, method: str, request: Mapping[str, Any], tenant: str) -> dict[str, Any]:
        """Call a method of retrieval. All of them only read, so each may be sent again."""
        try:
            return self._transport.call(self._reading(method, request, tenant))
        except CallRefusedError as error:
            if not speaks_of_tenant(error, tenant, revisions=True):
                what = method.rpartition("/")[2]
                said = f": {visible(error.error.message)[:200]}" if error.error.message else ""
                raise NotOfferedError(f"{self.name} does not offer {what}{said}") from error
            raise refused(self.name, error, tenant) from error
        except CallFailedError as error:
            raise failed(self.name, error) from error

    def assert_addresses(self, tenants: Collection[str]) -> None:
        """Make sure that a write to each of these tenants can reach that tenant."""
        self._capabilities.assert_addresses(tenants)

    def close(self) -> None:
        """Close the connections."""
        if self._listing:
            self._listing.stop()
        self._transport.close()

    def _offers_list(self, tenant: str) -> bool:
        """Ask for the smallest list: engines with revisions have it, those of the given contract not."""
        try:
            self._transport.call(self._reading(LIST, {"pageSize": 1}, tenant))
        except CallRefusedError as error:
            if error.is_passing:
                raise refused(self.name, error, tenant) from error
            if error.status in NOT_LET_IN:
                # Who is let in nowhere is told so, not that the engine lacks something.
                self._call(GET, {}, tenant)
            return False
        except CallFailedError as error:
            raise failed(self.name, error) from error
        return True

    def _reading(self, method: str, body: Mapping[str, Any], tenant: str | None) -> Call:
        token = self._tokens.token(tenant)
        return Call(method=method, body=body, repeat=Repeat.READ, token=token, tenant=tenant)

    def _call(self, method: str, body: Mapping[str, Any], tenant: str | None) -> dict[str, Any]:
        return self._read_answer(self._fetch(method, body, tenant), tenant)

    def _fetch(self, method: str, body: Mapping[str, Any], tenant: str | None) -> bytes:
        try:
            return self._transport.fetch(self._reading(method, body, tenant))
        except CallRefusedError as error:
            if method != GET and not speaks_of_tenant(error, tenant, self._capabilities.revisions):
                name = method.rpartition("/")[2]
                raise NotOfferedError(f"{self.name} does not offer {name}") from error
            raise refused(self.name, error, tenant) from error
        except CallFailedError as error:
            raise failed(self.name, error) from error

    def _read_answer(self, body: bytes, tenant: str | None) -> dict[str, Any]:
        try:
            return parse_object(body)
        except NonsenseError as error:
            said = nonsense(str(error), body, self._tokens.token(tenant))
            raise failed(self.name, said) from error

    def _paged(
        self,
        method: str,
        body: Mapping[str, Any],
        tenant: str | None,
        read: Callable[[bytes], Mapping[str, Any]],
    ) -> Paging:
        if tenant is None and self._tokens.per_tenant:
            raise NotOfferedError(
                f"{self.name} cannot be asked for all tenants at once: each has a token of its own",
                hint="name the tenants",
            )
        return Paging(
            lambda page: self._fetch(method, {**body, **page}, tenant), read, ahead=tenant is None
        )

    def _in_pages(self, paging: Paging, field: str) -> Iterator[Sequence[Any]]:
        """Give what stands in one field of each page."""
        try:
            for page in paging.pages():
                yield list_field(page, field)
        except NonsenseError as error:
            raise self._nonsense(str(error)) from error

    def _sane(self, read: Callable[..., Any], *arguments: Any, **named: Any) -> Any:  # noqa: ANN401  what `read` gives
        try:
            return read(*arguments, **named)
        except NonsenseError as error:
            raise self._nonsense(str(error)) from error

    def _nonsense(self, what: str) -> EngineError:
        return EngineError(f"{self.name} answered nonsense: {what}")
