"""Places what the policies found in the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.checks.expressions import ExpressionError
from knobctl.checks.inside_text import policy_error
from knobctl.finding import Finding, Related

if TYPE_CHECKING:
    from knobctl.checks.subject import Subject
    from knobctl.checks.telling import Hit
    from knobctl.documents.model import Document, Written
    from knobctl.finding import Location


def finding_of(hit: Hit, subject: Subject) -> Finding:
    """Make the finding: whose, where, in which words."""
    words = hit.words
    if words.failed is not None:
        error = ExpressionError(words.message)
        return policy_error(
            hit.policy.document, (words.failed,), error, tenant=subject.document.name
        )
    primary, related = _place(hit, subject)
    return Finding(
        rule=hit.policy.id,
        severity=hit.policy.severity,
        message=words.message,
        hint=words.hint,
        tenant=subject.document.name,
        field_path=words.place,
        value=hit.value,
        primary=primary,
        related=related,
    )


def _place(hit: Hit, subject: Subject) -> tuple[Location, tuple[Related, ...]]:
    """At the knob's value, else at the first written knob that the rule reads, else at the `tenant:` line."""
    tenant = subject.document
    names = [name for name in (hit.words.place, *hit.policy.reads) if name is not None]
    if not tenant.layers and not subject.faulty:
        # Nothing can hide what the tenant writes, so its layers need not be resolved for the place.
        for name in names:
            spot = tenant.spot("knobs", name)
            if spot is not None and spot.via < 0:
                return tenant.text.location(spot.start, spot.end), ()
    origins = subject.effective.origins
    for name in names:
        if name in origins:
            written = origins[name][0]
            return written.location, _around(written, tenant)
    return tenant.location("tenant"), ()


def _around(written: Written, tenant: Document) -> tuple[Related, ...]:
    """Whose value it is where it stands in a layer, and the alias through which it arrives."""
    related: tuple[Related, ...] = ()
    if written.document is not tenant:
        layer = written.document.name
        related += (
            Related(f"{tenant.name} has it from the layer {layer}", tenant.location("tenant")),
        )
    if via := written.via:
        message = f"the value arrives through the merge or alias at {via.line}:{via.column}"
        related += (Related(message, via),)
    return related
