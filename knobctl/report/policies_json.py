"""Policies as the machine-readable answers of `policy list` and `policy show`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from knobctl.checks.examples import OUTCOMES
from knobctl.checks.in_force import SOURCE, as_stated, examples_of, waived_now
from knobctl.checks.places import value_at
from knobctl.checks.policies import title_of

if TYPE_CHECKING:
    from datetime import date

    from knobctl.checks.examples import Example
    from knobctl.checks.in_force import Entry, RulesInForce
    from knobctl.checks.waivers import Waiver
    from knobctl.errors import ExitCode


def policies_json(rules: RulesInForce, today: date, code: ExitCode) -> str:
    """The machine-readable answer of `policy list`."""
    return _answer(
        "policy list",
        code,
        {
            "policies": [_record(rules, entry, today) for entry in rules.entries()],
            "findings": [finding.as_json() for finding in rules.findings],
        },
    )


def _answer(command: str, code: ExitCode, content: dict[str, Any]) -> str:
    head = {"version": 1, "command": command, "outcome": code.outcome, "exit_code": int(code)}
    return json.dumps({**head, **content}, indent=2)


def _record(rules: RulesInForce, entry: Entry, today: date) -> dict[str, Any]:
    document = entry.document
    at = None if entry.built_in else document.location("policy")
    return {
        "id": document.name,
        "title": title_of(document),
        "severity": entry.severity,
        "stated_severity": entry.stated,
        "override_reason": entry.override.reason if entry.override else None,
        "state": entry.state,
        "why": entry.why or None,
        "built_in": entry.built_in,
        "file": at.file if at else None,
        "line": at.line if at else None,
        "waivers": waived_now(rules.waivers_of(document.name), today),
        "examples": {
            outcome: len(listed) if isinstance(listed, list) else 0
            for outcome in OUTCOMES
            for listed in [value_at(document.value, ("examples", outcome))]
        },
    }


def policy_json(rules: RulesInForce, name: str, today: date, code: ExitCode) -> str:
    """The machine-readable answer of `policy show`."""
    entry = rules.entry(name)
    policy = as_stated(rules, name)
    value = entry.document.value
    record = _record(rules, entry, today)
    record |= {field: _text_or_none(value.get(field)) for field in SOURCE}
    record |= {
        "reads": list(policy.reads) if policy else [],
        "reads_all": policy.reads_all if policy else False,
        "variables": sorted(policy.depends.variables) if policy else [],
        "examples": [_example_json(one) for one in examples_of(rules, policy)] if policy else [],
        "waivers": [_waiver_json(one, today) for one in rules.waivers_of(name)],
    }
    return _answer("policy show", code, {"policy": record})


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


def _example_json(example: Example) -> dict[str, Any]:
    place = None if example.policy.built_in else example.place
    return {
        "outcome": example.outcome,
        "holds": example.holds,
        "said": example.said,
        "example": value_at(example.policy.document.value, example.path),
        "file": place.file if place else None,
        "line": place.line if place else None,
    }


def _waiver_json(waiver: Waiver, today: date) -> dict[str, Any]:
    at = waiver.document.location("waiver")
    value = waiver.document.value
    return {
        "name": waiver.name,
        "tenants": sorted(waiver.tenants),
        "labels": dict(waiver.labels),
        "up_to": value.get("up_to"),
        "reason": str(value["reason"]),
        "approved_by": str(value["approved_by"]),
        "expires": str(waiver.expires),
        "expired": waiver.has_expired(today),
        "file": at.file,
        "line": at.line,
    }
