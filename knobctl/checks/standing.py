"""What the base revision has too, of the findings that no policy made."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knobctl.documents.repository import Repository
    from knobctl.finding import Finding

_Words: TypeAlias = tuple[object, ...]


class _Stood(NamedTuple):
    """A finding of the base that no finding of now has answered to yet."""

    file: str
    weight: int
    """The rank of its severity."""


def marked(
    findings: Iterable[Finding], of: Repository, then: Iterable[Finding], base: Repository
) -> list[Finding]:
    """Mark findings that the base has too, in the same words and as grave; each of the base's counts once.

    A tenant's finding may have moved to another file with it; one of no tenant only where the file
    that had it is gone and the one that has it is new, as renamed files are.

    Args:
        findings: Of reading and validating the documents.
        of: Their repository.
        then: The same of the base.
        base: Its repository.
    """
    known: dict[_Words, list[_Stood]] = defaultdict(list)
    for finding in then:
        known[_words(finding)].append(_Stood(_file(finding, base), finding.severity.rank))
    files, files_then = set(of.names.values()), set(base.names.values())
    fresh = list(findings)
    standing: set[int] = set()
    for is_renamed in (False, True):
        for index, finding in enumerate(fresh):
            rest = known.get(_words(finding))
            if not rest or index in standing:
                continue
            here = _file(finding, of)
            for stood in rest:
                fits = stood.file == here
                if is_renamed:
                    fits = finding.tenant is not None or not (
                        stood.file in files or here in files_then
                    )
                if fits and stood.weight <= finding.severity.rank:
                    rest.remove(stood)
                    standing.add(index)
                    break
    return [
        replace(finding, standing=True) if index in standing else finding
        for index, finding in enumerate(fresh)
    ]


def _words(finding: Finding) -> _Words:
    return (
        finding.rule,
        finding.tenant,
        finding.field_path,
        finding.message,
        repr(finding.value),
    )


def _file(finding: Finding, repository: Repository) -> str:
    source = finding.primary.file if finding.primary else ""
    return repository.names.get(source, source)
