"""What the base revision has too, of the findings that no policy made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knobctl.documents.repository import Repository
    from knobctl.finding import Finding

_Key: TypeAlias = tuple[object, ...]


def marked(
    findings: Iterable[Finding], of: Repository, then: Iterable[Finding], base: Repository
) -> Iterator[Finding]:
    """Mark findings that the base has too: of the same file, at the same field, in the same words.

    Args:
        findings: Of reading and validating the documents.
        of: Their repository.
        then: The same of the base.
        base: Its repository.
    """
    known = {_key(finding, base) for finding in then}
    for finding in findings:
        yield replace(finding, standing=True) if _key(finding, of) in known else finding


def _key(finding: Finding, repository: Repository) -> _Key:
    source = finding.primary.file if finding.primary else ""
    return (
        finding.rule,
        finding.tenant,
        finding.field_path,
        repository.names.get(source, source),
        finding.message,
        repr(finding.value),
    )
