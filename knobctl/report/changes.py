"""Diffs for people and machines: resets first, wire and effective values side by side, origins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from knobctl.changes.diff import Change, Op, resets_first
from knobctl.changes.paths import PathStyle, spell
from knobctl.engine.interface import NEVER_WRITTEN
from knobctl.report.ages import ago
from knobctl.report.carried_evidence import evidence_json, evidence_lines
from knobctl.text import count, spelled, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from knobctl.changes.comparing import TenantDiff
    from knobctl.documents.model import Effective
    from knobctl.engine.interface import LiveSet
    from knobctl.errors import ExitCode
    from knobctl.knobs import KnobValue

_COLOURS = {Op.RESET: "red", Op.CHANGE: "yellow", Op.SET: "green"}


def live_words(live: LiveSet, now: datetime) -> str:
    """Name a live set: its revision, who wrote it, and when."""
    if live.revision == NEVER_WRITTEN:
        return "live, never written"
    if live.last_good:
        return f"last good {visible(live.revision or '')}, the engine's store is damaged or cannot be asked"
    told = [visible(live.updated_by)] if live.updated_by else []
    told += [ago(live.updated_at, now)] if live.updated_at else []
    return " ".join(
        part
        for part in ("live", visible(live.revision or ""), f"({', '.join(told)})" if told else "")
        if part
    )


def diff_text(
    diffs: Sequence[TenantDiff],
    *,
    now: datetime,
    colored: bool = False,
    style: PathStyle = PathStyle.FIELD,
    most: int | None = None,
) -> str:
    """Write diffs for people, those with resets first; tenants without changes are only counted.

    Args:
        diffs: By tenant.
        now: The time, for the age of live sets.
        colored: Whether colour repeats what the words say.
        style: How paths are spelled.
        most: Of how many tenants the changes are written out; None for all.
    """
    ordered = sorted(diffs, key=lambda diff: not any(one.op is Op.RESET for one in diff.changes))
    changed = [diff for diff in ordered if diff.changes]
    lines: list[str] = []
    for diff in changed[:most]:
        lines += _tenant_lines(diff, now, colored, style)
    if most is not None and len(changed) > most:
        lines.append(f"and {count(len(changed) - most, 'more tenant')}; -v shows each")
    return "\n".join([*lines, change_summary(diffs)])


def _tenant_lines(diff: TenantDiff, now: datetime, colored: bool, style: PathStyle) -> list[str]:
    name = click.style(visible(diff.tenant), bold=True) if colored else visible(diff.tenant)
    before = live_words(diff.live, now) if diff.live else visible(diff.before)
    lines = [f"{name}  {before} -> {visible(diff.after)}"]
    if diff.live and diff.live.unknown:
        lines.append(unknown_words(diff.live.unknown))
    lines += change_lines(diff.changes, effective=diff.effective, colored=colored, style=style)
    return lines + evidence_lines(diff.evidence)


def unknown_words(names: Iterable[str]) -> str:
    """Say which stored fields the schema does not know."""
    return f"  unknown to the schema, a push would lose them: {', '.join(map(visible, names))}"


def change_lines(
    changes: Iterable[Change],
    *,
    effective: Effective | None = None,
    colored: bool = False,
    style: PathStyle = PathStyle.FIELD,
) -> list[str]:
    """Write one line a change, resets first: what, from, to, and where the new value comes from."""
    ordered = resets_first(changes)
    rows = [
        (
            visible(spell(change.steps, style)),
            value_words(
                change.before,
                change.effective_before,
                unset=change.op is Op.SET or change.is_of_default,
            ),
            value_words(
                change.after,
                change.effective_after,
                unset=change.op is Op.RESET or change.is_of_default,
            ),
            origin_words(change, effective) if effective else "",
        )
        for change in ordered
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    return [
        f"  {_op(change.op, colored)}  {path:{widths[0]}}  {before:{widths[1]}} -> {after:{widths[2]}}   {note}".rstrip()
        for change, (path, before, after, note) in zip(ordered, rows, strict=True)
    ]


def _op(op: Op, colored: bool) -> str:
    word = f"{op.value:6}"
    return click.style(word, fg=_COLOURS[op]) if colored else word


def value_words(wire: KnobValue | None, effective: KnobValue, *, unset: bool) -> str:
    """The value; where the wire holds none, the default that is in force."""
    if unset or wire is None:
        return f"default {visible(spelled(effective))}"
    return visible(spelled(wire))


def origin_words(change: Change, effective: Effective) -> str:
    """Say where a new value comes from, where that is not the tenant's own file."""
    if change.is_of_default:
        return "the platform default, which has moved in the schema"
    written = effective.origin(change.knob)
    if written is None:
        return "not in the file; a push replaces the whole set" if change.op is Op.RESET else ""
    place = visible(f"{written.location.file}:{written.location.line}")
    if change.op is Op.RESET:
        return f"written as {visible(written.literal)} in {place}, which means the default"
    if written.document is not effective.document:
        return f"from layer {visible(written.document.name)}, {place}"
    return ""


def change_summary(diffs: Sequence[TenantDiff]) -> str:
    """Count what changes: `1 tenant, 2 fields, 1 of them a reset`."""
    changed = [diff for diff in diffs if diff.changes]
    left = len(diffs) - len(changed)
    if not changed:
        return f"{count(left, 'tenant')}, no changes"
    fields = sum(len(diff.changes) for diff in changed)
    resets = sum(change.op is Op.RESET for diff in changed for change in diff.changes)
    words = f"{count(len(changed), 'tenant')}, {count(fields, 'field')}"
    if resets:
        words += f", {resets:,} of them {'a reset' if resets == 1 else 'resets'}"
    return f"{words}; {left:,} unchanged" if left else words


def removed_text(removed: Sequence[str]) -> str:
    """Name the tenants whose documents are gone: nothing resets them."""
    if not removed:
        return ""
    names = ", ".join(map(visible, removed))
    return f"\nno document any more: {names}; unmanaged from now on, not reset"


def diff_json(
    diffs: Sequence[TenantDiff], *, code: ExitCode, style: PathStyle, removed: Sequence[str] = ()
) -> dict[str, Any]:
    """The machine-readable diff, contract section 4."""
    return {
        "version": 1,
        "command": "diff",
        "outcome": code.outcome,
        "exit_code": int(code),
        **changes_json(diffs, style=style, removed=removed),
    }


def changes_json(
    diffs: Sequence[TenantDiff], *, style: PathStyle = PathStyle.FIELD, removed: Sequence[str] = ()
) -> dict[str, Any]:
    """What changes, by tenant, contract section 4.

    The paths are those that an engine reports when it replaces the one set by the other: a default
    that has moved is a change in force, and none of the set.
    """
    return {
        "tenants": [
            {
                "tenant": diff.tenant,
                "revision": diff.live.revision if diff.live else None,
                "changed_field_paths": [
                    spell(change.steps, style)
                    for change in diff.changes
                    if not change.is_of_default
                ],
                "changes": [change.as_json(style) for change in diff.changes],
                **({"evidence": evidence_json(diff.evidence)} if diff.evidence else {}),
            }
            for diff in diffs
        ],
        **({"removed_tenants": list(removed)} if removed else {}),
    }
