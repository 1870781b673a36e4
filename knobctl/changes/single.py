"""One tenant's set changed by a person: what the checks say of the change, standing faults aside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knobctl.changes.file_edits import edited_document
from knobctl.changes.stand_in import judging, like
from knobctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from knobctl.changes.file_edits import FileEdit
    from knobctl.checks.report import Report
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
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


def document_of(repository: Repository, tenant: str, fleet: Document | None) -> Document | None:
    """Find the document of a tenant in a fleet; None where it has none.

    Raises:
        UsageError: If several claim it: then a fleet must be named.
    """
    claims = [one for one in repository.tenants_of(fleet) if one.name == tenant]
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
        if not literal.isprintable() or set(literal) & set(" #&*!|>@`%{}[]\\"):
            raise UsageError(f"{literal!r} is no value of a knob: write one number or one word")
        literals[knob.name] = literal
    return literals


def judge_literals(
    tenant: str, literals: Mapping[str, str], repository: Repository
) -> tuple[dict[str, KnobValue], Report]:
    """Read typed values by the rules of documents.

    Returns:
        The accepted values by canonical name, unset ones as 0 or UNSPECIFIED; what is wrong with the others.
    """
    from knobctl.checks import validate_repository
    from knobctl.documents.kinds import sort_documents
    from knobctl.documents.reader import read_text

    lines = [
        f"tenant: '{tenant}'",
        "knobs:",
        *(f"  {name}: {value}" for name, value in literals.items()),
    ]
    found = sort_documents(read_text("\n".join(lines) + "\n", "the command line"), named=True)
    typed = replace(judging(repository, found.documents), findings=found.findings, others=[])
    values = {
        name: written.value
        for document in found.documents
        for name, written in document.written(repository.catalogue).items()
    }
    return values, validate_repository(typed)


def check_live_change(
    subject: Subject,
    live: LiveSet,
    desired: Mapping[str, KnobValue],
    *,
    literals: Mapping[str, str],
    today: date,
) -> Report:
    """Check the set that shall be; what is wrong with the live one already is standing.

    Args:
        subject: The tenant.
        live: The set that is.
        desired: The set that shall be.
        literals: What was typed, by knob: a literal 0 is worth a word though no set holds it.
        today: For waivers.
    """
    from knobctl.checks import check_repository

    source = f"{live.tenant} (live)"
    before = like(subject.document, live.tenant, live.knobs, source=source)
    after = like(subject.document, live.tenant, desired, source=source, literals=literals)
    report = check_repository(
        judging(subject.repository, [after]),
        today=today,
        live={live.tenant: live.knobs},
        base=judging(subject.repository, [before]),
        fleet=subject.fleet_name,
    )
    kept = [one for one in report.findings if one.rule != EXPLICIT_RESETS]
    return replace(report, findings=kept)


def check_file_change(subject: Subject, edit: FileEdit, *, today: date) -> Report:
    """Check a tenant's document as it shall be; what is wrong with it already is standing."""
    from knobctl.checks import check_repository

    assert subject.document is not None
    return check_repository(
        judging(subject.repository, [edited_document(edit, subject.document)]),
        today=today,
        base=judging(subject.repository, [subject.document]),
        fleet=subject.fleet_name,
    )
