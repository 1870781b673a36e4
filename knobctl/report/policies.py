"""Policies for people and machines: which are in force, what one of them says, who waives it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from knobctl.checks.examples import OUTCOMES
from knobctl.checks.in_force import as_stated, document_of, examples_of, waived_now
from knobctl.checks.places import value_at
from knobctl.checks.policies import title_of
from knobctl.report.findings import findings_text, wrapped
from knobctl.report.sets import table
from knobctl.text import count, joined, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from knobctl.checks.examples import Example
    from knobctl.checks.in_force import RulesInForce
    from knobctl.checks.policies import Policy
    from knobctl.checks.waivers import Waiver
    from knobctl.documents.model import Document
    from knobctl.errors import ExitCode
    from knobctl.finding import Finding

IN_FORCE: Final = "in force"
NOT_OFFERED: Final = "not offered"
BROKEN: Final = "broken"
_FIELDS: Final = ("when", "message", "hint", "at", "each", "trigger")
_LABEL: Final = 9


class _Entry(NamedTuple):
    """One policy, in force or not."""

    document: Document
    policy: Policy | None
    state: str
    built_in: bool
    why: str = ""
    """Why it is not in force."""

    @property
    def severity(self) -> str:
        """As the repository weighs it."""
        if self.policy is not None:
            return self.policy.severity.value
        return str(self.document.value.get("severity", ""))

    @property
    def place(self) -> str:
        """Where it comes from, for people."""
        if self.built_in:
            return "built in"
        at = self.document.location("policy")
        return visible(f"{at.file}:{at.line}")

    @property
    def weighed(self) -> str:
        """How the repository weighs it, and why; empty where it weighs it as stated."""
        override = self.policy.override if self.policy else None
        if override is None:
            return ""
        stated = self.document.value.get("severity")
        return f"{override.severity} instead of {stated} (knobctl.toml): {visible(override.reason)}"


def _entries(rules: RulesInForce) -> Iterator[_Entry]:
    for policy in rules.policies.in_force:
        yield _Entry(policy.document, policy, IN_FORCE, policy.built_in)
    for one in rules.policies.not_offered:
        yield _Entry(one.document, None, NOT_OFFERED, True, one.why)
    for document, why in rules.refused:
        yield _Entry(document, None, BROKEN, False, why)


def _entry(rules: RulesInForce, name: str) -> _Entry:
    return next(entry for entry in _entries(rules) if entry.document.name == name)


def policies_text(rules: RulesInForce, today: date, *, colored: bool = False) -> str:
    """List the policies: id, severity, where from, waivers that hold; the title below."""
    entries = list(_entries(rules))
    rows = [
        (
            visible(entry.document.name),
            entry.severity if entry.state == IN_FORCE else entry.state,
            _waived(rules, entry, today),
            entry.place,
        )
        for entry in entries
    ]
    blocks = [_sums(entries)]
    for entry, row in zip(entries, table(rows).split("\n"), strict=True):
        blocks.append(click.style(row, bold=True) if colored and entry.state == IN_FORCE else row)
        blocks += _title(entry)
        if entry.weighed:
            blocks += wrapped(entry.weighed, "  weighed  ", " " * 11)
        if entry.why:
            blocks += wrapped(visible(entry.why), "  because  ", " " * 11)
    return "\n".join(blocks) + _findings(rules, rules.findings, colored)


def _title(entry: _Entry) -> Iterator[str]:
    title = title_of(entry.document)
    return wrapped(visible(title), "  ", "  ") if title != entry.document.name else iter(())


def _waived(rules: RulesInForce, entry: _Entry, today: date) -> str:
    now = waived_now(rules.waivers_of(entry.document.name), today)
    return count(now, "waiver") if now else ""


def _sums(entries: Sequence[_Entry]) -> str:
    """The first line: `20 policies in force: 19 built in, 1 of this repository; 1 broken`."""
    in_force = [entry for entry in entries if entry.state == IN_FORCE]
    own = sum(not entry.built_in for entry in in_force)
    line = f"{count(len(in_force), 'policy')} in force: {len(in_force) - own} built in, {own} of this repository"
    weighed = sum(bool(entry.weighed) for entry in in_force)
    counts = [(weighed, "weighed otherwise")]
    for state, words in ((NOT_OFFERED, "not offered by this schema"), (BROKEN, "broken")):
        counts.append((sum(entry.state == state for entry in entries), words))
    return line + "".join(f"; {number} {words}" for number, words in counts if number)


def _findings(rules: RulesInForce, findings: Sequence[Finding], colored: bool) -> str:
    if not findings:
        return ""
    report = rules.report("policy list", findings)
    return "\n\n" + findings_text(report, colored=colored)


def policies_json(rules: RulesInForce, today: date, code: ExitCode) -> str:
    """The machine-readable answer of `policy list`."""
    return _answer(
        "policy list",
        code,
        {
            "policies": [_record(rules, entry, today) for entry in _entries(rules)],
            "findings": [finding.as_json() for finding in rules.findings],
        },
    )


def _answer(command: str, code: ExitCode, content: dict[str, Any]) -> str:
    head = {"version": 1, "command": command, "outcome": code.outcome, "exit_code": int(code)}
    return json.dumps({**head, **content}, indent=2)


def _record(rules: RulesInForce, entry: _Entry, today: date) -> dict[str, Any]:
    document = entry.document
    at = None if entry.built_in else document.location("policy")
    override = entry.policy.override if entry.policy else None
    return {
        "id": document.name,
        "title": title_of(document),
        "severity": entry.severity,
        "stated_severity": str(document.value.get("severity", "")),
        "override_reason": override.reason if override else None,
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


def policy_text(rules: RulesInForce, name: str, today: date, *, colored: bool = False) -> str:
    """Show one policy: what it says and reads, whether its examples hold, who waives it."""
    entry = _entry(rules, name)
    head = f"{visible(name)}  {entry.severity if entry.state == IN_FORCE else entry.state}  {entry.place}"
    lines = [click.style(head, bold=True) if colored else head]
    lines += _title(entry)
    if entry.why:
        lines += wrapped(visible(entry.why), "  because  ", " " * 11)
    if entry.weighed:
        lines += wrapped(entry.weighed, "  weighed  ", " " * 11)
    lines += ["", *_source(entry)]
    policy = as_stated(rules, name)
    if policy is not None:
        lines += _reads(policy)
        lines += _examples(list(examples_of(rules, policy)))
    lines += _waivers(rules.waivers_of(name), today)
    if policy is not None:
        lines += ["", f"run its examples: knobctl policy test {name}"]
    return "\n".join(lines)


def _source(entry: _Entry) -> Iterator[str]:
    for field in _FIELDS:
        if field in entry.document.value:
            yield from _labelled(field, str(entry.document.value[field]))


def _labelled(label: str, text: str) -> Iterator[str]:
    """A text of the file, line by line as it is: nothing in it is broken otherwise."""
    first, *others = visible(text.strip("\n"), keep="\n").split("\n")
    yield f"  {label:<{_LABEL}}{first}"
    for line in others:
        yield f"{' ' * (_LABEL + 2)}{line}"


def _reads(policy: Policy) -> Iterator[str]:
    knobs = "every knob" if policy.reads_all else ", ".join(policy.reads) or "no knob"
    yield from wrapped(knobs, f"  {'reads':<{_LABEL}}", " " * (_LABEL + 2))
    variables = joined(sorted(policy.depends.variables)) if policy.depends.variables else "nothing"
    yield from wrapped(variables, f"  {'sees':<{_LABEL}}", " " * (_LABEL + 2))


def _examples(examples: Sequence[Example]) -> Iterator[str]:
    failing = sum(not example.holds for example in examples)
    yield ""
    if not examples:
        yield "no examples: nothing shows what it finds and what it lets pass"
        return
    yield f"{count(len(examples), 'example')}, {f'{failing} not as stated' if failing else 'all hold'}"
    for example in examples:
        holds = "" if example.holds else "  DOES NOT HOLD"
        yield f"  {example.outcome:<{_LABEL}}{visible(_example_text(example))}{holds}"
        if example.must_fail or not example.holds:
            yield from wrapped(visible(example.said), " " * (_LABEL + 4), " " * (_LABEL + 4))


def _example_text(example: Example) -> str:
    """An example in one line, its values as they are written."""
    return _flow(example.policy.document, *example.path).removeprefix("{").removesuffix("}")


def _flow(document: Document, *path: str | int) -> str:
    match value_at(document.value, path):
        case dict() as items:
            return "{" + ", ".join(f"{key}: {_flow(document, *path, key)}" for key in items) + "}"
        case list() as items:
            return (
                "[" + ", ".join(_flow(document, *path, index) for index in range(len(items))) + "]"
            )
        case _:
            return document.literal(*path)


def _waivers(waivers: Sequence[Waiver], today: date) -> Iterator[str]:
    yield ""
    if not waivers:
        yield "nobody waives it"
        return
    yield f"{count(len(waivers), 'waiver')}, {waived_now(waivers, today)} in force"
    for waiver in waivers:
        at = waiver.document.location("waiver")
        until = "expired" if waiver.has_expired(today) else "until"
        bound = f", up to {waiver.document.literal('up_to')}" if waiver.up_to is not None else ""
        yield from wrapped(
            f"{visible(waiver.name)}  {_whom(waiver)}{bound}, {until} {waiver.expires}  {visible(at.file)}:{at.line}",
            "  ",
            "    ",
        )
        value = waiver.document.value
        yield from wrapped(
            f"{visible(str(value['reason']))} (approved by {visible(str(value['approved_by']))})",
            "    ",
            "    ",
        )


def _whom(waiver: Waiver) -> str:
    if waiver.tenants:
        return joined(sorted(waiver.tenants))
    return joined(f"{name}={value}" for name, value in sorted(waiver.labels.items()))


def policy_json(rules: RulesInForce, name: str, today: date, code: ExitCode) -> str:
    """The machine-readable answer of `policy show`."""
    entry = _entry(rules, name)
    policy = as_stated(rules, name)
    value = document_of(rules, name).value
    record = _record(rules, entry, today)
    record |= {field: _text_or_none(value.get(field)) for field in _FIELDS}
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
