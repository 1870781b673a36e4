"""Which tenants of a plan come first, and for how long they are watched. Pure."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final

from knobctl.changes.limits import share
from knobctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from knobctl.changes.plan import TenantPlan


EVERY_S: Final = 30.0
"""How long after one round of questions the next one begins."""
_DURATION: Final = re.compile(r"([0-9]+)([smhd])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """What the command line asks for."""

    sizes: tuple[str, ...]
    """How many of the changing tenants are written by the end of each wave: `5`, `10%`."""
    bake: str
    max_worse: str

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


def waves_of(
    tenants: Sequence[TenantPlan], sizes: Sequence[str], watched: Callable[[TenantPlan], bool]
) -> list[tuple[TenantPlan, ...]]:
    """Choose the waves that are watched: the same for the same plan, whoever asks.

    Tenants that have probes come first. Among them every kind of change comes once before one comes
    twice, the kind of most tenants first; within a kind those with the most fields changed lead, and
    the digest of the name decides, so that no wave is the beginning of the alphabet.

    Args:
        tenants: Those that change.
        sizes: How many of them are written by the end of each wave.
        watched: Whether a tenant has probes.
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
    ordered = [one for *_, one in sorted(turns, key=lambda turn: turn[:4])]
    ends = sorted(size_of(size, len(ordered)) for size in sizes)
    starts = [0, *ends]
    return [
        tuple(sorted(ordered[start:end], key=lambda one: one.tenant))
        for start, end in zip(starts, ends, strict=False)
        if end > start
    ]


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
