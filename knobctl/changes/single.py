"""One tenant's set changed by a person: what the checks say of the change, standing faults aside."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from knobctl.changes.file_edits import edited_document
from knobctl.changes.plan import Plan, plan_tenant, schema_digest
from knobctl.changes.preparing import hazards_of
from knobctl.changes.stand_in import judging, like
from knobctl.checks.carried_evidence import Carrying
from knobctl.checks.evidences import Evidences
from knobctl.checks.knob_faults import value_fault
from knobctl.checks.rules import EVIDENCE_RULES
from knobctl.documents.kinds import sort_documents
from knobctl.documents.reader import read_text
from knobctl.documents.repository import Repository
from knobctl.documents.settings import RepositorySettings
from knobctl.errors import UsageError
from knobctl.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from knobctl.changes.corpora import Corpora
    from knobctl.changes.file_edits import FileEdit
    from knobctl.changes.limits import Limits
    from knobctl.checks.asking import Asking
    from knobctl.checks.carried_evidence import CarriedEvidence
    from knobctl.checks.report import Report
    from knobctl.documents.model import Document
    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import Catalogue, Knob, KnobValue

EXPLICIT_RESETS = "reset-by-omission"
"""What a file leaves out by accident, a command names: here the rule has nothing to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One tenant, and the documents around it."""

    tenant: str
    repository: Repository
    """Where policies, waivers and fleets stand."""
    fleet: Document | None
    document: Document | None
    """The tenant's own, for labels and owner; None where it has none."""

    @property
    def fleet_name(self) -> str | None:
        """The fleet that applies."""
        return self.fleet.name if self.fleet else None


def claims_in(repository: Repository, fleet: Document | None) -> dict[str, list[Document]]:
    """The documents of a fleet, by tenant."""
    found: dict[str, list[Document]] = {}
    for one in repository.tenants_of(fleet):
        found.setdefault(one.name, []).append(one)
    return found


def document_of(tenant: str, claimed: Mapping[str, Sequence[Document]]) -> Document | None:
    """Find the document of a tenant; None where it has none.

    Args:
        tenant: The tenant.
        claimed: See `claims_in`.

    Raises:
        UsageError: If several claim it: then a fleet must be named.
    """
    claims = claimed.get(tenant, ())
    if len(claims) > 1:
        places = " and in ".join(one.source for one in claims)
        raise UsageError(f"{tenant} stands in {places}", hint="say which is meant: --fleet NAME")
    return claims[0] if claims else None


def knob_named(catalogue: Catalogue, name: str) -> Knob:
    """Find a knob by either spelling.

    Raises:
        UsageError: If there is none, with the nearest name.
    """
    if name in catalogue.by_any_name:
        return catalogue.by_any_name[name]
    near = catalogue.nearest(name)
    raise UsageError(
        f"{name!r} is no knob",
        hint=f"did you mean {near}?" if near else "see them all: knobctl explain",
    )


def read_assignments(texts: Sequence[str], catalogue: Catalogue) -> dict[str, str]:
    """Read `KNOB=VALUE` into literals by canonical name.

    Raises:
        UsageError: If one is no assignment of one word to one knob.
    """
    literals: dict[str, str] = {}
    for text in texts:
        name, sign, literal = text.partition("=")
        if not sign:
            raise UsageError(f"{text!r} must be KNOB=VALUE, such as retrieval_min_score=0.2")
        knob = knob_named(catalogue, name)
        if knob.name in literals:
            raise UsageError(f"{knob.name} is given twice")
        if not literal:
            raise UsageError(
                f"{knob.name} has no value",
                hint=f"to go back to the default: knobctl unset TENANT {knob.name}",
            )
        if not is_one_word(literal):
            raise UsageError(f"{literal!r} is no value of a knob: write one number or one word")
        literals[knob.name] = literal
    return literals


def is_one_word(literal: str) -> bool:
    """Whether a typed value is one word, so that nothing stands beside it where it is written."""
    return literal.isprintable() and not set(literal) & set(" #&*!|>@`%{}[]\\")


def judge_literals(
    tenant: str, literals: Mapping[str, str], catalogue: Catalogue
) -> tuple[dict[str, KnobValue], Report]:
    """Read typed values by the rules of documents.

    Returns:
        The accepted values by canonical name, unset ones as 0 or UNSPECIFIED; what is wrong with the others.
    """
    from knobctl.checks import validate_repository

    lines = [
        f"tenant: '{tenant}'",
        "knobs:",
        *(f"  {name}: {value}" for name, value in literals.items()),
    ]
    found = sort_documents(read_text("\n".join(lines) + "\n", "the command line"), named=True)
    typed = Repository(
        Path(), catalogue, RepositorySettings(), judged=found.documents, findings=found.findings
    )
    values = {
        name: written.value
        for document in found.documents
        for name, written in document.written(catalogue).items()
    }
    return values, validate_repository(typed)


