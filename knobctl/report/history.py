"""Audit events for people and machines, and what their chain proves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from knobctl.report.ages import ago
from knobctl.report.sets import table
from knobctl.text import count, spelled, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from knobctl.engine.verifying import Verified
    from knobctl.errors import ExitCode
    from knobctl.knobs import Catalogue


def history_text(
    events: Sequence[Mapping[str, Any]],
    verified: Sequence[Verified] | None,
    catalogue: Catalogue,
    *,
    now: datetime,
    colored: bool,
) -> str:
    """Write what the chain proves, if that was asked, then the events, oldest first.

    Args:
        events: In the snake_case shape of the contract.
        verified: What was proved; None where it was not asked.
        catalogue: The knobs, for their defaults.
        now: For ages.
        colored: Whether tenants stand out.
    """
    blocks = [_event_text(event, catalogue, now, colored) for event in events]
    tenants = {event["tenant_id"] for event in events}
    summary = (
        f"{count(len(events), 'event')} of {count(len(tenants), 'tenant')}"
        if events
        else "no events"
    )
    return "\n".join([*_verified_lines(verified), *blocks, summary])


def _event_text(
    event: Mapping[str, Any], catalogue: Catalogue, now: datetime, colored: bool
) -> str:
    tenant = visible(event["tenant_id"])
    parts = [
        click.style(tenant, bold=True) if colored else tenant,
        visible(event["revision"]),
        visible(event["actor"] or "somebody") + ",",
        ago(event["occurred_at"], now),
    ]
    head = "  ".join(parts[:2]) + "  " + " ".join(parts[2:])
    reason = f": {visible(event['reason'])}" if event["reason"] else ""
    kind = "" if event["type"] == "config.updated" else f" [{visible(event['type'])}]"
    rows = [change_row(path, event, catalogue) for path in event["changed_field_paths"]]
    lines = [f"  {line}" for line in table(rows).splitlines()] if rows else ["  no field changed"]
    return "\n".join([head + kind + reason, *lines])


def change_row(
    path: str, event: Mapping[str, Any], catalogue: Catalogue
) -> tuple[str, str, str, str]:
    """One field of an event: what happened to it, its path, its value before, an arrow and its value after."""
    before, after = event["before"].get(path), event["after"].get(path)
    op = "set" if before is None else "reset" if after is None else "change"
    default = f"default {spelled(catalogue[path].default)}" if path in catalogue else "unset"
    old, new = (default if value is None else visible(spelled(value)) for value in (before, after))
    return op, visible(path), old, f"-> {new}"


def _verified_lines(verified: Sequence[Verified] | None) -> list[str]:
    if verified is None:
        return []
    lines = [
        f"error  {finding.rule}\n  {visible(finding.message)}\n  {finding.hint}"
        for one in verified
        for finding in one.findings
    ]
    rows = [
        (visible(one.tenant), _proof(one), f"head {visible(one.head or 'none')}")
        for one in verified
    ]
    lines += table(rows).splitlines() if rows else []
    if any(not one.against_head for one in verified):
        lines.append(
            "A tail that was cut off shows only against a head that was kept."
            " Keep these; later: knobctl history --verify --head TENANT=HEAD"
        )
    return lines


def _proof(one: Verified) -> str:
    if one.findings:
        return f"{count(one.events, 'event')}, broken"
    ending = ", complete up to the kept head" if one.against_head else ""
    return f"{count(one.events, 'event')}, unbroken{ending}"


def history_json(
    events: Sequence[Mapping[str, Any]], verified: Sequence[Verified] | None, code: ExitCode
) -> str:
    """The machine-readable answer, contract section 7."""
    document: dict[str, Any] = {
        "version": 1,
        "command": "history",
        "outcome": code.outcome,
        "exit_code": int(code),
        "events": [dict(event) for event in events],
    }
    if verified is not None:
        document["verified"] = [one.as_json() for one in verified]
        document["findings"] = [finding.as_json() for one in verified for finding in one.findings]
    return json.dumps(document, indent=2)
