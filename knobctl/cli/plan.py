"""`knobctl plan`: what apply would do, as text or as a file to review and apply later."""

from __future__ import annotations

import json
import shlex
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knobctl import __version__
from knobctl.cli.attaching import evidence_option, tell_attached
from knobctl.cli.choosing import answer_errors, choose, findings_text, limits_for, prepared_for
from knobctl.cli.options import Settings, bare_set_option, common_options
from knobctl.cli.push_options import parallelism_option
from knobctl.cli.selection import selection_of, selection_options
from knobctl.cli.session import Session
from knobctl.cli.unnamed_fleets import documents_behind, tell_unnamed_fleets
from knobctl.errors import ExitCode, UsageError
from knobctl.text import visible

if TYPE_CHECKING:
    from knobctl.changes.guards import Refusal
    from knobctl.changes.plan import Plan
    from knobctl.changes.plan_writing import PlanFile
    from knobctl.changes.preparing import Prepared


@click.command(name="plan")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the plan, to be applied with `knobctl apply FILE`.",
)
@selection_options
@bare_set_option
@click.option("--exit-code", is_flag=True, help="Exit 3 where something would change.")
@evidence_option
@parallelism_option
@common_options(engine=True, rate=True, formats=("text", "json", "markdown"))
def command(
    settings: Settings,
    paths: tuple[str, ...],
    out: Path | None,
    labels: tuple[str, ...],
    where: str | None,
    tenant: str | None,
    exit_code: bool,
    evidence: tuple[Path, ...],
    parallelism: int,
) -> ExitCode:
    """Show what apply would do, with hazards; -o keeps it as a file with digests, and replaces only a plan."""
    if out == Path("-"):
        raise UsageError("-o names a file", hint="on standard output, as `document`: --format json")
    if out:
        _assert_writable(out)
    with Session(settings) as session:
        selection = selection_of((), labels, where)
        repository, fleet = choose(session, paths, tenant=tenant, selection=selection)
        tell_attached(session, repository, evidence)
        limits = limits_for(session, fleet)
        prepared = prepared_for(session, repository, fleet, limits, parallelism=parallelism)
        if prepared.plan is None:
            return answer_errors(session, "plan", prepared.report)
        behind = documents_behind(prepared.plan, repository)
        tell_unnamed_fleets(session, repository, behind, fleet)
        made = _Made(session, prepared, prepared.plan)
        if out:
            _write(out, made.file)
        code = ExitCode.CHANGES if exit_code and prepared.plan.changing else ExitCode.OK
        settings.answer(
            {
                "text": lambda: made.text(out),
                "json": lambda: json.dumps(made.as_json(code), indent=2),
                "markdown": lambda: made.comment(code),
            }
        )
        return code


def _assert_writable(path: Path) -> None:
    """See that the plan can be written and replaces nothing but a plan, before a whole fleet is read for it."""
    from knobctl.changes.plan import is_plan
    from knobctl.documents.files import leads_to_a_stream, prove_room

    try:
        if leads_to_a_stream(path):
            return
        prove_room(path.parent, 0)
        held = b""
        if path.is_file():
            with path.open("rb") as file:
                held = file.read(4096)
    except OSError as error:
        raise UsageError(f"-o cannot write {path}: {error.strerror}") from error
    if held and not is_plan(held):
        raise UsageError(
            f"-o would replace {path}, which is no plan; nothing was written",
            hint="choose another name, or remove that file first",
        )


def _write(path: Path, file: PlanFile) -> None:
    from knobctl.documents.files import write_atomically

    try:
        write_atomically(path, file.pieces())
    except OSError as error:
        raise UsageError(f"-o cannot write {path}: {error.strerror}") from error


class _Made:
    """A plan that was made, to be shown; its file is laid out where somebody wants it."""

    def __init__(self, session: Session, prepared: Prepared, plan: Plan) -> None:
        self._session, self._prepared, self._plan = session, prepared, plan
        self._now = session.now()

    @cached_property
    def file(self) -> PlanFile:
        """The plan file."""
        from knobctl.changes.plan_writing import PlanFile

        return PlanFile(
            self._plan,
            made_at=self._now.isoformat(timespec="seconds"),
            made_by=f"knobctl {__version__}",
        )

    @cached_property
    def _refusals(self) -> tuple[Refusal, ...]:
        """What would stop an apply now."""
        from knobctl.changes.guards import judge

        plan = self._plan
        return judge(
            plan.tenants, plan.limits, managed=plan.managed, now=self._now, reason=None
        ).refusals

    def text(self, out: Path | None) -> str:
        """The plan for people."""
        from knobctl.report.plan import plan_text

        lines = [
            plan_text(
                self._plan,
                self._prepared.report,
                findings=findings_text(self._session, self._prepared.report),
                effective=self._prepared.effective,
                colored=self._session.settings.colored(sys.stdout),
                everything=bool(self._session.settings.verbose),
            )
        ]
        lines += [f"apply would be refused: {one.message}" for one in self._refusals]
        if out:
            digest = self.file.digest[:12]
            apply = f"knobctl apply {shlex.quote(str(out))}{self._session.typed_engine}"
            lines.append(f"plan {digest} written; to apply it: {visible(apply)}")
        return "\n".join(lines)

    def comment(self, code: ExitCode) -> str:
        """The plan as a comment on a pull request."""
        from knobctl.changes.comparing import TenantDiff
        from knobctl.report.changes_comment import plan_comment
        from knobctl.report.formats import FindingsAnswer

        prepared = self._prepared
        return plan_comment(
            self._plan,
            FindingsAnswer(report=prepared.report, code=code),
            [
                TenantDiff(
                    tenant=one.tenant,
                    changes=one.changes,
                    after=one.source,
                    effective=prepared.effective.get(one.tenant),
                    evidence=one.evidence,
                )
                for one in self._plan.changing
            ],
            digest=self.file.digest,
            refusals=self._refusals,
        )

    def as_json(self, code: ExitCode) -> dict[str, Any]:
        """The plan for machines."""
        from knobctl.report.plan import plan_counts, refusal_json

        return {
            "version": 1,
            "command": "plan",
            "outcome": code.outcome,
            "exit_code": int(code),
            "summary": plan_counts(self._plan, self._prepared.report),
            "document": self.file.document(),
            "refusals": refusal_json(self._refusals),
            "findings": [finding.as_json() for finding in self._prepared.report.findings],
        }
