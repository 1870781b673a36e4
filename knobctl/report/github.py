"""Findings as GitHub workflow commands: an annotation each, and one that sums up.

Every line begins with `::`, so nothing in a finding can begin a command of its own. GitHub shows ten
of each kind a step; all of them stay in the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.finding import Severity
from knobctl.report.checkout import gravest_first, is_whole_file, path_of, path_text
from knobctl.report.folding import (
    NAMED_IN_REVIEW,
    divided,
    grouped,
    infos_by_rule,
    listed,
    tenants_of,
)
from knobctl.report.summary import summary_line, waiver_words
from knobctl.text import count, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knobctl.finding import Finding, Location
    from knobctl.report.formats import FindingsAnswer

_COMMANDS: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "notice",
}
_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(answer: FindingsAnswer) -> Iterator[str]:
    """Write the commands, gravest first, one a line."""
    if answer.rules_changed:  # ahead of other notices, of which the host shows ten
        from knobctl.report.rules_changed import HEADING, rule_lines

        told = rule_lines(answer.rules_changed, everything=answer.everything)
        words = "\n".join(f"{where}  {said}".strip() for where, said in told)
        yield _command("notice", {"title": HEADING}, words) + "\n"
    findings, infos = divided(answer.report, answer.shown, everything=answer.everything)
    for group in grouped(gravest_first(findings)):
        yield _annotation(answer, group) + "\n"
    for rule, often in infos_by_rule(infos).items():
        words = (
            f"{often.times:,} in {count(len(often.by_tenant), 'tenant')}, such as {often.such_as}"
        )
        yield _command("notice", {"title": f"{rule} (info)"}, words) + "\n"
    words = summary_line(answer.report, hidden=answer.hidden)
    yield _command("notice", {"title": f"knobctl {answer.report.command}"}, words)


def _annotation(answer: FindingsAnswer, group: Sequence[Finding]) -> str:
    finding = group[0]
    place = finding.primary
    path = path_of(answer.report, place.file) if place else None
    properties = {"file": path_text(path), **_lines(place)} if path and place else {}
    command = _COMMANDS[finding.severity] if finding.counts else "notice"
    return _command(command, {**properties, "title": _title(answer, finding)}, _message(group))


def _lines(place: Location) -> dict[str, str]:
    """Lines, and columns where they are of one line: GitHub takes no others."""
    if is_whole_file(place):
        return {}
    lines = {"line": str(place.line), "endLine": str(place.end_line)}
    if place.line == place.end_line:
        lines |= {"col": str(place.column), "endColumn": str(place.end_column)}
    return lines


def _title(answer: FindingsAnswer, finding: Finding) -> str:
    words = ["standing, in the base too"] if finding.standing else []
    if finding.waived_by is not None:
        words.append(f"waived by {waiver_words(finding.waived_by, answer.report, str)}")
    return finding.rule + (f" ({'; '.join(words)})" if words else "")


def _message(group: Sequence[Finding]) -> str:
    finding = group[0]
    who = listed(tenants_of(group), most=NAMED_IN_REVIEW, spell=str)
    lines = [f"{who}: {finding.message}" if who else finding.message]
    return "\n".join([*lines, finding.hint] if finding.hint else lines)


def _command(name: str, properties: dict[str, str], words: str) -> str:
    told = ",".join(
        f"{key}={printable(value).translate(_PROPERTY)}" for key, value in properties.items()
    )
    return f"::{name} {told}::{printable(words, keep=chr(10)).translate(_DATA)}"
