"""An engine that tells what it was asked, how long that took and what came of it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from knobctl.errors import KnobctlError
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from knobctl.engine.interface import Engine, LiveSet, Receipt
    from knobctl.knobs import KnobValue

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of an engine, after it ended."""

    method: str
    """As `Engine` names it."""
    tenant: str
    """Empty where it was about all of them."""
    seconds: float
    outcome: str
    """In words; nothing that was sent stands in it."""
    failed: bool


class TellingEngine:
    """Another engine; each call is told of when it ends. Safe to call from several threads where that one is."""

    def __init__(
        self, engine: Engine, tell: Callable[[Call], object], *, clock: Callable[[], float]
    ) -> None:
        """Stand before an engine.

        Args:
            engine: Who answers.
            tell: Hears of each call, in the thread that made it.
            clock: Seconds since whenever, never going back.
        """
        self._engine = engine
        self._tell = tell
        self._clock = clock

    @property
    def name(self) -> str:
        """As the other engine is named."""
        return self._engine.name

    def read(self, tenant: str) -> LiveSet:
        """Read one tenant's set."""
        with self._telling("read", tenant) as ending:
            live = self._engine.read(tenant)
            ending.outcome = live.revision or "ok"
            return live

    def list(self) -> Iterator[LiveSet]:
        """Read the sets of every tenant."""
        yield from self._counted("list", "", self._engine.list(), "set")

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
        """Replace a tenant's whole set."""
        with self._telling("replace", tenant) as ending:
            receipt = self._engine.replace(
                tenant,
                knobs,
                expected_revision=expected_revision,
                reason=reason,
                idempotency_key=idempotency_key,
                expected_knobs=expected_knobs,
            )
            ending.outcome = f"written, {receipt.revision or 'without a revision'}"
            return receipt

    def audit_events(
        self, tenant: str | None = None, *, since: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """Read audit events, oldest first."""
        events = self._engine.audit_events(tenant, since=since)
        yield from self._counted("audit_events", tenant or "", events, "event")

    def search(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call Search."""
        with self._telling("search", tenant):
            return self._engine.search(tenant, request)

    def assemble(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call AssembleContext."""
        with self._telling("assemble", tenant):
            return self._engine.assemble(tenant, request)

    def evaluate(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call Evaluate."""
        with self._telling("evaluate", tenant):
            return self._engine.evaluate(tenant, request)

    def describe(self, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Call Describe."""
        with self._telling("describe", tenant):
            return self._engine.describe(tenant, request)

    def assert_addresses(self, tenants: Collection[str]) -> None:
        """Make sure that writes can reach these tenants; nobody is asked for it."""
        self._engine.assert_addresses(tenants)

    def close(self) -> None:
        """Give back connections and files."""
        self._engine.close()

    def _counted(self, method: str, tenant: str, answers: Iterator[T], noun: str) -> Iterator[T]:
        """Pass on what comes page by page; told of once, when the last one was taken or nobody wants more."""
        number = 0
        with self._telling(method, tenant) as ending:
            try:
                for one in answers:
                    number += 1
                    yield one
            finally:
                ending.outcome = count(number, noun)

    @contextmanager
    def _telling(self, method: str, tenant: str) -> Iterator[_Ending]:
        began, ending = self._clock(), _Ending()
        failed = True
        try:
            yield ending
            failed = False
        except GeneratorExit:
            failed = False  # whoever took enough of a list asks for no more
            raise
        except KnobctlError as error:
            ending.outcome = error.message
            raise
        finally:
            self._tell(
                Call(
                    method=method,
                    tenant=tenant,
                    seconds=self._clock() - began,
                    outcome=ending.outcome,
                    failed=failed,
                )
            )


class _Ending:
    """How a call ended."""

    outcome = "ok"
