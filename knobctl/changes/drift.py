"""Drift: where live is not what the files say, which of the two moved, by whom and since when."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knobctl.changes.comparing import TenantDiff, diff_live
from knobctl.changes.tracing import KnobDrift, Moved, trace
from knobctl.engine.interface import NEVER_WRITTEN, LiveSet, NotOfferedError
from knobctl.engine.reading import read_histories, read_many
from knobctl.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import Engine
    from knobctl.knobs import Catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantDrift:
    """One tenant: what differs, from live to its file, and how that came about."""

    diff: TenantDiff
    knobs: tuple[KnobDrift, ...] = ()
    unreadable: tuple[str, ...] = ()
    """Knobs of the schema that live holds at a value that no document can say."""
    untold: str | None = None
    """Why nobody knows which side moved, where that is so."""

    @property
    def tenant(self) -> str:
        """Whose."""
        return self.diff.tenant

    @property
    def differs(self) -> bool:
        """Whether live is not what the file says."""
        return bool(self.knobs or self.unreadable)

    @property
    def moved(self) -> Moved | None:
        """Which side moved; None where they are alike."""
        if not self.differs:
            return None
        sides = {one.moved for one in self.knobs} | ({Moved.LIVE} if self.unreadable else set())
        if Moved.UNKNOWN in sides:
            return Moved.UNKNOWN
        return sides.pop() if len(sides) == 1 else Moved.BOTH

    @property
    def never_written(self) -> bool:
        """Whether live was never written, so that the file was never pushed."""
        return self.diff.live is not None and self.diff.live.revision == NEVER_WRITTEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What a run found out."""

    tenants: Sequence[TenantDrift]
    """Those that could be read, by tenant."""
    unread: Mapping[str, EngineError]
    """By tenant, why its set could not be read."""
    unmanaged: Sequence[LiveSet] | None = None
    """Live sets without a document; None where nobody asked, or the engine cannot list."""
    unlisted: str | None = None
    """Why the engine could not be asked for them, where it was to be."""

    @property
    def differing(self) -> list[TenantDrift]:
        """The tenants that are not as their files say."""
        return [one for one in self.tenants if one.differs]

    @property
    def found(self) -> bool:
        """Whether there is drift."""
        return bool(self.differing or self.unmanaged)


def find_drift(
    repository: Repository, engine: Engine, *, parallelism: int, unmanaged: bool = False
) -> Drift:
    """Compare the judged tenants with live; ask the audit events about those that differ.

    Args:
        repository: The documents; nothing is wrong with them.
        engine: Where live is read.
        parallelism: How many tenants are read at a time.
        unmanaged: Whether live sets without a document are looked for too.

    Raises:
        EngineError: If no tenant can be read.
    """
    names = [tenant.name for tenant in repository.tenants]
    read = read_many(engine, names, workers=parallelism)
    unread = {name: one for name, one in read.items() if isinstance(one, EngineError)}
    if unread and len(unread) == len(read):
        raise next(iter(unread.values()))
    live = {name: one for name, one in read.items() if isinstance(one, LiveSet)}
    diffs = diff_live(repository, live, unsure=unread)
    odd = {name: _unreadable(repository.catalogue, one) for name, one in live.items()}
    told = read_histories(engine, [one.tenant for one in diffs if one.changes], workers=parallelism)
    tenants = [
        _tenant(repository.catalogue, diff, told.get(diff.tenant, []), odd[diff.tenant])
        for diff in diffs
    ]
    found, unlisted = _unmanaged(repository, engine) if unmanaged else (None, None)
    return Drift(tenants=tenants, unread=unread, unmanaged=found, unlisted=unlisted)


def _tenant(
    catalogue: Catalogue,
    diff: TenantDiff,
    told: Sequence[Mapping[str, Any]] | EngineError,
    unreadable: tuple[str, ...],
) -> TenantDrift:
    knobs = trace(catalogue, diff, () if isinstance(told, EngineError) else told)
    untold = None
    if any(one.moved is Moved.UNKNOWN for one in knobs):
        untold = (
            told.message if isinstance(told, EngineError) else "there are no audit events of it"
        )
    return TenantDrift(diff=diff, knobs=knobs, unreadable=unreadable, untold=untold)


def _unreadable(catalogue: Catalogue, live: LiveSet) -> tuple[str, ...]:
    return tuple(sorted(name for name in live.unknown if name in catalogue))


def unmanaged_sets(repository: Repository, engine: Engine) -> list[LiveSet]:
    """The live sets that no document of the repository asks for, whatever its fleet, by tenant.

    A tenant at the platform default everywhere is none: nothing of it needs a document.

    Raises:
        NotOfferedError: If the engine cannot list its tenants.
    """
    found = [
        live
        for live in engine.list()
        if live.tenant not in repository.claims and (live.knobs or live.unknown)
    ]
    return sorted(found, key=lambda live: live.tenant)


def _unmanaged(
    repository: Repository, engine: Engine
) -> tuple[Sequence[LiveSet] | None, str | None]:
    try:
        return unmanaged_sets(repository, engine), None
    except NotOfferedError as error:
        return None, error.message


def sides(drift: Drift) -> Counter[Moved]:
    """How many tenants differ, by the side that moved."""
    return Counter(one.moved for one in drift.differing if one.moved)
