"""What the rules of findings say, for formats that list them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knobctl.checks.report import Report
    from knobctl.documents.model import Document
    from knobctl.finding import Finding, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleWords:
    """One rule, for people."""

    title: str
    help: str
    severity: Severity
    kind: str
    """`document` or `policy`."""


def rule_words(report: Report, findings: Iterable[Finding]) -> dict[str, RuleWords]:
    """Describe the rules that some findings name, by id, in the order of the ids."""
    from knobctl.checks.built_in import built_in_documents
    from knobctl.checks.rules import RULES

    gravest: dict[str, Severity] = {}
    for one in findings:
        known = gravest.get(one.rule)
        if known is None or one.severity.rank < known.rank:
            gravest[one.rule] = one.severity
    if not gravest:
        return {}
    documents = {document.name: document for document in report.own_policies}
    documents |= {document.name: document for document in built_in_documents()}
    found: dict[str, RuleWords] = {}
    for rule, severity in sorted(gravest.items()):
        if rule in RULES:
            says = RULES[rule].says
            found[rule] = RuleWords(
                title=says[0].upper() + says[1:],
                help=f"{says[0].upper()}{says[1:]}.",
                severity=severity,
                kind="document",
            )
        else:
            found[rule] = _of_policy(rule, documents.get(rule), severity)
    return found


def _of_policy(rule: str, document: Document | None, severity: Severity) -> RuleWords:
    title = str(document.value.get("title", rule)) if document else rule
    lines = [f"{title}.", f"The rule and its examples: knobctl policy show {rule}"]
    if document and isinstance(document.value.get("at"), str):
        knob = str(document.value["at"])
        if "." not in knob and "{" not in knob and knob != "knob":
            lines.append(f"The knob: knobctl explain {knob}")
    lines.append(
        "An exception is a waiver: a rule, its tenants, a reason, who approved it, an end."
    )
    return RuleWords(title=title, help="\n".join(lines), severity=severity, kind="policy")
