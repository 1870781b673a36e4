"""`knobctl plan`: what apply would do, as text or as a file to review and apply later."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knobctl import __version__
from knobctl.cli.choosing import answer_errors, choose, findings_text, limits_for, prepared_for
from knobctl.cli.options import Settings, common_options
from knobctl.cli.pushing import parallelism_option
from knobctl.cli.selection import selection_of, selection_options
from knobctl.cli.session import Session
from knobctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from knobctl.changes.guards import Refusal
    from knobctl.changes.plan import Plan
    from knobctl.changes.preparing import Prepared


@click.command(name="plan")
@common_options(engine=True)
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the plan, to be applied with `knobctl apply FILE`.",
)
@selection_options
@click.option("--tenant", metavar="NAME", help="Whose set a bare knob map or the wire's JSON is.")
@click.option("--exit-code", is_flag=True, help="Exit 3 where something would change.")
@parallelism_option
def command(
    settings: Settings,
    paths: tuple[str, ...],
    out: Path | None,
    labels: tuple[str, ...],
    where: str | None,
    tenant: str | None,
    exit_code: bool,
    parallelism: int,
) -> ExitCode:
    """Show what apply would do, with hazards; -o keeps it as a file with digests."""
    from knobctl.changes.guards import judge
    from knobctl.changes.plan import plan_document

    with Session(settings) as session:
        selection = selection_of((), labels, where)
        repository, fleet = choose(session, paths, tenant=tenant, selection=selection)
        limits = limits_for(session, fleet)
        prepared = prepared_for(session, repository, fleet, limits, parallelism=parallelism)
        if prepared.plan is None:
            return answer_errors(session, "plan", prepared.report)
        now = session.now()
        document = plan_document(
            prepared.plan,
            made_at=now.isoformat(timespec="seconds"),
            made_by=f"knobctl {__version__}",
        )
        if out:
            _write(out, document)
        verdict = judge(
            prepared.plan.tenants, limits, managed=prepared.plan.managed, now=now, reason=None
        )
        code = ExitCode.CHANGES if exit_code and prepared.plan.changing else ExitCode.OK
        _answer(session, prepared, prepared.plan, document, verdict.refusals, code, out)
        return code


def _write(path: Path, document: dict[str, Any]) -> None:
    from knobctl.documents.files import write_atomically

    try:
        write_atomically(path, (json.dumps(document, indent=1) + "\n").encode())
    except OSError as error:
        raise UsageError(f"-o cannot write {path}: {error.strerror}") from error


def _answer(
    session: Session,
    prepared: Prepared,
    plan: Plan,
    document: dict[str, Any],
    refusals: tuple[Refusal, ...],
    code: ExitCode,
    out: Path | None,
) -> None:
    from knobctl.report.plan import plan_counts, plan_text, refusal_json

    def text() -> str:
        lines = [
            plan_text(
                plan,
                prepared.report,
                findings=findings_text(session, prepared.report),
                effective=prepared.effective,
                colored=session.settings.colored(sys.stdout),
            )
        ]
        lines += [f"apply would be refused: {one.message}" for one in refusals]
        if out:
            lines.append(
                f"plan {document['digest'][:12]} written; to apply it: knobctl apply {out}"
            )
        return "\n".join(lines)

    answer = {
        "version": 1,
        "command": "plan",
        "outcome": code.outcome,
        "exit_code": int(code),
        "summary": plan_counts(plan),
        "document": document,
        "refusals": refusal_json(refusals),
        "findings": [finding.as_json() for finding in prepared.report.findings],
    }
    session.settings.answer({"text": text, "json": lambda: json.dumps(answer, indent=2)})
