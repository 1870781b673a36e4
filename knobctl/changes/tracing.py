"""Traces each knob that live and its file do not have alike to the side that moved, and to who moved live. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from knobctl.engine.interface import NEVER_WRITTEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.changes.comparing import TenantDiff
    from knobctl.changes.diff import Change
    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import Catalogue, KnobValue


class Moved(StrEnum):
    """Which side left what both had."""

    LIVE = "live"
    """Live held what the file says, and was edited since."""
    FILE = "file"
    """The file says what was not pushed yet."""
    BOTH = "both"
    UNKNOWN = "unknown"
    """The engine does not tell how live came to be what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of a live set, as its audit event tells it."""

    actor: str
    occurred_at: str
    revision: str
    reason: str


UNTOLD: Final = Edit(actor="", occurred_at="", revision="", reason="")
"""A change that no audit event tells of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobDrift:
    """One knob that live and the file do not have alike."""

    change: Change
    """From live to the file: what a push would do."""
    moved: Moved
    last: Edit | None = None
    """What gave live its value; None where nothing did, or nobody knows."""
    since: Edit | None = None
    """What took live away from what both had; None where live did not move."""
    agreed: KnobValue | None = None
    """What both had before both moved; None for the platform default."""


def trace(
    catalogue: Catalogue, diff: TenantDiff, events: Sequence[Mapping[str, Any]]
) -> tuple[KnobDrift, ...]:
    """Find out of each knob that differs which side moved, by the sets that live has held.

    The set among them that is most like what the file says is taken for what was pushed of it last,
    the latest where several are: what live has moved since was edited live, what the file has moved
    since is not pushed yet. Order is the engine's own; no clock is believed.

    Args:
        catalogue: The knobs.
        diff: From live to the file.
        events: The tenant's audit events, oldest first; empty where there are none.
    """
    if diff.live is None or (diff.changes and diff.effective is None):
        raise ValueError("drift compares live with documents")
    if diff.effective is None:
        return ()
    states = _states(catalogue, diff.live, events)
    if not states:
        return tuple(KnobDrift(change=one, moved=Moved.UNKNOWN) for one in diff.changes)
    desired = diff.effective.desired
    pushed = min(range(len(states)), key=lambda at: (_distance(states[at].knobs, desired), -at))
    return tuple(_traced(one, states, pushed, desired) for one in diff.changes)


@dataclass(frozen=True, slots=True)
class _State:
    """A set that live held, and the change that made it; None for the first."""

    knobs: Mapping[str, KnobValue]
    edit: Edit | None


def _states(
    catalogue: Catalogue, live: LiveSet, events: Sequence[Mapping[str, Any]]
) -> list[_State]:
    """The sets that live has held, in order; empty where nothing tells."""
    if not events:
        return [_State({}, None)] if live.revision == NEVER_WRITTEN else []
    states = [_State(_known(catalogue, events[0]["before"]), None)]
    for event in _up_to(events, live.revision):
        before, after = (_known(catalogue, event[name]) for name in ("before", "after"))
        if before != states[-1].knobs:
            states.append(_State(before, UNTOLD))
        states.append(_State(after, _edit(event)))
    if states[-1].knobs != live.knobs:
        states.append(_State(live.knobs, UNTOLD))
    return states


def _up_to(
    events: Sequence[Mapping[str, Any]], revision: str | None
) -> Sequence[Mapping[str, Any]]:
    """The events up to the set that was read: somebody may have written since."""
    ends = [at for at, event in enumerate(events) if event["revision"] == revision]
    return events[: ends[-1] + 1] if ends else events


def _known(catalogue: Catalogue, knobs: Mapping[str, Any]) -> dict[str, KnobValue]:
    """What the schema takes of a set in an event."""
    return catalogue.canonical(
        {
            name: value
            for name, value in knobs.items()
            if name in catalogue and catalogue[name].accepts(value)
        }
    )


def _edit(event: Mapping[str, Any]) -> Edit:
    return Edit(
        actor=event["actor"],
        occurred_at=event["occurred_at"],
        revision=event["revision"],
        reason=event["reason"],
    )


def _distance(held: Mapping[str, KnobValue], desired: Mapping[str, KnobValue]) -> int:
    """In how many knobs two sets differ."""
    return sum(held.get(name) != desired.get(name) for name in held.keys() | desired.keys())


def _traced(
    change: Change, states: Sequence[_State], pushed: int, desired: Mapping[str, KnobValue]
) -> KnobDrift:
    values = [state.knobs.get(change.knob) for state in states]
    agreed = values[pushed]
    live_moved, file_moved = values[-1] != agreed, desired.get(change.knob) != agreed
    edits = [at for at in range(1, len(values)) if values[at] != values[at - 1]]
    left = max((at for at in range(pushed, len(values)) if values[at] == agreed), default=pushed)
    moved = Moved.BOTH if live_moved and file_moved else Moved.LIVE if live_moved else Moved.FILE
    return KnobDrift(
        change=change,
        moved=moved,
        last=states[edits[-1]].edit if edits else None,
        since=states[left + 1].edit if live_moved else None,
        agreed=agreed,
    )
