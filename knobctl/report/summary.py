"""What a report comes to, in a line: what was looked at, what counts, and what fails nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.report.folding import NAMED
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knobctl.checks.report import Report


def summary_line(report: Report, *, hidden: int = 0) -> str:
    """Sum up: `6 tenants, 21 policies: 2 warnings, 1 waived (acme-legacy-floor, until 2099-03-31)`.

    Args:
        report: The report.
        hidden: How many of its findings are not shown.
    """
    counts = ", ".join([*counted(report), *aside(report)])
    return "; ".join([f"{looked_at(report)}: {counts or 'no findings'}", *not_shown(hidden)])


def counted(report: Report) -> list[str]:
    """What counts, gravest first: `1 error`, `2 warnings`; nothing where nothing does."""
    numbers = {"error": report.errors, "warning": report.warnings, "info": report.infos}
    return [count(number, noun) for noun, number in numbers.items() if number]


def not_shown(hidden: int) -> list[str]:
    """Say that findings are left out, where some are."""
    return [f"{count(hidden, 'finding')} not shown, as asked"] if hidden else []


def aside(report: Report) -> Iterator[str]:
    """Count what fails nothing: `3 standing, in the base too, 1 of them waived`, `1 waived (w, until 2099-03-31)`."""
    lasting = sum(one.standing and one.waived_by is not None for one in report.pressing)
    if report.standing:
        and_waived = f", {lasting:,} of them waived" if lasting else ""
        yield f"{report.standing:,} standing, in the base too{and_waived}"
    if new := report.waived - lasting:
        yield f"{new:,} waived ({_waivers_of(report)})"


def looked_at(report: Report) -> str:
    """Count what was looked at: `6 tenants, 21 policies`; where no policy was asked, files."""
    tenants = count(report.tenants, "tenant")
    if report.examples is not None:
        return f"{count(report.policies, 'policy')}, {count(report.examples, 'example')}"
    if report.policies:
        return f"{tenants}, {count(report.policies, 'policy')}"
    return f"{tenants} in {count(report.files, 'file')}"


def _waivers_of(report: Report) -> str:
    """Name the waivers that cover something that does not stand, with their last days."""
    used = dict.fromkeys(
        one.waived_by for one in report.pressing if one.waived_by and not one.standing
    )
    named = [waiver_words(name, report) for name in used]
    if len(named) > NAMED:
        return f"{'; '.join(named[:NAMED])}; and {count(len(named) - NAMED, 'more waiver')}"
    return "; ".join(named)


def waiver_words(name: str, report: Report, spell: Callable[[str], str] = visible) -> str:
    """Name a waiver with its last day."""
    until = report.waivers.get(name)
    return spell(name) + (f", until {until}" if until else "")
