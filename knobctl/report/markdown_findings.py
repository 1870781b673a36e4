"""Findings in a comment: a part that opens for each tenant, or for the tenants that share them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.finding import Severity
from knobctl.report.checkout import gravest_first, is_whole_file
from knobctl.report.comment import Block, Section
from knobctl.report.excerpt import excerpt
from knobctl.report.folding import (
    NAMED_IN_REVIEW,
    divided,
    grouped,
    infos_by_rule,
    listed,
    tenants_of,
)
from knobctl.report.markup import code, collapsed, fence, html_code, prose
from knobctl.report.message import advice, costs, headline
from knobctl.report.summary import waiver_words
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knobctl.checks.report import Later, Report
    from knobctl.finding import Finding
    from knobctl.report.formats import FindingsAnswer

_MOST_EACH: Final = 12
"""Findings that one part tells; a tenant with more has the rest in the full report."""
_MOST_TEXT: Final = 1000


def findings_sections(answer: FindingsAnswer) -> list[Section]:
    """What counts, by tenant, worst first."""
    pressing = [one for one in answer.findings if one.counts and one.severity is not Severity.INFO]
    return [
        Section(
            noun="finding",
            total=len(pressing),
            share=0.5,
            blocks=_by_tenant(answer.report, pressing),
        )
    ]


def folded_sections(answer: FindingsAnswer) -> list[Section]:
    """What fails nothing, folded: waived findings, standing ones, infos."""
    shown, later = divided(answer.report, answer.shown, everything=answer.everything)
    waived = [one for one in answer.findings if one.waived_by is not None and not one.standing]
    standing = [one for one in answer.findings if one.standing]
    infos = [one for one in shown if one.counts and one.severity is Severity.INFO]
    infos_told = len(infos) + sum(len(one.infos) for one in later)
    return [
        _folded(len(waived), "waived finding", "waived", _lines(waived, answer.report)),
        _folded(
            len(standing),
            "standing finding",
            "standing, in the base too",
            _lines(standing, answer.report),
        ),
        _folded(
            infos_told,
            "info",
            "info" if infos_told == 1 else "infos",
            _lines(infos, answer.report) if infos else _rules(later),
        ),
    ]


def _folded(total: int, noun: str, words: str, blocks: Iterable[Block]) -> Section:
    return Section(
        noun=noun,
        total=total,
        share=0.05,
        before=f"<details>\n<summary>{total:,} {words}</summary>\n\n",
        after="\n\n</details>",
        between="\n",
        blocks=blocks,
    )


def _by_tenant(report: Report, findings: Sequence[Finding]) -> Iterator[Block]:
    """A part for those whom the same findings are about; of a finding about no tenant, for its file."""
    parts: dict[tuple[str, ...], list[list[Finding]]] = {}
    for group in grouped(gravest_first(findings)):
        names = tuple(tenants_of(group))
        place = group[0].primary
        parts.setdefault(names or ("", place.file if place else ""), []).append(group)
    for number, (names, groups) in enumerate(parts.items()):
        yield _part(names, groups, report, is_open=number == 0)


def _part(
    names: tuple[str, ...], groups: Sequence[list[Finding]], report: Report, *, is_open: bool
) -> Block:
    told = groups[:_MOST_EACH]
    who = html_code(names[1] or "the run") if names[0] == "" else _names(names)
    counts = [
        count(number, severity.value)
        for severity in (Severity.ERROR, Severity.WARNING)
        if (number := sum(group[0].severity is severity for group in groups))
    ]
    body = "\n\n".join(_entry(group, report) for group in told)
    if len(groups) > len(told):
        body += f"\n\nand {count(len(groups) - len(told), 'more finding')}"
    return Block(
        collapsed(f"{who}: {', '.join(counts)}", body, is_open=is_open),
        tells=sum(map(len, told)),
        cut=any(_is_cut(group[0]) for group in told),
    )


def _names(names: Sequence[str]) -> str:
    return listed(names, most=NAMED_IN_REVIEW, spell=html_code)


def _is_cut(finding: Finding) -> bool:
    return max(len(finding.message), len(finding.hint or "")) > _MOST_TEXT


def _entry(group: Sequence[Finding], report: Report) -> str:
    finding = group[0]
    message = finding.message[: 2 * _MOST_TEXT]
    parts = [
        f"**{finding.severity.value}** {code(finding.rule)} {_place(finding)}".rstrip(),
        prose(headline(message), most=_MOST_TEXT),
    ]
    lines = _excerpt(finding, report)
    if lines:
        parts.append(fence(lines))
    labelled = (*costs(message)[:8], *advice(finding)[:8])
    details = [
        f"- **{label}** {prose(words)}" if label else f"- {prose(words)}"
        for label, words in labelled
    ]
    details += [
        f"- **see** {code(f'{other.location.file}:{other.location.line}')} {prose(other.message)}"
        for other in (finding.related[:5] if len(group) == 1 else ())
    ]
    return "\n\n".join([*parts, "\n".join(details)] if details else parts)


def _excerpt(finding: Finding, report: Report) -> Sequence[str]:
    """The line that a finding is about, with carets; nothing where it is about no line."""
    place = finding.primary
    text = report.texts.get(place.file) if place else None
    if place is None or text is None or is_whole_file(place):
        return ()
    return excerpt(text, place) or ()


def _place(finding: Finding) -> str:
    place = finding.primary
    if place is None:
        return ""
    lines = "" if is_whole_file(place) else f":{place.line}:{place.column}"
    return f"at {code(f'{place.file}{lines}')}"


def _lines(findings: Iterable[Finding], report: Report) -> Iterator[Block]:
    """A line each, those that tenants share once."""
    for group in grouped(gravest_first(findings)):
        finding = group[0]
        who = listed(tenants_of(group), most=NAMED_IN_REVIEW, spell=code)
        head = f"- {finding.severity.value} {code(finding.rule)} {_place(finding)}".rstrip()
        words = [f"{head}, {who}:" if who else f"{head}:"]
        words.append(prose(headline(finding.message), most=300))
        if finding.waived_by is not None:
            words.append(f"(waived by {waiver_words(finding.waived_by, report, code)})")
        yield Block(" ".join(words), tells=len(group))


def _rules(later: Sequence[Later]) -> Iterator[Block]:
    for rule, often in infos_by_rule(later).items():
        tenants = count(len(often.by_tenant), "tenant")
        yield Block(
            f"- {code(rule)} {often.times:,} in {tenants}, such as {prose(often.such_as, most=300)}",
            tells=often.times,
        )
