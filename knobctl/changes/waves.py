"""Which tenants of a plan come first, and for how long they are watched. Pure."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Final

from knobctl.changes.limits import share
from knobctl.checks.selecting import make_selection
from knobctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from knobctl.changes.journal import Run
    from knobctl.changes.outcomes import TenantOutcome
    from knobctl.changes.plan import Plan, TenantPlan
    from knobctl.changes.resuming import Rest


EVERY_S: Final = 30.0
"""How long after one round of questions the next one begins."""
_DURATION: Final = re.compile(r"([0-9]+)([smhd])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """What the command line asks for."""

    sizes: tuple[str, ...] = ()
    """How many of the changing tenants are written by the end of each wave: `5`, `10%`. With labels:
    of those that the first label names."""
    labels: tuple[str, ...] = ()
    """Whose tenants are a wave each, in this order: `region=eu`."""
    bake: str
    max_worse: str
    most: int | None = None
    """How many tenants of a wave are asked at most; None for all that have probes."""

    @property
    def bake_s(self) -> int:
        """How long each wave is watched."""
        return seconds(self.bake)

    @property
    def how_long(self) -> str:
        """Say how often the questions are asked: `every 30 s for 10m`, `once`."""
        return f"every {EVERY_S:.0f} s for {self.bake}" if self.bake_s else "once"

    @property
    def bound(self) -> Fraction:
        """By how much a tenant's metrics may worsen, from 0 to 1."""
        return share(self.max_worse)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The tenants of one wave: they are written together, and then watched."""

    size: str = ""
    """The size that made it, if one did."""
    label: str = ""
    """The label that its tenants have, if one was asked for."""
    tenants: tuple[TenantPlan, ...]

    @property
    def name(self) -> str:
        """What people call it: `canary 5%`, `region=eu`, `canary 5% of region=eu`."""
        canary = f"canary {self.size}" if self.size else ""
        return " of ".join(part for part in (canary, self.label) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunWaves:
    """The waves of a run that is gone on with."""

    canary: Canary
    groups: tuple[Group, ...]
    judged: int
    """How many of them were found well, from the first on."""
    settled: Mapping[str, TenantOutcome]
    """By tenant of a wave that is not written any more, what became of it."""


def begun_waves(run: Run, plan: Plan, rest: Rest) -> BegunWaves | None:
    """The waves of a run, where they were not all found well; None where the rest may go unwatched.

    Args:
        run: As its journal tells it.
        plan: Its plan.
        rest: What is left of it.
    """
    if not (run.is_in_waves and run.rollout):
        return None
    planned = {one.tenant: one for one in (*plan.tenants, *rest.plan.tenants)}
    record = run.rollout
    groups = [
        Group(
            size=wave["size"],
            label=wave["label"],
            tenants=tuple(planned[name] for name in wave["tenants"]),
        )
        for wave in record["waves"]
    ]
    return BegunWaves(
        canary=Canary(
            sizes=tuple(record["sizes"]),
            labels=tuple(record["labels"]),
            bake=record["bake"],
            max_worse=record["max_worse"],
            most=record["most"],
        ),
        groups=tuple(groups),
        judged=run.judged,
        settled={one.tenant: one for one in (*rest.settled, *rest.found, *rest.moved)},
    )


def seconds(text: str) -> int:
    """Read a duration such as `30s`, `10m`, `2h`.

    Raises:
        UsageError: If it is none.
    """
    found = _DURATION.fullmatch(text)
    if not found:
        raise UsageError(f"{text!r} is no duration; write a number and s, m, h or d, such as 10m")
    return int(found[1]) * _SECONDS[found[2]]


def size_of(text: str, total: int) -> int:
    """How many tenants of a total a size means: at least one, and no more than there are.

    Raises:
        UsageError: If it is neither a number from 1 nor a percentage above 0.
    """
    number = ceil(share(text) * total) if text.endswith("%") else -1
    if text.endswith("%") and share(text) > 0:
        return min(max(number, 1), total)
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise UsageError(
            f"{text!r} is no size of a wave; write a number of tenants or a percentage above 0"
        )
    return min(int(text), total)


def duration(whole_s: int) -> str:
    """Write seconds as `seconds` reads them, in the largest unit that leaves none over."""
    unit = next(one for one in reversed(_SECONDS) if whole_s % _SECONDS[one] == 0)
    return f"{whole_s // _SECONDS[unit]}{unit}" if whole_s else "0s"


def waves_of(
    tenants: Sequence[TenantPlan], canary: Canary, watched: Callable[[TenantPlan], bool]
) -> tuple[list[Group], tuple[str, ...]]:
    """Choose the waves that are watched: the same for the same plan, whoever asks.

    Every label is a wave of the tenants that have it and are in none before. Sizes come first, and
    are taken of the first label's tenants: who names an order wants nobody else before them.

    Args:
        tenants: Those that change.
        canary: What is asked for.
        watched: Whether a tenant has probes.

    Returns:
        The waves, none of them empty; the labels that no tenant has which changes.

    Raises:
        UsageError: If a size is none, or a label has no value.
    """
    labelled, left = [], list(tenants)
    for label in dict.fromkeys(canary.labels):
        wanted = make_selection(labels=[label])
        mine = [one for one in left if wanted.takes_labels(one.labels)]
        left = [one for one in left if not wanted.takes_labels(one.labels)]
        labelled.append(Group(label=label, tenants=_by_name(mine)))
    nobody = tuple(one.label for one in labelled if not one.tenants)
    groups = [one for one in labelled if one.tenants]
    first = groups[0] if groups else Group(tenants=tuple(left))
    sized = _sized(first, canary.sizes, watched)
    taken = {one.tenant for group in sized for one in group.tenants}
    groups = [_without(one, taken) for one in groups]
    return [*sized, *(one for one in groups if one.tenants)], nobody


def _without(group: Group, taken: set[str]) -> Group:
    return replace(group, tenants=tuple(one for one in group.tenants if one.tenant not in taken))


def _by_name(tenants: Sequence[TenantPlan]) -> tuple[TenantPlan, ...]:
    return tuple(sorted(tenants, key=lambda one: one.tenant))


def _sized(
    group: Group, sizes: Sequence[str], watched: Callable[[TenantPlan], bool]
) -> list[Group]:
    """The first tenants of a group, by sizes."""
    ordered = in_turns(group.tenants, watched)
    ends = sorted((size_of(size, len(ordered)), size) for size in sizes)
    starts = [0, *(end for end, _ in ends)]
    return [
        Group(size=size, label=group.label, tenants=_by_name(ordered[start:end]))
        for start, (end, size) in zip(starts, ends, strict=False)
        if end > start
    ]


def in_turns(
    tenants: Sequence[TenantPlan], watched: Callable[[TenantPlan], bool]
) -> list[TenantPlan]:
    """Put tenants in an order of which any beginning shows much.

    Those that have probes come first. Among them every kind of change comes once before one comes
    twice, the kind of most tenants first; within a kind the digest of the name decides, so that no
    wave is the beginning of the alphabet.
    """
    kinds: dict[tuple[tuple[str, str], ...], list[TenantPlan]] = defaultdict(list)
    for one in tenants:
        kinds[tuple((change.field_path, change.op.value) for change in one.changes)].append(one)
    turns: list[tuple[bool, int, int, str, TenantPlan]] = []
    for same in kinds.values():
        seen: Counter[bool] = Counter()
        for one in sorted(same, key=lambda one: _digest(one.tenant)):
            unwatched = not watched(one)
            turns.append((unwatched, seen[unwatched], -len(same), _digest(one.tenant), one))
            seen[unwatched] += 1
    return [one for *_, one in sorted(turns, key=lambda turn: turn[:4])]


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
