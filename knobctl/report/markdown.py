"""The comment on a pull request: the verdict, what is new, what changes; what stands is folded."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from knobctl.errors import ExitCode
from knobctl.report.adopted import adopted_text
from knobctl.report.carried_evidence import evidence_section
from knobctl.report.changes import change_summary
from knobctl.report.changes_comment import removed_words
from knobctl.report.comment import comment
from knobctl.report.foreseen import guard_messages
from knobctl.report.markdown_changes import changes_section
from knobctl.report.markdown_findings import findings_sections, folded_sections
from knobctl.report.markdown_reach import reach_section
from knobctl.report.markup import code, prose
from knobctl.report.summary import aside, counted, looked_at, not_shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knobctl.changes.rules_changed import RuleChange
    from knobctl.report.comment import Section
    from knobctl.report.formats import FindingsAnswer


def render(answer: FindingsAnswer) -> str:
    """Write the comment."""
    command = answer.report.command
    sections = [
        *findings_sections(answer),
        *_changes(answer),
        *folded_sections(answer),
    ]
    against = f" --base {quote(answer.base)}" if answer.base is not None else ""
    full = f"knobctl {command}{against} --output json=FILE"
    return comment(command, "\n\n".join(_head(answer)), sections, full=full)


def _head(answer: FindingsAnswer) -> Iterator[str]:
    report = answer.report
    verdict = "Passes" if answer.verdict is ExitCode.OK else "Fails"
    none = "no findings" if answer.base is None else "no new findings"
    yield f"### {verdict}: {', '.join(counted(report)) or none}"
    against = f" against {code(answer.base)}" if answer.base is not None else ""
    words = [f"{code(f'knobctl {report.command}')} of {looked_at(report)}{against}"]
    words += map(prose, aside(report))
    yield "; ".join([*words, *not_shown(answer.hidden)])
    if answer.rules_changed:
        yield _rules(answer.rules_changed)
    if answer.changes is not None:
        yield f"In force: {change_summary(answer.changes)}"
    if answer.removed:
        yield removed_words(answer.removed)
    for guard in answer.guards:
        asked = [f"- {prose(message)}" for message in guard_messages(guard)]
        yield f"**A push to fleet {code(guard.fleet)} will be asked:**\n\n" + "\n".join(asked)
    if answer.adopted:
        yield prose(adopted_text(answer.adopted, report))


def _rules(changes: Sequence[RuleChange]) -> str:
    from knobctl.report.rules_changed import HEADING, rule_lines

    lines = [
        f"- {code(where)}: {prose(words, most=300)}" if where else f"- {words}"
        for where, words in rule_lines(changes)
    ]
    return f"**{HEADING[0].upper()}{HEADING[1:]}:**\n\n" + "\n".join(lines)


def _changes(answer: FindingsAnswer) -> list[Section]:
    if not answer.changes:
        return []
    return [
        changes_section(
            ((diff.tenant, diff.changes, diff.effective) for diff in answer.changes), share=0.2
        ),
        evidence_section(((diff.tenant, diff.evidence) for diff in answer.changes), share=0.05),
        reach_section(answer.changes, share=0.1),
    ]
