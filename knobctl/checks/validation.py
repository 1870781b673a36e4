"""Validation: documents by the JSON Schema of their kind, and by what it cannot say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from knobctl.checks.schema import judge_by
from knobctl.documents.model import Kind
from knobctl.documents.troubles import findings_of
from knobctl.finding import Severity
from knobctl.knobs.catalogue import Same

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knobctl.checks.schema import Judge
    from knobctl.documents.model import Document
    from knobctl.finding import Finding
    from knobctl.knobs import Catalogue


_WITH_MEANINGS: Final = frozenset({Kind.WAIVER, Kind.FLEET})


@dataclass(slots=True)
class Validation:
    """What is wrong with documents, and which of them are of no use for anything further."""

    findings: list[Finding] = field(default_factory=list)
    broken: set[int] = field(default_factory=set)
    """Identities of the documents with an error."""

    def sound(self, documents: Iterable[Document]) -> list[Document]:
        """Those of the documents that have no error."""
        return [document for document in documents if id(document) not in self.broken]


def validate_documents(
    judged: Sequence[Document],
    used: Sequence[Document],
    catalogue: Catalogue,
    *,
    reading: Iterable[Finding],
) -> Validation:
    """Judge documents.

    Args:
        judged: What the run is about.
        used: What it stands on besides: layers, policies, waivers of files that are not judged.
        catalogue: The knobs of the engine.
        reading: What reading the judged documents found already; one fault is told once.
    """
    validation = Validation(_troubles_of(used))
    documents = [one for one in (*judged, *used) if not one.is_known_sound]
    validation.broken |= {id(document) for document in documents if _is_misread(document)}
    judge = judge_by(Same(catalogue))
    refused = [document for document in documents if not judge.accepts(document)]
    if refused:
        _explain(refused, catalogue, judge, validation, [*reading, *validation.findings])
    if any(document.kind in _WITH_MEANINGS for document in documents):
        from knobctl.checks.meanings import meaning_findings

        validation.findings += meaning_findings(validation.sound(documents), catalogue)
    return validation


def _troubles_of(documents: Iterable[Document]) -> list[Finding]:
    return [
        finding
        for document in documents
        if document.tree.troubles
        for finding in findings_of(document.text, document.tree.troubles, document=document)
    ]


def _is_misread(document: Document) -> bool:
    return bool(document.tree.troubles) and any(
        finding.severity is Severity.ERROR for finding in _troubles_of((document,))
    )


def _explain(
    refused: Iterable[Document],
    catalogue: Catalogue,
    judge: Judge,
    validation: Validation,
    told: Iterable[Finding],
) -> None:
    # jsonschema comes with it, which the valid majority must not pay for.
    from knobctl.checks.explanations import explain

    places: dict[str, set[tuple[int, int]]] = {}
    for finding in told:
        if finding.severity is Severity.ERROR and finding.primary:
            place = finding.primary
            places.setdefault(place.file, set()).add((place.line, place.column))
    for document in refused:
        known = frozenset(places.get(document.source, ()))
        found = list(explain(document, catalogue, judge, known=known))
        validation.findings += found
        if found:  # none where it is refused only because it spells its knobs as the wire does
            validation.broken.add(id(document))
