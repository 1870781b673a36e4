"""Fills the fleet in steps that are small enough to be taken between two keys: rows, verdicts, live sets."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from math import nan
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from knobctl.documents.filed import FiledDocument
from knobctl.documents.kinds import TENANT_NAME
from knobctl.documents.model import Kind
from knobctl.engine.interface import NotOfferedError
from knobctl.engine.reading import read_arriving
from knobctl.errors import EngineError
from knobctl.finding import Severity
from knobctl.tui.fleet import NO_KNOBS, NOBODY, About, Chunk, Held, Mark, Row, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from knobctl.checks.one_by_one import OneByOne
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import Engine, LiveSet
    from knobctl.finding import Finding
    from knobctl.knobs import KnobValue
    from knobctl.tui.fleet import Cells

STEP: Final = 1_000
"""So many verdicts or live sets are taken at once: a few milliseconds of whoever draws."""
_ROWS: Final = 8_000
"""So many rows, which are laid out as columns before."""
_ASKED: Final = 40
"""So many tenants are judged at once."""


def row_steps(repository: Repository) -> Iterator[Chunk]:
    """The judged tenants in their order, so that the first row is the first tenant's; then the files that give none."""
    tenants = iter(repository.tenants)
    rows = _Rows(repository)
    while some := list(islice(tenants, _ROWS)):
        yield Chunk(rows.of(some))
    yield Chunk(_torn(repository))


def rows_so_far(begun: Repository, before: int) -> tuple[int, Chunk]:
    """The tenants among the documents that were read since so many of them had been; their layers may be missing yet.

    Returns:
        How many documents there are now, and the rows.
    """
    some = begun.judged[before : before + _ROWS]
    marks = int(Mark.UNRESOLVED)
    tenants = (one for one in some if one.kind is Kind.TENANT and TENANT_NAME.match(one.name))
    rows = (Row(one.name, one.source, NOBODY, NO_KNOBS, marks) for one in tenants)
    return before + len(some), Chunk(rows)


