"""Waivers for the faults that a repository has when its gate is adopted: old ones until a day, new ones never."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias

from knobctl.checks.rules import RULES
from knobctl.documents.drafts import new_document
from knobctl.documents.model import Kind, exact_number
from knobctl.documents.reader import MAX_BYTES, MAX_NODES
from knobctl.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from knobctl.checks.report import Report
    from knobctl.documents.model import Document, Effective
    from knobctl.documents.repository import Repository
    from knobctl.finding import Finding

FOLDER: Final = "waivers"
SCHEMA: Final = "../schemas/knob-set.v1.schema.json"
"""Where `init` puts it."""
NOBODY: Final = "nobody yet: written by knobctl check --write-waivers"
_MOST_TENANTS: Final = MAX_NODES // 2
"""In one waiver: a name and its place are a node each at most."""
_LONGEST_NAME: Final = 63

Bound: TypeAlias = "int | float | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Until when, why and by whom old faults are let off."""

    expires: date
    reason: str
    approved_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """The waivers that let off what a repository has, not yet written."""

    files: Mapping[str, str]
    """By name relative to the root, the text; nothing where nothing is to be let off."""
    expires: date
    waivers: int
    findings: int
    rules: int
    tenants: int


def waivable(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that fail a run, or could, and that a waiver can let off: errors and warnings of policies."""
    return [
        one
        for one in findings
        if one.counts
        and one.severity is not Severity.INFO
        and one.tenant is not None
        and (one.rule not in RULES or RULES[one.rule].waivable)
    ]


def adopt(report: Report, repository: Repository, today: date, approval: Approval) -> Adoption:
    """Write waivers for every finding of a report that a waiver can let off.

    Args:
        report: Of a whole check of the repository.
        repository: The documents, for what their values are exactly and for names that are taken.
        today: The day, which names the files.
        approval: What the waivers say of themselves.
    """
    found = waivable(report.pressing)
    groups = _grouped(found, repository)
    names = _Names(waiver.name for waiver in repository.waivers)
    texts = [
        _waiver(names.of(rule), rule, bound, tenants, repository, approval)
        for (rule, bound), everybody in groups
        for tenants in _chunks(everybody)
    ]
    return Adoption(
        files={
            f"{FOLDER}/adopted-{today}{'' if number == 1 else f'-{number}'}.yaml": text
            for number, text in enumerate(_files(texts, today), start=1)
        },
        expires=approval.expires,
        waivers=len(texts),
        findings=len(found),
        rules=len({one.rule for one in found}),
        tenants=len({one.tenant for one in found}),
    )


def _grouped(
    findings: Iterable[Finding], repository: Repository
) -> list[tuple[tuple[str, Bound], list[str]]]:
    """By rule and bound, the tenants; in order."""
    bounds = _Bounds(repository)
    groups: dict[tuple[str, Bound], set[str]] = {}
    for one in findings:
        groups.setdefault((one.rule, bounds.of(one)), set()).add(str(one.tenant))
    ordered = sorted(groups, key=lambda key: (key[0], -math.inf if key[1] is None else key[1]))
    return [(key, sorted(groups[key])) for key in ordered]


class _Bounds:
    """The least number, as a document can write it, that bounds the value of a finding."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._resolved: dict[int, Effective] = {}
        self._documents: dict[str, list[Document]] = {}
        for tenant in repository.tenants:
            self._documents.setdefault(tenant.name, []).append(tenant)

    def of(self, finding: Finding) -> Bound:
        value, knob = finding.value, finding.field_path
        if isinstance(value, bool) or not isinstance(value, (int, float)) or knob is None:
            return None
        if isinstance(value, int):
            return value
        bound = max([Fraction(str(value)), *self._written(finding, knob, value)])
        return value if exact_number("", value) >= bound else math.nextafter(value, math.inf)

    def _written(self, finding: Finding, knob: str, value: float) -> Iterator[Fraction]:
        """The value as the tenant's documents write it: with more digits than a double has, it may be more."""
        for document in self._documents.get(str(finding.tenant), ()):
            if knob in self._repository.catalogue:
                exact = self._effective(document).exact(knob)
                if float(exact) == value:
                    yield exact

    def _effective(self, document: Document) -> Effective:
        if id(document) not in self._resolved:
            self._resolved[id(document)] = self._repository.effective(document)
        return self._resolved[id(document)]


class _Names:
    """Names of waivers that nothing has yet."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def of(self, rule: str) -> str:
        """The next name for a rule: `adopted-floor-above-vector-ceiling-1`."""
        while True:
            number = self._last[rule] = self._last.get(rule, 0) + 1
            end = f"-{number}"
            name = f"adopted-{rule}"[: _LONGEST_NAME - len(end)].rstrip("-") + end
            if name not in self._taken:
                self._taken.add(name)
                return name


def _chunks(tenants: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(tenants), _MOST_TENANTS):
        yield tenants[start : start + _MOST_TENANTS]


def _waiver(
    name: str,
    rule: str,
    bound: Bound,
    tenants: Sequence[str],
    repository: Repository,
    approval: Approval,
) -> str:
    fields: dict[str, object] = {
        "rule": rule,
        "tenants": list(tenants),
        **({} if bound is None else {"up_to": bound}),
        "reason": approval.reason,
        "approved_by": approval.approved_by,
        "expires": approval.expires.isoformat(),
    }
    return new_document(Kind.WAIVER, name, fields, catalogue=repository.catalogue)


def _files(texts: Collection[str], today: date) -> Iterator[str]:
    """Put waivers together into files, none larger than a file may be."""
    head = (
        f"# yaml-language-server: $schema={SCHEMA}\n"
        f"# Faults that stood here on {today}, when the gate was adopted. What is mended is to be taken out:\n"
        "# knobctl check says which waivers cover nothing.\n"
    )
    held: list[str] = []
    size = len(head)
    for text in texts:
        if held and size + len(text) + 4 > MAX_BYTES:
            yield head + "---\n".join(held)
            held, size = [], len(head)
        held.append(text)
        size += len(text.encode()) + 4
    if held:
        yield head + "---\n".join(held)
