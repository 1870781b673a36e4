"""The comment on a pull request: the verdict, what is new, what changes; what stands is folded."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from knobctl.errors import ExitCode
from knobctl.report.ahead import adopted_text, guard_messages
from knobctl.report.changes import change_summary
from knobctl.report.changes_comment import removed_words
from knobctl.report.comment import comment
from knobctl.report.findings import aside, looked_at
from knobctl.report.markdown_changes import changes_section
from knobctl.report.markdown_findings import findings_sections, folded_sections
from knobctl.report.markdown_reach import reach_section
from knobctl.report.markup import code, prose
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    counts = [
        count(number, noun)
        for number, noun in (
            (report.errors, "error"),
            (report.warnings, "warning"),
            (report.infos, "info"),
        )
        if number
    ]
    none = "no findings" if answer.base is None else "no new findings"
    yield f"### {verdict}: {', '.join(counts) or none}"
    against = f" against {code(answer.base)}" if answer.base is not None else ""
    words = [f"{code(f'knobctl {report.command}')} of {looked_at(report)}{against}"]
    words += map(prose, aside(report))
    if answer.hidden:
        words.append(f"{count(answer.hidden, 'finding')} not shown, as asked")
    yield "; ".join(words)
    if answer.changes is not None:
        yield f"In force: {change_summary(answer.changes)}"
    if answer.removed:
        yield removed_words(answer.removed)
    for guard in answer.guards:
        asked = [f"- {prose(message)}" for message in guard_messages(guard)]
        yield f"**A push to fleet {code(guard.fleet)} will be asked:**\n\n" + "\n".join(asked)
    if answer.adopted:
        yield prose(adopted_text(answer.adopted, report))


def _changes(answer: FindingsAnswer) -> list[Section]:
    if not answer.changes:
        return []
    return [
        changes_section(
            ((diff.tenant, diff.changes, diff.effective) for diff in answer.changes), share=0.2
        ),
        reach_section(answer.changes, share=0.1),
    ]
