"""Validation: documents by the JSON Schema of their kind, and by what it cannot say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.checks.schema import Judge
from knobctl.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knobctl.documents.model import Document
    from knobctl.finding import Finding
    from knobctl.knobs import Catalogue


def schema_findings(
    documents: Iterable[Document], catalogue: Catalogue, *, reading: Iterable[Finding]
) -> Iterator[Finding]:
    """Judge documents.

    Args:
        documents: What to judge.
        catalogue: The knobs of the engine.
        reading: What reading the documents found already; one fault is told once.
    """
    judge = Judge(catalogue)
    refused = [document for document in documents if not judge.accepts(document)]
    if refused:
        from knobctl.checks.explanations import explain

        told: dict[str, set[tuple[int, int]]] = {}
        for finding in reading:
            if finding.severity is Severity.ERROR and finding.primary:
                place = finding.primary
                told.setdefault(place.file, set()).add((place.line, place.column))
        for document in refused:
            known = frozenset(told.get(document.source, ()))
            yield from explain(document, catalogue, judge, known=known)