def judge_literal(
    knob: Knob, literal: str, catalogue: Catalogue
) -> tuple[KnobValue | None, tuple[Finding, ...]]:
    """Read one typed value by the rules of documents, apart from all others.

    Returns:
        The value, None where it is none; and what is to be said of it.
    """
    if not literal or not is_one_word(literal):
        return None, (_no_value(knob, literal),)
    values, report = judge_literals("tenant", {knob.name: literal}, catalogue)
    if knob.name in values and not report.errors:
        return values[knob.name], tuple(report.findings)
    told = [one for one in report.findings if one.field_path == knob.name]
    return None, tuple(told) or (_no_value(knob, literal),)


def _no_value(knob: Knob, literal: str) -> Finding:
    fault = value_fault(knob, literal or None, literal)
    return Finding(
        rule=fault.rule if fault else "wrong-type",
        severity=Severity.ERROR,
        message=fault.message if fault else f"{knob.name} is {literal}, which is not one word",
        hint=fault.hint if fault else "write it into the file, in quotes",
        field_path=knob.name,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveChange:
    """The set that a tenant holds, and the one that it shall hold."""

    subject: Subject
    live: LiveSet
    desired: Mapping[str, KnobValue]
    literals: Mapping[str, str] = field(default_factory=dict)
    """What was typed, by knob: a literal 0 is worth a word though no set holds it."""

    def document(self, knobs: Mapping[str, KnobValue], literals: Mapping[str, str]) -> Document:
        """A set of this tenant as a document, with the labels of its own one."""
        source = f"{self.live.tenant} (live)"
        own = self.subject.document
        evidence = self.subject.repository.evidence_of(own) if own else ()
        return like(
            own, self.live.tenant, knobs, source=source, literals=literals, evidence=evidence
        )


def check_live_changes(
    changes: Sequence[LiveChange],
    *,
    today: date,
    goes_back: bool = False,
    asking: Callable[..., Asking] | None = None,
    corpora: Corpora | None = None,
) -> Report:
    """Check the sets that shall be; what is wrong with the live ones already is standing.

    Args:
        changes: At least one; all of one repository and fleet.
        today: For waivers.
        goes_back: Whether the tenants held those sets before: evidence is missed then, not demanded.
        asking: What asked policies in earlier runs about the same tenants; see `check_repository`.
        corpora: Says how large the corpora of tenants are now.
    """
    from knobctl.checks import check_repository

    subject = changes[0].subject
    report = check_repository(
        judging(subject.repository, [one.document(one.desired, one.literals) for one in changes]),
        today=today,
        live={one.live.tenant: one.live.knobs for one in changes},
        base=judging(subject.repository, [one.document(one.live.knobs, {}) for one in changes]),
        fleet=subject.fleet,
        asking=asking,
        corpora=corpora,
    )
    report = _without_explicit_resets(report)
    if goes_back:
        report = replace(report, pressing=[_missed(one) for one in report.pressing])
    return report


def _missed(finding: Finding) -> Finding:
    """Demanded evidence as a warning: who goes back in an emergency has no time to measure."""
    if finding.rule not in EVIDENCE_RULES or finding.severity is not Severity.ERROR:
        return finding
    return replace(
        finding,
        severity=Severity.WARNING,
        message=f"{finding.message}; a rollback does not wait for it",
    )


def _without_explicit_resets(report: Report) -> Report:
    kept = [one for one in report.pressing if one.rule != EXPLICIT_RESETS]
    return replace(report, pressing=kept)


def plan_live_changes(
    changes: Sequence[LiveChange], report: Report, *, engine: str, limits: Limits
) -> Plan:
    """Plan the changes, by tenant."""
    subject = changes[0].subject
    repository = subject.repository
    catalogue, hazards = repository.catalogue, hazards_of(report)
    carrying = Carrying(Evidences(repository))
    planned = [
        plan_tenant(
            catalogue,
            one.live,
            one.desired,
            hazards=tuple(hazards.get(one.live.tenant, ())),
            evidence=partial(_carried, carrying, one),
        )
        for one in changes
    ]
    return Plan(
        engine=engine,
        fleet=subject.fleet_name,
        schema_digest=schema_digest(catalogue),
        managed=len(repository.managed_by(subject.fleet)),
        limits=limits,
        tenants=tuple(sorted(planned, key=lambda tenant: tenant.tenant)),
    )


def _carried(
    carrying: Carrying, change: LiveChange, before: Mapping[str, KnobValue]
) -> tuple[CarriedEvidence, ...]:
    document = change.document(change.desired, change.literals)
    return carrying.of(change.subject.repository.effective(document), before)


def check_file_change(
    subject: Subject,
    edit: FileEdit,
    *,
    today: date,
    asking: Callable[..., Asking] | None = None,
) -> Report:
    """Check a tenant's document as it shall be; what is wrong with it already is standing."""
    from knobctl.checks import check_repository

    assert subject.document is not None
    return _without_explicit_resets(
        check_repository(
            judging(subject.repository, [edited_document(edit, subject.document)]),
            today=today,
            base=judging(subject.repository, [subject.document]),
            fleet=subject.fleet,
            asking=asking,
        )
    )
