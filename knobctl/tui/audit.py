"""Audit events as rows: light enough for 100,000 of them, found by words, each told from the others. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, overload

from knobctl.text import count, spelled
from knobctl.tui.draft import UNSET, understand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from knobctl.engine.verifying import Verified, Verifying
    from knobctl.knobs import Catalogue
    from knobctl.tui.draft import Draft

PAGE: Final = 1_000
"""So many events are read between two looks at whether anybody still wants them."""
_LONGEST: Final = 300
"""Characters of a text that somebody else wrote: a row is one line."""


class EventRow(NamedTuple):
    """One audit event as a list shows it; its sets are read anew when they are wanted."""

    event_id: str
    occurred_at: str
    tenant: str
    actor: str
    type: str
    revision: str
    reason: str
    paths: tuple[str, ...]
    run: str
    """The run of this user that wrote it; empty for everybody else's."""
    is_broken: bool
    """Whether it does not continue the chain; False where nobody looked."""

    @property
    def words(self) -> str:
        """Everything that can be searched for, in lower case."""
        found = (self.tenant, self.actor, self.reason, self.type, self.revision, self.run)
        return " ".join((*found, *self.paths)).lower()


class EventRows(Sequence[EventRow]):
    """Rows, newest first: as bare tuples, which the collector of garbage lets alone, and their words."""

    def __init__(self, oldest_first: Iterable[EventRow] = ()) -> None:
        self._facts = [tuple(row) for row in oldest_first][::-1]
        kept: dict[str, str] = {}
        self.words = [kept.setdefault(row.words, row.words) for row in self]
        """What can be searched for, a text a row."""

    def __len__(self) -> int:
        return len(self._facts)

    @overload
    def __getitem__(self, at: int) -> EventRow: ...

    @overload
    def __getitem__(self, at: slice) -> list[EventRow]: ...

    def __getitem__(self, at: int | slice) -> EventRow | list[EventRow]:
        if isinstance(at, slice):
            return [EventRow._make(facts) for facts in self._facts[at]]
        return EventRow._make(self._facts[at])

    def place_of(self, event_id: str) -> int | None:
        """Where an event is; None where it is not."""
        return next((at for at, facts in enumerate(self._facts) if facts[0] == event_id), None)


@dataclass(frozen=True, slots=True)
class Mine:
    """Which events are this user's own."""

    actor: str
    """Who the engine writes the local user down as; empty where that is not known."""
    runs: Mapping[tuple[str, str], str]
    """By tenant and revision, the run of this user that wrote it."""

    def run_of(self, tenant: str, revision: str) -> str:
        """The run; empty where it was none of this user's."""
        return self.runs.get((tenant, revision), "")

    def is_mine(self, row: EventRow) -> bool:
        """Whether this user made the change."""
        return bool(row.run) or (bool(self.actor) and row.actor == self.actor)


def row_of(
    event: Mapping[str, Any], mine: Mine, seen: dict[str, str], *, is_broken: bool = False
) -> EventRow:
    """Make the row of an event, whatever stands in it.

    Args:
        event: In the snake_case shape of the contract.
        mine: Which are this user's own.
        seen: Texts that came before: equal ones are kept once.
        is_broken: Whether it does not continue its chain.
    """

    def text(name: str) -> str:
        found = event.get(name)
        short = found[:_LONGEST] if isinstance(found, str) else ""
        return seen.setdefault(short, short)

    paths = event.get("changed_field_paths")
    told = tuple(
        seen.setdefault(path[:_LONGEST], path[:_LONGEST])
        for path in (paths if isinstance(paths, list) else ())
        if isinstance(path, str)
    )
    tenant, revision = text("tenant_id"), text("revision")
    return EventRow(
        event_id=str(event.get("event_id", "")),
        occurred_at=str(event.get("occurred_at", ""))[:_LONGEST],
        tenant=tenant,
        actor=text("actor"),
        type=text("type"),
        revision=revision,
        reason=text("reason"),
        paths=told,
        run=mine.run_of(tenant, revision),
        is_broken=is_broken,
    )


def found_by(rows: EventRows, words: str) -> Sequence[int]:
    """Which rows hold every word, in their order; `!word` must not be in them."""
    kept: Sequence[int] = range(len(rows))
    texts = rows.words
    for word in words.lower().split():
        if not word.startswith("!"):
            kept = [at for at in kept if word in texts[at]]
        elif word := word[1:]:
            kept = [at for at in kept if word not in texts[at]]
    return kept


def read_rows(
    events: Iterable[Mapping[str, Any]],
    mine: Mine,
    *,
    goes_on: Callable[[int], bool],
    verifying: Verifying | None = None,
) -> EventRows:
    """Read events, oldest first, into rows, newest first. The order is the engine's own, whatever its clock did.

    Args:
        events: All that are wanted.
        mine: Which are this user's own.
        goes_on: Hears how many were read so far; with False the rest is left.
        verifying: Proves their chains meanwhile, where that is wanted.
    """
    return EventRows(_rows(events, mine, goes_on, verifying))


def _rows(
    events: Iterable[Mapping[str, Any]],
    mine: Mine,
    goes_on: Callable[[int], bool],
    verifying: Verifying | None,
) -> Iterator[EventRow]:
    seen: dict[str, str] = {}
    for number, event in enumerate(events, 1):
        is_broken = verifying is not None and not verifying.take(event)
        yield row_of(event, mine, seen, is_broken=is_broken)
        if not number % PAGE and not goes_on(number):
            return


class Proof(NamedTuple):
    """What the chains of events prove."""

    is_unbroken: bool
    words: str
    """All of them unbroken, or the first trouble."""

    @property
    def headline(self) -> str:
        """For the header."""
        return "chain unbroken" if self.is_unbroken else "chain BROKEN"


def proof_of(verified: Sequence[Verified]) -> Proof:
    """Put into words what was proved of some tenants."""
    events = sum(one.events for one in verified)
    told = f"{count(events, 'event')} of {count(len(verified), 'tenant')}"
    broken = [one for one in verified if one.findings]
    if not broken:
        return Proof(True, f"{told}: every chain is unbroken")
    more = f", and {count(len(broken) - 1, 'other tenant')}" if len(broken) > 1 else ""
    return Proof(False, f"{told}: BROKEN: {broken[0].findings[0].message}{more}")


def restored(draft: Draft, wanted: Mapping[str, Any], catalogue: Catalogue) -> Draft:
    """Let a draft ask for an earlier set: each knob that differs is an edit, which can be taken back.

    Args:
        draft: As it is.
        wanted: The set; what the schema does not know of it is left out.
        catalogue: The knobs.
    """
    known = catalogue.canonical(
        {
            name: value
            for name, value in wanted.items()
            if name in catalogue and catalogue[name].accepts(value)
        }
    )
    now = understand(draft, catalogue).desired
    for knob in catalogue:
        value = known.get(knob.name)
        if value != now.get(knob.name):
            draft = draft.put(knob.name, UNSET if value is None else spelled(value))
    return draft


def left_out(wanted: Mapping[str, Any], catalogue: Catalogue) -> list[str]:
    """What of an earlier set no draft can hold: knobs that the schema does not have, or values that it does not take."""
    return sorted(
        name
        for name, value in wanted.items()
        if name not in catalogue or not catalogue[name].accepts(value)
    )
