"""The field-path diff of two sets of one tenant, with what is in force before and after."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from knobctl.changes.differences import differences
from knobctl.changes.paths import PathStyle, Step, spell

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from knobctl.knobs import Catalogue, KnobValue


class Op(StrEnum):
    """What happens to a knob."""

    SET = "set"
    CHANGE = "change"
    RESET = "reset"
    """Goes back to the platform default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One knob that differs between two sets."""

    steps: tuple[Step, ...]
    op: Op
    before: KnobValue | None
    """The wire's value now: 0 or UNSPECIFIED where the knob is not set, None where 0 is a value of its own."""
    after: KnobValue | None
    effective_before: KnobValue
    """What is in force now."""
    effective_after: KnobValue

    @property
    def is_of_default(self) -> bool:
        """Whether nothing is written on either side, and only the platform default of the schema has moved."""
        return self.before == self.after

    @property
    def knob(self) -> str:
        """The knob's canonical name."""
        return str(self.steps[0])

    @property
    def field_path(self) -> str:
        """The path as the audit event spells it."""
        return spell(self.steps)

    def as_json(self, style: PathStyle = PathStyle.FIELD) -> dict[str, Any]:
        """The change in the shape of the contract, section 4."""
        return {
            "field_path": spell(self.steps, style),
            "op": self.op.value,
            "before": self.before,
            "after": self.after,
            "effective_before": self.effective_before,
            "effective_after": self.effective_after,
        }


def diff_sets(
    catalogue: Catalogue,
    existing: Mapping[str, KnobValue],
    desired: Mapping[str, KnobValue],
    *,
    earlier: Catalogue | None = None,
) -> tuple[Change, ...]:
    """Compare two canonical sets of one tenant.

    What is returned is, path by path, what the engine reports as `changed_field_paths` when it
    replaces `existing` by `desired`. There is no tolerance: 1e-07 to unset is a change.

    Args:
        catalogue: The knobs, for defaults and unset values.
        existing: The set now; unset knobs are not in it.
        desired: The set that shall be.
        earlier: The knobs by which `existing` was written, where they are others: what neither set
            writes changes with the default.

    Returns:
        The changes in the order of their field paths.
    """
    then = earlier or catalogue
    if existing == desired and then is catalogue:
        return ()
    names = {str(difference.steps[0]) for difference in differences(existing, desired)}
    names |= _moved_defaults(then, catalogue, existing.keys() | desired.keys())
    changes = (_change(name, then, catalogue, existing, desired) for name in names)
    return tuple(sorted(changes, key=lambda change: change.field_path))


def in_force_before(changes: Iterable[Change]) -> dict[str, KnobValue]:
    """Of the knobs that change, what is in force now."""
    return {one.knob: one.effective_before for one in changes}


def _moved_defaults(then: Catalogue, now: Catalogue, written: Collection[str]) -> set[str]:
    """The knobs that nothing writes and that have another default now."""
    if then is now:
        return set()
    return {
        knob.name
        for knob in now
        if knob.name not in written
        and knob.name in then
        and then[knob.name].default != knob.default
    }


def _change(
    name: str,
    then: Catalogue,
    now: Catalogue,
    existing: Mapping[str, KnobValue],
    desired: Mapping[str, KnobValue],
) -> Change:
    # A knob that only one of the schemas has is what that one says of it.
    old, new = then.by_name.get(name) or now[name], now.by_name.get(name) or then[name]
    before, after = existing.get(name, old.unset), desired.get(name, new.unset)
    return Change(
        steps=(name,),
        op=_op(before == old.unset, after == new.unset),
        before=before,
        after=after,
        effective_before=old.default if before is None or before == old.unset else before,
        effective_after=new.default if after is None or after == new.unset else after,
    )


def _op(was_unset: bool, becomes_unset: bool) -> Op:
    if was_unset == becomes_unset:
        return Op.CHANGE
    return Op.RESET if becomes_unset else Op.SET


def resets_first(changes: Iterable[Change]) -> list[Change]:
    """Order changes for people: resets lead, since a full replace loses what they name."""
    return sorted(changes, key=lambda change: (change.op is not Op.RESET, change.field_path))
