"""Reads the sets of many tenants: in parallel within bounds, or as a list where that is cheaper."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from knobctl.engine.interface import (
    EngineRefusedError,
    LiveSet,
    NotOfferedError,
    TenantNotFoundError,
)
from knobctl.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from knobctl.engine.interface import Engine

T = TypeVar("T")
WORKERS: Final = 8
LISTS_FROM: Final = 20
"""From how many tenants on a list is tried first."""
LISTED_PER_TENANT: Final = 20
"""How many listed sets cost as much as one read: beyond that the list is given up."""


def read_many(
    engine: Engine,
    tenants: Iterable[str],
    *,
    workers: int = WORKERS,
    on_each: Callable[[str], None] = lambda _: None,
) -> dict[str, LiveSet | EngineError]:
    """Read each tenant's set.

    Args:
        engine: Where from.
        tenants: Whose; each once.
        workers: How many reads are under way at a time, at least 1.
        on_each: Told of each tenant when it is read.

    Returns:
        By tenant, in the order given: its set, or why it could not be read. Where the engine cannot
        be reached at all it is not tried again for every tenant.

    Raises:
        RefusedError: If the engine cannot tell the tenants apart; see `Engine.assert_addresses`.
    """
    wanted = list(dict.fromkeys(tenants))
    engine.assert_addresses(wanted)
    found: dict[str, LiveSet | EngineError] = dict(_listed(engine, wanted))
    for tenant in found:
        on_each(tenant)
    reader = _Asker(engine.read, on_each)
    with ThreadPoolExecutor(max_workers=workers) as pool:
        missing = [tenant for tenant in wanted if tenant not in found]
        try:
            found |= dict(zip(missing, pool.map(reader, missing), strict=True))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return {tenant: found[tenant] for tenant in wanted}


def read_all(
    engine: Engine,
    tenants: Iterable[str],
    *,
    workers: int = WORKERS,
    on_each: Callable[[str], None] = lambda _: None,
) -> dict[str, LiveSet]:
    """Read each tenant's set, or none: as `read_many`, but the first failure is raised.

    Raises:
        EngineError: The first failure, in the order of the tenants.
    """
    found = read_many(engine, tenants, workers=workers, on_each=on_each)
    failure = next((result for result in found.values() if isinstance(result, EngineError)), None)
    if failure:
        raise failure
    return {tenant: result for tenant, result in found.items() if isinstance(result, LiveSet)}


def _listed(engine: Engine, wanted: Collection[str]) -> Mapping[str, LiveSet]:
    if len(wanted) < LISTS_FROM:
        return {}
    names = set(wanted)
    found: dict[str, LiveSet] = {}
    try:
        for live in islice(engine.list(), LISTED_PER_TENANT * len(names)):
            if live.tenant in names:
                found[live.tenant] = live
                if len(found) == len(names):
                    break
    except NotOfferedError:
        return {}
    return found


class _Asker(Generic[T]):
    """Asks about one tenant; once the engine is out of reach, gives the same answer for the rest."""

    def __init__(self, ask: Callable[[str], T], on_each: Callable[[str], None]) -> None:
        self._ask = ask
        self._on_each = on_each
        self._out_of_reach: EngineError | None = None

    def __call__(self, tenant: str) -> T | EngineError:
        if self._out_of_reach:
            return self._out_of_reach
        result: T | EngineError
        try:
            result = self._ask(tenant)
        except (TenantNotFoundError, EngineRefusedError) as error:
            result = error
        except EngineError as error:
            result = self._out_of_reach = error
        self._on_each(tenant)
        return result


def read_histories(
    engine: Engine, tenants: Iterable[str], *, workers: int = WORKERS
) -> dict[str, list[dict[str, Any]] | EngineError]:
    """Read each tenant's audit events, oldest first, or why they could not be read.

    An engine that keeps none is asked once for each worker, and is then known to.
    """
    asker = _Asker(lambda tenant: list(engine.audit_events(tenant)), lambda _: None)
    names = list(dict.fromkeys(tenants))
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            return dict(zip(names, pool.map(asker, names), strict=True))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def read_events(
    engine: Engine, tenants: Sequence[str] | None, *, since: str | None = None
) -> Iterator[dict[str, Any]]:
    """Read the audit events of some tenants, oldest first; of all that the caller holds for None.

    The order within a tenant is the engine's own, whatever its clock did.

    Raises:
        NotOfferedError: If the engine keeps none.
        TenantNotFoundError: If the caller does not hold a tenant.
    """
    if tenants is None:
        return engine.audit_events(since=since)
    return merge(
        *(engine.audit_events(tenant, since=since) for tenant in dict.fromkeys(tenants)),
        key=lambda event: str(event["occurred_at"]),
    )
