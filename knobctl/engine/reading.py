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
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from knobctl.engine.interface import Engine

T = TypeVar("T")
WORKERS: Final = 8
LISTS_FROM: Final = 20
"""From how many tenants on a list is tried first."""
LISTED_PER_TENANT: Final = 20
"""How many listed sets cost as much as one read: beyond that the list is given up."""


def read_arriving(
    engine: Engine, tenants: Iterable[str], *, workers: int = WORKERS
) -> Iterator[tuple[str, LiveSet | EngineError]]:
    """Read each tenant's set, and give each as soon as it is there.

    Args:
        engine: Where from.
        tenants: Whose; each once.
        workers: How many reads are under way at a time, at least 1.

    Yields:
        A tenant, and its set or why it could not be read. First those that a list tells, in its order,
        then the others in the order given. Where the engine cannot be reached at all it is not tried
        again for every tenant.

    Raises:
        RefusedError: If the engine cannot tell the tenants apart; see `Engine.assert_addresses`.
    """
    missing = dict.fromkeys(tenants)
    engine.assert_addresses(missing.keys())
    for live in _listed(engine, missing):
        yield live.tenant, live
    reader = _Asker(engine.read)
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            yield from zip(missing, pool.map(reader, missing), strict=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def read_many(
    engine: Engine, tenants: Iterable[str], *, workers: int = WORKERS
) -> dict[str, LiveSet | EngineError]:
    """Read each tenant's set: as `read_arriving`, by tenant in the order given."""
    wanted = list(dict.fromkeys(tenants))
    found = dict(read_arriving(engine, wanted, workers=workers))
    return {tenant: found[tenant] for tenant in wanted}


def read_all(
    engine: Engine, tenants: Iterable[str], *, workers: int = WORKERS
) -> dict[str, LiveSet]:
    """Read each tenant's set, or none: as `read_many`, but the first failure is raised.

    Raises:
        EngineError: The first failure, in the order of the tenants.
    """
    found = read_many(engine, tenants, workers=workers)
    failure = next((result for result in found.values() if isinstance(result, EngineError)), None)
    if failure:
        raise failure
    return {tenant: result for tenant, result in found.items() if isinstance(result, LiveSet)}


def _listed(engine: Engine, missing: dict[str, None]) -> Iterator[LiveSet]:
    """Give what a list tells of tenants that are missing; they are no more."""
    if len(missing) < LISTS_FROM:
        return
    try:
        for live in islice(engine.list(), LISTED_PER_TENANT * len(missing)):
            if live.tenant in missing:
                del missing[live.tenant]
                yield live
                if not missing:
                    return
    except NotOfferedError:
        return


class _Asker(Generic[T]):
    """Asks about one tenant; once the engine is out of reach, gives the same answer for the rest."""

    def __init__(self, ask: Callable[[str], T]) -> None:
        self._ask = ask
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
        return result


def read_histories(
    engine: Engine, tenants: Iterable[str], *, workers: int = WORKERS
) -> dict[str, list[dict[str, Any]] | EngineError]:
    """Read each tenant's audit events, oldest first, or why they could not be read.

    An engine that keeps none is asked once for each worker, and is then known to.
    """
    asker = _Asker(lambda tenant: list(engine.audit_events(tenant)))
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