class _Rows:
    """Makes the rows of tenants; what many say alike is one object."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._abouts: dict[object, About] = {}
        self._sets: dict[tuple[tuple[str, KnobValue], ...], Mapping[str, KnobValue]] = {}
        self._filed: dict[tuple[int, int], tuple[About, Mapping[str, KnobValue], int]] = {}

    def of(self, tenants: Iterable[Document]) -> Iterator[Cells]:
        """The rows of some tenants."""
        filed = self._filed
        for tenant in tenants:
            if isinstance(tenant, FiledDocument):
                # Of documents that the index knows, what is alike is one object, and stays there.
                row = tenant.row
                key = id(row.head), id(row.knobs)
                known = filed.get(key)
                if known is None:
                    known = filed[key] = self._about(tenant), self._repository.desired(tenant), 0
                # Bare, as making a `Row` would take most of the time.
                yield tenant.name, tenant.source, *known
            else:
                yield self._read(tenant)

    def _read(self, tenant: Document) -> Row:
        marks = 0 if TENANT_NAME.match(tenant.name) else int(Mark.NO_TENANT)
        name = tenant.name or PurePath(tenant.source).stem
        desired = self._repository.desired(tenant)
        # Few fleets have many different sets; each is kept as long as the list.
        desired = self._sets.setdefault(tuple(desired.items()), desired)
        return Row(name, tenant.source, self._about(tenant), desired, marks)

    def _about(self, tenant: Document) -> About:
        layers, labels, owner = tenant.layers, tenant.labels, tenant.owner or ""
        key = (layers, owner, *labels.items())
        return self._abouts.setdefault(key, About(layers, labels, owner))


def _torn(repository: Repository) -> Iterator[Row]:
    """Files in which something is wrong and no document stands: a tenant may be lost with each."""
    whole = {one.source for one in repository.judged}
    torn = dict.fromkeys(
        one.primary.file
        for one in repository.findings
        if one.primary and one.severity is Severity.ERROR and one.primary.file not in whole
    )
    for file in torn:
        yield Row(PurePath(file).stem, file, NOBODY, NO_KNOBS, int(Mark.NO_TENANT))


class Judging:
    """Finds out what the checks say of each row, those first at which somebody looks."""

    def __init__(
        self, checks: OneByOne, repository: Repository, seen: Callable[[], Sequence[int]]
    ) -> None:
        """Take what is judged.

        Args:
            checks: What judges.
            repository: Whose judged tenants the first rows are.
            seen: Gives the rows that are looked at now.
        """
        self._checks, self._tenants, self._seen = checks, repository.tenants, seen
        self._files = [row.source for row in _torn(repository)]
        self._open: dict[int, None] = {}

    def known(self) -> Iterator[list[Verdict]]:
        """What the index knows; the rest is asked for afterwards."""
        yield [
            verdict_of(row, self._checks.by_file.get(file, ()))
            for row, file in enumerate(self._files, len(self._tenants))
        ]
        for start in range(0, len(self._tenants), STEP):
            rows = range(start, min(start + STEP, len(self._tenants)))
            yield [verdict for row in rows if (verdict := self._known(row))]

    def asked(self) -> Iterator[list[Verdict]]:
        """What the index does not know."""
        while self._open:
            chosen = [row for row in self._seen() if row in self._open][:_ASKED]
            chosen = chosen or list(islice(self._open, _ASKED))
            for row in chosen:
                del self._open[row]
            yield [verdict_of(row, self._checks.verdict(self._tenants[row])) for row in chosen]

    def _known(self, row: int) -> Verdict | None:
        known = self._checks.known(self._tenants[row])
        if known is None:
            self._open[row] = None
            return None
        errors, warnings = (known.counts.get(one.value, 0) for one in _GRAVE)
        return Verdict(row, errors, warnings, known.rules)


_GRAVE: Final = (Severity.ERROR, Severity.WARNING)


def verdict_of(row: int, findings: Iterable[Finding]) -> Verdict:
    """What some findings come to: only what counts, and no infos."""
    grave = [one for one in findings if one.counts and one.severity in _GRAVE]
    grave.sort(key=lambda one: one.severity.rank)
    errors = sum(one.severity is Severity.ERROR for one in grave)
    rules = tuple(dict.fromkeys(one.rule for one in grave))
    return Verdict(row, errors, len(grave) - errors, rules)


class LiveReading:
    """Reads what the engine holds of the whole fleet, and compares it with what the documents want."""

    def __init__(self, repository: Repository, engine: Engine, at: Mapping[str, int]) -> None:
        """Take both; nobody is asked yet.

        Args:
            repository: The documents.
            engine: What holds the live sets.
            at: The rows of tenants by name, of which the first are those of the judged ones.
        """
        self._repository, self._engine, self._at = repository, engine, at
        floor = repository.catalogue.by_role.get("floor.fused")
        self._floor = floor.name if floor else ""

    def steps(self) -> Iterator[list[Held]]:
        """What is held, as it arrives; at the end those of whom the engine has nothing.

        Raises:
            EngineError: If the engine cannot be asked.
        """
        tenants = self._repository.tenants
        listed = bytearray(len(tenants))
        try:
            sets = iter(self._engine.list())
            while some := list(islice(sets, STEP)):
                for one in some:
                    row = self._at.get(one.tenant)
                    if row is not None and row < len(listed):
                        listed[row] = 1
                yield list(map(self.held, some))
        except NotOfferedError:
            yield from self._one_by_one()
            return
        names_left = (one.name for one in tenants if not listed[self._at[one.name]])
        while names := list(islice(names_left, STEP)):
            yield [Held(name, nan, nan, "", self._wants(name, {})) for name in names]

    def _one_by_one(self) -> Iterator[list[Held]]:
        """Of an engine that cannot list what it holds."""
        failure: EngineError | None = None
        some: list[Held] = []
        names = (tenant.name for tenant in self._repository.tenants)
        for _, found in read_arriving(self._engine, names):
            if isinstance(found, EngineError):
                failure = failure or found
                continue
            some.append(self.held(found))
            if len(some) == _ASKED:
                yield some
                some = []
        yield some
        if failure:
            raise failure

    def held(self, live: LiveSet) -> Held:
        """What the list shows of a live set."""
        differs = self._wants(live.tenant, live.knobs)
        if live.unknown and not differs:
            differs = any(name in self._repository.catalogue for name in live.unknown)
        floor = live.knobs.get(self._floor, nan)
        return Held(
            live.tenant,
            float(floor) if not isinstance(floor, str) else nan,
            seconds_of(live.updated_at),
            live.updated_by or "",
            differs,
        )

    def _wants(self, tenant: str, held: Mapping[str, KnobValue]) -> bool:
        """Whether the documents want another set."""
        row, tenants = self._at.get(tenant), self._repository.tenants
        if row is None or row >= len(tenants):
            return False
        return not self._repository.wants(tenants[row], held)


def seconds_of(time: str | None) -> float:
    """A time of an engine, in seconds since 1970; NaN where it is none."""
    try:
        return datetime.fromisoformat(time).timestamp() if time else nan
    except (ValueError, OverflowError):
        return nan


def strangers(held: Sequence[Held]) -> Chunk:
    """Rows for what the engine holds and no document asks for."""
    marks = int(Mark.UNMANAGED)
    return Chunk(Row(one.tenant, "", NOBODY, NO_KNOBS, marks) for one in held)
