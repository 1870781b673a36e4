"""Audit events as rows: light enough for 100,000 of them, found by words, each told from the others. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knobctl.text import count, spelled
from knobctl.tui.draft import UNSET, understand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

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
    words: str
    """Everything that can be searched for, in lower case."""


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
    tenant, actor, reason = text("tenant_id"), text("actor"), text("reason")
    kind, revision = text("type"), text("revision")
    run = mine.run_of(tenant, revision)
    words = " ".join((tenant, actor, reason, kind, revision, run, *told)).lower()
    return EventRow(
        event_id=str(event.get("event_id", "")),
        occurred_at=str(event.get("occurred_at", ""))[:_LONGEST],
        tenant=tenant,
        actor=actor,
        type=kind,
        revision=revision,
        reason=reason,
        paths=told,
        run=run,
        is_broken=is_broken,
        words=seen.setdefault(words, words),
    )


def found_by(rows: Sequence[EventRow], words: str) -> list[int]:
    """Which rows hold every word, in their order; `!word` must not be in them."""
    wanted, unwanted = [], []
    for word in words.lower().split():
        if word.startswith("!"):
            unwanted += [word[1:]] if word[1:] else []
        else:
            wanted.append(word)
    if not wanted and not unwanted:
        return list(range(len(rows)))
    return [
        at
        for at, row in enumerate(rows)
        if all(word in row.words for word in wanted)
        and not any(word in row.words for word in unwanted)
    ]


def read_rows(
    events: Iterable[Mapping[str, Any]],
    mine: Mine,
    *,
    goes_on: Callable[[int], bool],
    verifying: Verifying | None = None,
) -> list[EventRow]:
    """Read events, oldest first, into rows, newest first. The order is the engine's own, whatever its clock did.

    Args:
        events: All that are wanted.
        mine: Which are this user's own.
        goes_on: Hears how many were read so far; with False the rest is left.
        verifying: Proves their chains meanwhile, where that is wanted.
    """
    seen: dict[str, str] = {}
    rows: list[EventRow] = []
    for event in events:
        is_broken = verifying is not None and not verifying.take(event)
        rows.append(row_of(event, mine, seen, is_broken=is_broken))
        if not len(rows) % PAGE and not goes_on(len(rows)):
            break
    rows.reverse()
    return rows


def proof_text(verified: Sequence[Verified]) -> str:
    """Say what chains prove: all of them unbroken, or the first trouble."""
    events = sum(one.events for one in verified)
    told = f"{count(events, 'event')} of {count(len(verified), 'tenant')}"
    broken = [one for one in verified if one.findings]
    if not broken:
        return f"{told}: every chain is unbroken"
    more = f", and {count(len(broken) - 1, 'other tenant')}" if len(broken) > 1 else ""
    return f"{told}: BROKEN: {broken[0].findings[0].message}{more}"


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
