"""A closer look at the tenant under the cursor: what is wrong in words, what differs from live and who did it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knobctl.errors import KnobctlError
from knobctl.finding import Severity
from knobctl.text import count, spelled, visible
from knobctl.tui.signs import SEVERITIES
from knobctl.tui.ui import line, lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from textual.content import Content

    from knobctl.changes.drift import TenantDrift
    from knobctl.checks.one_by_one import OneByOne
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import Engine, LiveSet
    from knobctl.finding import Finding
    from knobctl.tui.fleet import Fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class Closer:
    """What a closer look found."""

    findings: Sequence[Finding] = ()
    """What the checks say of its documents."""
    drift: TenantDrift | None = None
    """How live differs from its documents; None where it has none, or live cannot be read."""
    live: LiveSet | None = None
    """What the engine holds of a tenant without a document."""
    trouble: str = ""
    """Why live cannot be read."""


class Looking:
    """Looks at one tenant at a time."""

    def __init__(self, repository: Repository, checks: OneByOne) -> None:
        """Take the documents, and what judges them."""
        from knobctl.documents.model import Kind

        self._checks = checks
        self._around = [one for one in repository.others if one.kind is not Kind.TENANT]
        self._around += [one for one in repository.judged if one.kind is not Kind.TENANT]
        self._repository = repository

    def at(self, tenant: Document, engine: Engine) -> Closer:
        """Look at a tenant that has a document."""
        import knobctl.report.drift  # noqa: F401  what draws finds it loaded
        from knobctl.changes.drift import find_drift

        findings = self._checks.findings(tenant)
        alone = replace(self._repository, judged=[tenant], others=self._around, findings=[])
        try:
            drift = find_drift(alone, engine, parallelism=1)
        except KnobctlError as error:
            return Closer(findings=findings, trouble=error.message)
        return Closer(findings=findings, drift=next(iter(drift.tenants), None))

    def at_file(self, file: str) -> Closer:
        """Look at a file that gives no tenant."""
        return Closer(findings=self._checks.by_file.get(file, ()))


def at_stranger(tenant: str, engine: Engine) -> Closer:
    """Look at a tenant that has no document."""
    try:
        return Closer(live=engine.read(tenant))
    except KnobctlError as error:
        return Closer(trouble=error.message)


def head_words(fleet: Fleet, row: int) -> Content:
    """What is known of a row before anybody looked closer."""
    about = fleet.about_of(row)
    parts = [fleet.sources[row] or "no document"]
    parts += [f"owner {about.owner}"] if about.owner else []
    parts += [f"layers {', '.join(about.layers)}"] if about.layers else []
    parts += [" ".join(f"{name}={value}" for name, value in about.labels.items())]
    return line((fleet.names[row], "strong"), "  ", ("  ".join(filter(None, parts)), "muted"))


def closer_words(closer: Closer, now: datetime) -> Content:
    """What a closer look found, in words: what is graver first."""
    said = [*_finding_lines(closer.findings), *_drift_lines(closer, now)]
    return lines(*said) if said else line(("nothing to say", "muted"))


def _finding_lines(findings: Sequence[Finding]) -> Iterator[Content]:
    from knobctl.report.message import LONGEST_LABEL, advice, costs, headline

    for one in sorted(findings, key=lambda each: each.severity.rank):
        if one.severity is Severity.INFO:
            continue
        sign, role = SEVERITIES[one.severity]
        waived = f" (waived: {one.waived_by})" if one.waived_by else ""
        yield line(
            (f"{sign} {one.rule}", role if one.counts else "muted"),
            f"{waived}  {headline(one.message)}",
        )
        for label, words in (*costs(one.message), *advice(one)):
            yield line((f"  {label:<{LONGEST_LABEL}} ", "muted"), words)
    infos = sum(one.severity is Severity.INFO for one in findings)
    if infos:
        yield line((f"i {count(infos, 'info')}: knobctl check tells them", "muted"))


def _drift_lines(closer: Closer, now: datetime) -> Iterator[Content]:
    from knobctl.report.ages import ago
    from knobctl.report.drift import tenant_lines

    if closer.trouble:
        yield line(("? the engine: ", "muted"), closer.trouble)
    if closer.live:
        yield from _stranger_lines(closer.live, now)
    drift = closer.drift
    if drift is None:
        return
    if not drift.differs:
        live = drift.diff.live
        by = f", written by {live.updated_by}" if live and live.updated_by else ""
        when = f" {ago(live.updated_at, now)}" if live and live.updated_at else ""
        yield line(("ok ", "good"), f"live is as the files say{by}{when}")
        return
    first, *rest = tenant_lines(drift, now)
    yield line(("~ ", "drift"), first)
    for one in rest:
        yield line(one)


def _stranger_lines(live: LiveSet, now: datetime) -> Iterator[Content]:
    from knobctl.engine.interface import NEVER_WRITTEN
    from knobctl.report.ages import ago

    if live.revision == NEVER_WRITTEN:
        yield line("the engine holds nothing of it")
        return
    when = f" {ago(live.updated_at, now)}" if live.updated_at else ""
    by = f" by {live.updated_by}" if live.updated_by else ""
    yield line(f"no document asks for it; live {live.revision or ''} written{by}{when}:")
    for knob, value in live.knobs.items():
        yield line(f"  {visible(knob)}  {visible(spelled(value))}")
