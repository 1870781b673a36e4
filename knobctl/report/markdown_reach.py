"""What a floor reaches before a change and after it, as a table in a comment."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Final

from knobctl.documents.model import exact_number
from knobctl.fusion import reach
from knobctl.fusion.numbers import number_text
from knobctl.knobs.fusion_setup import fusion_setup
from knobctl.report.comment import Block, Section
from knobctl.report.folding import NAMED_IN_REVIEW, listed
from knobctl.report.markup import collapsed, html_code, prose, row, table_head
from knobctl.report.reach import passes
from knobctl.text import all_of, number_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knobctl.changes.comparing import TenantDiff
    from knobctl.fusion import Reach, Setup
    from knobctl.fusion.row import Names

_FEW: Final = 3
"""Of more rankers than these, only each alone and all together are shown."""


@dataclass(slots=True)
class _Moved:
    """One arithmetic that became another one, and for whom."""

    before: Setup
    after: Setup
    tenants: list[str] = field(default_factory=list)


def reach_section(changes: Iterable[TenantDiff], *, share: float) -> Section:
    """A table for each arithmetic that changed, with the tenants that share it."""
    moved: dict[object, _Moved] = {}
    for diff in changes:
        setups = _setups(diff)
        if setups and _key(setups[0]) != _key(setups[1]):
            key = (_key(setups[0]), _key(setups[1]))
            moved.setdefault(key, _Moved(*setups)).tenants.append(diff.tenant)
    return Section(
        noun="reach table",
        total=len(moved),
        share=share,
        blocks=map(_block, sorted(moved.values(), key=lambda one: -len(one.tenants))),
    )


def _setups(diff: TenantDiff) -> tuple[Setup, Setup] | None:
    """What fusion did for a tenant, and what it would do."""
    effective = diff.effective
    if effective is None or not diff.changes:
        return None
    catalogue = effective.catalogue
    values = dict(effective.values)
    then = values | {
        change.knob: change.effective_before
        for change in diff.changes
        if len(change.steps) == 1 and change.knob in values
    }
    before = fusion_setup(catalogue, then, lambda name: exact_number("", then[name]))
    after = fusion_setup(catalogue, values, effective.exact)
    return (before, after) if before and after else None


def _key(setup: Setup) -> object:
    return (setup.floor, setup.k, tuple(setup.weights.items()), tuple(setup.depths.items()))


def _block(moved: _Moved) -> Block:
    who = listed(moved.tenants, most=NAMED_IN_REVIEW, spell=html_code)
    before, after = reach(moved.before), reach(moved.after)
    lines = [
        table_head(["found by", "ceiling", "passed down to rank", "passes now"]),
        *_rows(before, after),
    ]
    words = prose("; ".join(_differences(moved.before, moved.after)), most=300)
    return Block(collapsed(f"Reach of {who}", f"{words}\n\n" + "\n".join(lines)))


def _differences(before: Setup, after: Setup) -> Iterator[str]:
    """What of the arithmetic is another one: `floor 0.3 -> 0.45`."""
    if before.floor != after.floor:
        yield f"floor {number_text(before.floor)} -> {number_text(after.floor)}"
    if before.k != after.k:
        yield f"k {before.k} -> {after.k}"
    for name in dict.fromkeys((*before.weights, *after.weights)):
        then, now = before.weights.get(name), after.weights.get(name)
        if then != now:
            yield (
                f"{name} {'off' if then is None else f'weight {number_text(then)}'}"
                f" -> {'off' if now is None else f'weight {number_text(now)}'}"
            )
        if (
            before.depths.get(name) != after.depths.get(name)
            and then is not None
            and now is not None
        ):
            yield f"{name} depth {before.depths.get(name)} -> {after.depths.get(name)}"


def _rows(before: Reach, after: Reach) -> Iterator[str]:
    """A row for hits of each set of rankers; sets of one size that fare alike are one row."""
    names = tuple(dict.fromkeys((*before.enabled, *after.enabled)))
    sizes = range(1, len(names) + 1) if len(names) <= _FEW else (1, len(names))
    for size in sizes:
        alike: dict[tuple[str, str, str], list[Names]] = {}
        for found_by in combinations(names, size):
            alike.setdefault(_cells(before, after, found_by), []).append(found_by)
        for cells, found in alike.items():
            yield row([prose(_label(found, len(names))), *cells])


def _cells(before: Reach, after: Reach, found_by: Names) -> tuple[str, str, str]:
    (ceiling, then), (new_ceiling, now) = _of(before, found_by), _of(after, found_by)
    ceilings = ceiling if ceiling == new_ceiling else f"{ceiling} -> {new_ceiling}"
    return ceilings, then, now


def _of(reached: Reach, found_by: Names) -> tuple[str, str]:
    """The ceiling of hits found by some rankers, and how deep they pass; of a ranker that is off, nothing."""
    live = tuple(name for name in found_by if name in reached.enabled)
    if live != found_by:
        return "off", "off"
    found = reached.row(reached.enabled, live)
    return reached.told(found.ceiling), passes(found).strip()


def _label(found: Sequence[Names], of: int) -> str:
    size = len(found[0])
    if size == of:
        return f"{found[0][0]} alone" if of == 1 else all_of(of)
    if len(found) > 1 and len(found) == _ways(of, size):
        return f"any {number_word(size)} {'alone' if size == 1 else 'together'}"
    return ", ".join(f"{names[0]} alone" if size == 1 else " + ".join(names) for names in found)


def _ways(of: int, size: int) -> int:
    return sum(1 for _ in combinations(range(of), size))
