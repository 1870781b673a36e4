"""The field-path diff of two sets of one tenant, with what is in force before and after."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from knobctl.changes.differences import differences
from knobctl.changes.paths import PathStyle, Step, spell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
    catalogue: Catalogue, existing: Mapping[str, KnobValue], desired: Mapping[str, KnobValue]
) -> tuple[Change, ...]:
    """Compare two canonical sets of one tenant.

    What is returned is, path by path, what the engine reports as `changed_field_paths` when it
    replaces `existing` by `desired`. There is no tolerance: 1e-07 to unset is a change.

    Args:
        catalogue: The knobs, for defaults and unset values.
        existing: The set now; unset knobs are not in it.
        desired: The set that shall be.

    Returns:
        The changes in the order of their field paths.
    """
    if existing == desired:
        return ()
    return tuple(
        sorted(
            (
                _change(catalogue, difference.steps, existing, desired)
                for difference in differences(existing, desired)
            ),
            key=lambda change: change.field_path,
        )
    )


def _change(
    catalogue: Catalogue,
    steps: tuple[Step, ...],
    existing: Mapping[str, KnobValue],
    desired: Mapping[str, KnobValue],
) -> Change:
    knob = catalogue[str(steps[0])]
    before, after = existing.get(knob.name, knob.unset), desired.get(knob.name, knob.unset)
    return Change(
        steps=steps,
        op=_op(before == knob.unset, after == knob.unset),
        before=before,
        after=after,
        effective_before=knob.default if before is None or before == knob.unset else before,
        effective_after=knob.default if after is None or after == knob.unset else after,
    )


def _op(was_unset: bool, becomes_unset: bool) -> Op:
    if becomes_unset:
        return Op.RESET
    return Op.SET if was_unset else Op.CHANGE


def resets_first(changes: Iterable[Change]) -> list[Change]:
    """Order changes for people: resets lead, since a full replace loses what they name."""
    return sorted(changes, key=lambda change: (change.op is not Op.RESET, change.field_path))
