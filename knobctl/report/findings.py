"""Findings for people: place, rule, what it costs, what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from knobctl.finding import Severity
from knobctl.report.excerpt import columns, excerpt
from knobctl.report.folding import (
    FEW_WAIVED,
    MOST_SHOWN,
    divided,
    grouped,
    infos_by_rule,
    listed,
    tenants_of,
)
from knobctl.report.message import LONGEST_LABEL, advice, costs, headline
from knobctl.report.summary import summary_line, waiver_words
from knobctl.text import count, spelled, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knobctl.checks.report import Later, Report
    from knobctl.finding import Finding, Location
    from knobctl.report.formats import FindingsAnswer

WIDTH: Final = 80
MOST_CHANGED: Final = 20
"""Of more tenants than these the changes are only counted, unless all are asked for."""
_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


def render(answer: FindingsAnswer) -> str:
    """Write the answer for people."""
    return report_text(
        answer.report,
        colored=answer.colored,
        shown=answer.shown,
        everything=answer.everything,
        notes=_notes(answer),
    )


def _notes(answer: FindingsAnswer) -> Iterator[str]:
    """What stands between the findings and the line that sums up."""
    if answer.rules_changed:
        from knobctl.report.rules_changed import rules_text

        yield rules_text(answer.rules_changed, everything=answer.everything)
    if changes := _changes(answer):
        yield changes
    if answer.guards:
        from knobctl.report.foreseen import guards_text

        yield guards_text(answer.guards)
    if answer.adopted:
        from knobctl.report.adopted import adopted_text

        yield adopted_text(answer.adopted, answer.report)


def _changes(answer: FindingsAnswer) -> str:
    """What changes in force, as `diff` writes it; nothing where that is not asked, or nothing changes."""
    if answer.now is None or not (answer.changes or answer.removed):
        return ""
    from knobctl.report.changes import diff_text, removed_text

    most = None if answer.everything else MOST_CHANGED
    diffs = diff_text(answer.changes or (), now=answer.now, colored=answer.colored, most=most)
    return ((diffs if answer.changes else "") + removed_text(answer.removed)).strip("\n")


def report_text(
    report: Report,
    *,
    colored: bool = False,
    shown: Sequence[Finding] | None = None,
    everything: bool = False,
    notes: Iterable[str] = (),
) -> str:
    """Write a report for people: the findings, then one line that sums up.

    Args:
        report: The report.
        colored: Whether colour repeats what the words say.
        shown: The findings to show; the summary counts all.
        everything: Whether to show every info, and every waived and standing finding, however many there are.
        notes: Blocks before the last line.
    """
    blocks = findings_text(
        report, colored=colored, shown=shown, everything=everything, fold=not everything
    )
    hidden = 0 if shown is None else len(report.findings) - len(shown)
    summary = summary_line(report, hidden=hidden)
    return "\n\n".join([*([blocks] if blocks else []), *notes, summary])


def findings_text(
    report: Report,
    *,
    colored: bool = False,
    shown: Sequence[Finding] | None = None,
    everything: bool = False,
    fold: bool = False,
    briefly: bool = False,
) -> str:
    """Write the findings for people, one block each; nothing where there are none.

    Args:
        report: What they are part of.
        colored: Whether colour repeats what the words say.
        shown: The findings to show; None for all.
        everything: Whether to show every info and every waived finding.
        fold: Whether of what the base has too only the rules are told.
        briefly: Whether many are told of by their words, and of many words the first.
    """
    in_full, by_rule = divided(report, shown, everything=everything)
    standing = [one for one in in_full if one.standing] if fold else []
    in_full = [one for one in in_full if not one.standing] if fold else in_full
    waived = [one for one in in_full if one.waived_by is not None]
    if everything or shown is not None or len(waived) <= FEW_WAIVED:
        waived = []
    else:
        in_full = [one for one in in_full if one.waived_by is None]
    told: dict[object, str] = {}
    briefly = briefly and len(in_full) > MOST_SHOWN
    groups = list(grouped(in_full, whatever_place=briefly))
    most = MOST_SHOWN if briefly else len(groups)
    blocks = ["\n".join(_block(group, report, colored, told)) for group in groups[:most]]
    if left := sum(map(len, groups[most:])):
        blocks.append(f"and {count(left, 'more finding')}; -v shows each")
    if by_rule:
        blocks.append("\n".join(_by_rule(by_rule, colored)))
    if waived:
        blocks.append("\n".join(_folded(waived, report, f"{len(waived):,} waived")))
    if standing:
        blocks.append("\n".join(_folded(standing, report, "standing")))
    return "\n\n".join(blocks)


def _block(
    group: list[Finding], report: Report, colored: bool, told: dict[object, str]
) -> Iterator[str]:
    """One finding; in two lines where the same was told of another tenant before.

    Args:
        group: The finding, of one tenant or of several.
        report: What it is part of.
        colored: Whether colour repeats what the words say.
        told: By words, for whom they were written out; grows.
    """
    finding = group[0]
    yield _head(finding, report, colored)
    who = listed(tenants_of(group))
    same = (finding.rule, finding.message, finding.hint, finding.counts)
    if who and same in told:
        yield f"  {who}: the same as for {told[same]}"
        return
    told[same] = who
    message = headline(finding.message)
    yield from wrapped(f"{who}: {visible(message)}" if who else visible(message), "  ", "  ")
    brief = finding.severity is Severity.INFO or not finding.counts
    if finding.primary and not brief:
        yield from _excerpt(finding.primary, report, finding.severity, colored)
    for label, words in (*costs(finding.message), *advice(finding)):
        yield from _labelled(label, words)
    if not brief:
        yield from _further(group, report)


def finding_text(finding: Finding, report: Report) -> str:
    """One finding for people, as it stands in a report."""
    return "\n".join(_block([finding], report, colored=False, told={}))


def _further(group: list[Finding], report: Report) -> Iterator[str]:
    """Where else to look: other places, and the command that explains the value."""
    finding = group[0]
    for other in finding.related if len(group) == 1 else ():
        place = f"{visible(other.location.file)}:{other.location.line}:{other.location.column}"
        yield from _labelled("see", f"{place}  {visible(other.message)}")
    if finding.severity is Severity.WARNING and finding.field_path in report.knobs:
        yield from _labelled(
            "more", f"knobctl explain {finding.field_path} {spelled(finding.value)}"
        )


def _head(finding: Finding, report: Report, colored: bool) -> str:
    place = finding.primary
    where = f"{visible(place.file)}:{place.line}:{place.column}" if place else "the run"
    severity = finding.severity.value
    if colored:
        where = click.style(where, bold=True)
        severity = click.style(severity, fg=_COLOURS[finding.severity])
    head = f"{where}  {severity}  {finding.rule}"
    if finding.waived_by:
        head += f"  waived by {waiver_words(finding.waived_by, report)}"
    return f"{head}  standing" if finding.standing else head


def _excerpt(place: Location, report: Report, severity: Severity, colored: bool) -> Iterator[str]:
    text = report.texts.get(place.file)
    lines = excerpt(text, place, width=WIDTH) if text else None
    if lines:
        line, carets = lines
        yield line
        yield click.style(carets, fg=_COLOURS[severity]) if colored else carets


def _labelled(label: str, words: str) -> Iterator[str]:
    return wrapped(visible(words), f"  {label:<{LONGEST_LABEL}} ", " " * (LONGEST_LABEL + 3))


def wrapped(text: str, first: str, others: str) -> Iterator[str]:
    """Break a text at blanks so that it fits into 80 columns; a longer word stays whole."""
    measure = len if text.isascii() else columns
    line, used = first, columns(first)
    for word in text.split(" "):
        size = measure(word)
        if used + size > WIDTH and line.strip():
            yield line.rstrip()
            line, used = others, columns(others)
        line += f"{word} "
        used += size + 1
    yield line.rstrip()


def _folded(findings: Sequence[Finding], report: Report, words: str) -> Iterator[str]:
    """A line for each rule, and for each waiver of it: how many there are, and where."""
    together: dict[tuple[str, str | None], list[Finding]] = {}
    for one in findings:
        together.setdefault((one.rule, one.waived_by), []).append(one)
    yield f"{words}; -v shows each"
    for (rule, waiver), found in together.items():
        names = tenants_of(found)
        files = list(dict.fromkeys(one.primary.file for one in found if one.primary))
        where = listed(names) if names else listed(files, "file")
        by = f", waived by {waiver_words(waiver, report)}" if waiver is not None else ""
        yield from wrapped(f"{len(found):,} in {where}{by}", f"  {rule}  ", "    ")


def _by_rule(infos: Sequence[Later], colored: bool) -> Iterator[str]:
    """A line or two for each rule: how often, for how many tenants, and one of them."""
    by_rule = infos_by_rule(infos)
    total = sum(often.times for often in by_rule.values())
    word = click.style("infos", fg=_COLOURS[Severity.INFO]) if colored else "infos"
    yield f"{total:,} {word}; -v shows each"
    for rule, often in by_rule.items():
        yield f"  {rule}  {often.times:,} in {count(len(often.by_tenant), 'tenant')}"
        yield from wrapped(often.such_as, "    such as ", "    ")
