"""Policies for people: which are in force, what one of them says, who waives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from knobctl.checks.in_force import SOURCE, State, as_stated, examples_of, waived_now
from knobctl.checks.places import value_at
from knobctl.checks.policies import title_of
from knobctl.report.findings import findings_text, wrapped
from knobctl.report.sets import table
from knobctl.text import count, joined, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date

    from knobctl.checks.examples import Example
    from knobctl.checks.in_force import Entry, RulesInForce
    from knobctl.checks.policies import Policy
    from knobctl.checks.waivers import Waiver
    from knobctl.documents.model import Document
    from knobctl.finding import Finding

_LABEL: Final = 9


def policies_text(rules: RulesInForce, today: date, *, colored: bool = False) -> str:
    """List the policies: id, severity, where from, waivers that hold; the title below."""
    entries = list(rules.entries())
    rows = [
        (
            visible(entry.document.name),
            entry.severity if entry.state == State.IN_FORCE else entry.state,
            _waived(rules, entry, today),
            _place(entry),
        )
        for entry in entries
    ]
    blocks = [_sums(entries)]
    for entry, row in zip(entries, table(rows).split("\n"), strict=True):
        blocks.append(
            click.style(row, bold=True) if colored and entry.state == State.IN_FORCE else row
        )
        blocks += _title(entry)
        if _weighed(entry):
            blocks += wrapped(_weighed(entry), "  weighed  ", " " * 11)
        if entry.why:
            blocks += wrapped(visible(entry.why), "  because  ", " " * 11)
    return "\n".join(blocks) + _findings(rules, rules.findings, colored)


def _place(entry: Entry) -> str:
    if entry.built_in:
        return "built in"
    at = entry.document.location("policy")
    return visible(f"{at.file}:{at.line}")


def _weighed(entry: Entry) -> str:
    """How the repository weighs it, and why; empty where it weighs it as stated."""
    if entry.override is None:
        return ""
    return f"{entry.override.severity} instead of {entry.stated} (knobctl.toml): {visible(entry.override.reason)}"


def _title(entry: Entry) -> Iterator[str]:
    title = title_of(entry.document)
    return wrapped(visible(title), "  ", "  ") if title != entry.document.name else iter(())


def _waived(rules: RulesInForce, entry: Entry, today: date) -> str:
    now = waived_now(rules.waivers_of(entry.document.name), today)
    return count(now, "waiver") if now else ""


def _sums(entries: Sequence[Entry]) -> str:
    """The first line: `20 policies in force: 19 built in, 1 of this repository; 1 broken`."""
    in_force = [entry for entry in entries if entry.state == State.IN_FORCE]
    own = sum(not entry.built_in for entry in in_force)
    line = f"{count(len(in_force), 'policy')} in force: {len(in_force) - own} built in, {own} of this repository"
    weighed = sum(bool(_weighed(entry)) for entry in in_force)
    counts = [(weighed, "weighed otherwise")]
    for state, words in (
        (State.NOT_OFFERED, "not offered by this schema"),
        (State.BROKEN, "broken"),
    ):
        counts.append((sum(entry.state == state for entry in entries), words))
    return line + "".join(f"; {number} {words}" for number, words in counts if number)


def _findings(rules: RulesInForce, findings: Sequence[Finding], colored: bool) -> str:
    if not findings:
        return ""
    report = rules.report("policy list", findings)
    return "\n\n" + findings_text(report, colored=colored)


def policy_text(rules: RulesInForce, name: str, today: date, *, colored: bool = False) -> str:
    """Show one policy: what it says and reads, whether its examples hold, who waives it."""
    entry = rules.entry(name)
    head = f"{visible(name)}  {entry.severity if entry.state == State.IN_FORCE else entry.state}  {_place(entry)}"
    lines = [click.style(head, bold=True) if colored else head]
    lines += _title(entry)
    if entry.why:
        lines += wrapped(visible(entry.why), "  because  ", " " * 11)
    if _weighed(entry):
        lines += wrapped(_weighed(entry), "  weighed  ", " " * 11)
    lines += ["", *_source(entry)]
    policy = as_stated(rules, name)
    if policy is not None:
        lines += _reads(policy)
        lines += _examples(list(examples_of(rules, policy)))
    lines += _waivers(rules.waivers_of(name), today)
    if policy is not None:
        lines += ["", f"run its examples: knobctl policy test {name}"]
    return "\n".join(lines)


def _source(entry: Entry) -> Iterator[str]:
    for field in SOURCE:
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
