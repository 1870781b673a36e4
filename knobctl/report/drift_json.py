"""Drift for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knobctl.changes.tracing import UNTOLD, Edit
from knobctl.report.drift import errors_of, unknowns

if TYPE_CHECKING:
    from knobctl.changes.drift import Drift, TenantDrift
    from knobctl.checks.report import Report
    from knobctl.engine.interface import LiveSet
    from knobctl.errors import ExitCode


def drift_json(
    drift: Drift, report: Report, *, engine: str, fleet: str | None, code: ExitCode
) -> dict[str, Any]:
    """The machine-readable verdict; the changes go from live to the files, as `diff` has them."""
    return {
        "version": 1,
        "command": "drift",
        "outcome": code.outcome,
        "exit_code": int(code),
        "engine": engine,
        "fleet": fleet,
        "tenants": [_tenant_json(one) for one in drift.tenants],
        "unread": [
            {"tenant": name, "message": error.message} for name, error in drift.unread.items()
        ],
        "unmanaged": None
        if drift.unmanaged is None
        else [_unmanaged_json(live) for live in drift.unmanaged],
        "not_known": list(unknowns(drift)),
        "findings": [one.as_json() for one in errors_of(report)],
    }


def _tenant_json(one: TenantDrift) -> dict[str, Any]:
    live = one.diff.live
    return {
        "tenant": one.tenant,
        "source": one.diff.after,
        "revision": live.revision if live else None,
        "moved": one.moved.value if one.moved else None,
        "changed_field_paths": [knob.change.field_path for knob in one.knobs],
        "changes": [
            {
                **knob.change.as_json(),
                "moved": knob.moved.value,
                "last": _edit_json(knob.last),
                "since": _edit_json(knob.since),
            }
            for knob in one.knobs
        ],
        "unreadable": {name: live.unknown[name] for name in one.unreadable} if live else {},
    }


def _edit_json(edit: Edit | None) -> dict[str, str] | None:
    if edit is None or edit == UNTOLD:
        return None
    return {
        "actor": edit.actor,
        "occurred_at": edit.occurred_at,
        "revision": edit.revision,
        "reason": edit.reason,
    }


def _unmanaged_json(live: LiveSet) -> dict[str, Any]:
    return {
        "tenant": live.tenant,
        "revision": live.revision,
        "updated_at": live.updated_at,
        "updated_by": live.updated_by,
        "knobs": dict(live.knobs),
        "unknown": dict(live.unknown),
    }
