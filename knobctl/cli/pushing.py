"""The one way in which every command writes: guards, the plan shown, consent, writes, the answer."""

from __future__ import annotations

import json
import secrets
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from knobctl.changes.apply import OnConflict, Push, apply_plan
from knobctl.changes.guards import judge, read_allowances
from knobctl.changes.limits import Limits
from knobctl.changes.outcomes import Outcome, TenantOutcome, exit_code
from knobctl.cli.choosing import findings_text
from knobctl.cli.consent import confirmed, require_consent
from knobctl.cli.stopping import stopping_on_signals
from knobctl.errors import ExitCode, KnobctlError, RefusedError, gravest
from knobctl.report.files import files_json, files_text
from knobctl.report.outcomes import outcome_text, outcomes_json
from knobctl.report.plan import plan_counts, plan_text, refusal_json, refusal_words
from knobctl.report.progress import progress
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knobctl.changes.file_edits import FileEdit
    from knobctl.changes.guards import Refusal, Verdict
    from knobctl.changes.plan import Plan
    from knobctl.checks.report import Report
    from knobctl.cli.session import Session
    from knobctl.documents.model import Effective

F = TypeVar("F", bound="Callable[..., Any]")
DEFAULT_PARALLELISM = 4
MOST_WORKERS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class PushOptions:
    """What a writing command's own options say."""

    yes: bool = False
    reason: str | None = None
    allow: tuple[str, ...] = ()
    dry_run: bool = False
    on_conflict: str = "stop"
    parallelism: int = DEFAULT_PARALLELISM


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """A push about to be made: the plan and what is known about it."""

    command: str
    plan: Plan
    limits: Limits
    needs_consent: bool
    """Whether somebody must say yes, on the terminal or by `--yes`."""
    report: Report | None = None
    effective: Mapping[str, Effective] | None = None
    files: Sequence[FileEdit] = ()
    """Files to be edited with it."""
    left_out: Sequence[TenantOutcome] = ()
    """Tenants of the plan that moved since it was made and are left alone."""
    facts: Mapping[str, Any] | None = None
    """What the command adds to its machine-readable answer."""


def consent_options(function: F) -> F:
    """Give a command `--yes`, `--reason` and `--allow`."""
    options = [
        click.option(
            "--yes",
            is_flag=True,
            envvar="KNOBCTL_YES",
            help="Consent, resets included; without a terminal it is needed.",
        ),
        click.option(
            "--reason",
            metavar="TEXT",
            envvar="KNOBCTL_REASON",
            help="Why; goes into the audit event.",
        ),
        click.option(
            "--allow",
            multiple=True,
            metavar="GUARD=VALUE",
            help="Acknowledge what a refusal named; repeatable, recorded in the reason.",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def parallelism_option(function: F) -> F:
    """Give a command `--parallelism`."""
    return click.option(
        "--parallelism",
        type=click.IntRange(1, MOST_WORKERS),
        default=DEFAULT_PARALLELISM,
        envvar="KNOBCTL_PARALLELISM",
        show_default=True,
        metavar="N",
        help="Tenants read and written at a time.",
    )(function)


def push(session: Session, pushed: Pushed, options: PushOptions) -> ExitCode:
    """Guard, show, ask, write, answer.

    Returns:
        The exit code by the precedence of the contract.

    Raises:
        RefusedError: If a guard stops the push or nobody consents; nothing was written.
    """
    verdict = _judge(session, pushed, options)
    if verdict.refusals:
        _refuse(session, pushed, verdict)
    shown = _shown(session, pushed)
    if options.dry_run or not (pushed.plan.changing or pushed.files):
        return _answer_unbegun(session, pushed, shown, dry_run=options.dry_run)
    asking = pushed.needs_consent and not options.yes
    _show(session, shown, asking=asking)
    if asking:
        _ask(pushed)
    started = time.monotonic()
    outcomes, interrupted = _carry_out(session, pushed, options, verdict)
    elapsed_s = time.monotonic() - started
    code = exit_code(outcomes, interrupted)
    edited, faults = _write_files(pushed.files, outcomes, code)
    if faults:
        code = gravest([code, ExitCode.PARTIAL if pushed.plan.changing else ExitCode.REFUSED])
    done = _Done(outcomes=outcomes, code=code, edited=edited, elapsed_s=elapsed_s)
    _answer(session, pushed, done, shown)
    for fault in faults:
        click.echo(f"error: {visible(fault)}", err=True)
    _advise(session, code)
    return code


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """What was done, to be answered."""

    outcomes: Sequence[TenantOutcome]
    code: ExitCode
    edited: Sequence[FileEdit] = ()
    elapsed_s: float | None = None
    dry_run: bool = False
    refusals: Sequence[Refusal] = ()


def answer_outcomes(session: Session, plan: Plan, conflicts: Sequence[TenantOutcome]) -> None:
    """Answer for a plan that is not begun, since some of its tenants moved."""
    moved = {one.tenant for one in conflicts}
    rest = [one for one in _unbegun(plan) if one.tenant not in moved]
    outcomes = sorted([*conflicts, *rest], key=lambda one: one.tenant)
    pushed = Pushed(command="apply", plan=plan, limits=Limits(), needs_consent=False)
    _answer(session, pushed, _Done(outcomes=outcomes, code=ExitCode.CONFLICT), "")


def _judge(session: Session, pushed: Pushed, options: PushOptions) -> Verdict:
    return judge(
        pushed.plan.tenants,
        pushed.limits,
        managed=pushed.plan.managed,
        now=session.now(),
        reason=options.reason,
        allowances=read_allowances(options.allow),
    )


def _refuse(session: Session, pushed: Pushed, verdict: Verdict) -> NoReturn:
    message, hint = refusal_words(verdict.refusals)
    if session.settings.format == "json" or session.settings.outputs:
        done = _Done(
            outcomes=_unbegun(pushed.plan), code=ExitCode.REFUSED, refusals=verdict.refusals
        )
        document = _document(pushed, done)
        session.settings.answer(
            {"text": lambda: message, "json": lambda: json.dumps(document, indent=2)}
        )
    raise RefusedError(message, hint=hint)


def _shown(session: Session, pushed: Pushed) -> str:
    """The plan and the file edits as text: what consent is about."""
    colored = session.settings.colored(sys.stdout)
    parts = []
    if pushed.plan.tenants:
        findings = findings_text(session, pushed.report) if pushed.report else ""
        parts.append(
            plan_text(
                pushed.plan,
                pushed.report,
                findings=findings,
                effective=pushed.effective,
                colored=colored,
            )
        )
    parts += [files_text(pushed.files, colored=colored)] if pushed.files else []
    return "\n".join(parts)


def _show(session: Session, text: str, *, asking: bool) -> None:
    """Show what is about to be done, before it is done: on stdout where text is the answer."""
    if session.settings.format == "text":
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
        if not asking or sys.stdout.isatty():
            return
    if asking:
        click.echo(text, err=True)
    else:
        session.settings.say(text)


def _ask(pushed: Pushed) -> None:
    require_consent(yes=False, what=pushed.limits.consent_required or pushed.command)
    if not confirmed(_question(pushed)):
        raise RefusedError("not confirmed; nothing was written.")


def _question(pushed: Pushed) -> str:
    changing = pushed.plan.changing
    what = []
    if changing:
        what.append(f"Push {count(len(changing), 'tenant')} to {visible(pushed.plan.engine)}")
    if pushed.files:
        what.append(f"{'edit' if what else 'Edit'} {count(len(pushed.files), 'file')}")
    return f"{' and '.join(what)}?"


def _carry_out(
    session: Session, pushed: Pushed, options: PushOptions, verdict: Verdict
) -> tuple[list[TenantOutcome], ExitCode | None]:
    """Write; the outcomes by tenant, and the code of the signal that stopped the run, if one did."""
    if not pushed.plan.changing:
        return [*pushed.left_out, *_unbegun(pushed.plan)], None
    with (
        stopping_on_signals() as stopping,
        progress(
            len(pushed.plan.tenants), "writing", sys.stderr, wanted=not session.settings.quiet
        ) as step,
    ):
        way = Push(
            engine=session.engine,
            catalogue=session.catalogue,
            reason=verdict.reason(options.reason),
            pause=time.sleep,
            run=secrets.token_hex(4),
            parallelism=options.parallelism,
            on_conflict=OnConflict(options.on_conflict),
            stop=stopping.requested,
        )
        written = apply_plan(pushed.plan.tenants, way, lambda _: step())
    return sorted([*pushed.left_out, *written], key=lambda one: one.tenant), stopping.code


def _write_files(
    files: Sequence[FileEdit], outcomes: Sequence[TenantOutcome], code: ExitCode
) -> tuple[list[FileEdit], list[str]]:
    """Edit the files whose tenants now hold what they shall; the edits made, and what went wrong."""
    held = {one.tenant for one in outcomes if one.outcome in {Outcome.APPLIED, Outcome.UNCHANGED}}
    edited, faults = [], []
    for edit in files:
        if not outcomes or held.issuperset(edit.tenants):
            try:
                edit.write()
                edited.append(edit)
            except KnobctlError as error:
                faults.append(error.message)
        else:
            faults.append(f"{edit.name} was not edited: not all of its tenants were written")
    return edited, faults if code is ExitCode.OK or faults else []


def _unbegun(plan: Plan, message: str | None = None) -> list[TenantOutcome]:
    return [
        TenantOutcome(
            tenant=tenant.tenant,
            outcome=Outcome.SKIPPED if tenant.changes else Outcome.UNCHANGED,
            revision=None if tenant.changes else tenant.base_revision,
            message=message if tenant.changes else None,
        )
        for tenant in plan.tenants
    ]


def _answer_unbegun(session: Session, pushed: Pushed, shown: str, *, dry_run: bool) -> ExitCode:
    outcomes = [*pushed.left_out, *_unbegun(pushed.plan, "dry run" if dry_run else None)]
    code = exit_code(pushed.left_out)
    _answer(session, pushed, _Done(outcomes=outcomes, code=code, dry_run=dry_run), shown)
    return code


def _answer(session: Session, pushed: Pushed, done: _Done, shown: str) -> None:
    colored = session.settings.colored(sys.stdout)

    def text() -> str:
        parts = [shown] if shown else []
        if done.dry_run:
            parts.append("dry run: nothing was written")
        elif any(one.outcome is not Outcome.UNCHANGED for one in done.outcomes):
            parts.append(
                outcome_text(
                    done.outcomes, elapsed_s=done.elapsed_s, now=session.now(), colored=colored
                )
            )
        parts += [f"edited  {visible(edit.name)}" for edit in done.edited]
        return "\n".join(parts) + "\n"

    document = _document(pushed, done)
    began = done.elapsed_s is not None and session.settings.format == "text"
    session.settings.answer(
        {"text": text, "json": lambda: json.dumps(document, indent=2)},
        printed=f"{shown}\n" if began else "",
    )


def _advise(session: Session, code: ExitCode) -> None:
    """Say how to go on where a run did not do all that it was asked to."""
    match code:
        case ExitCode.CONFLICT:
            session.settings.say("plan again and review the new plan; nothing was written.")
        case ExitCode.PARTIAL:
            session.settings.say("apply again to go on: it writes only what still differs.")
        case ExitCode.UNKNOWN:
            session.settings.say("look before going on: knobctl get TENANT, knobctl history TENANT")
        case _:
            return


def _document(pushed: Pushed, done: _Done) -> dict[str, Any]:
    changes = {tenant.tenant: tenant.changes for tenant in pushed.plan.tenants}
    document = outcomes_json(done.outcomes)
    for entry in document["tenants"]:
        entry["changes"] = [change.as_json() for change in changes.get(entry["tenant"], ())]
    return {
        "version": 1,
        "command": pushed.command,
        "outcome": done.code.outcome,
        "exit_code": int(done.code),
        "engine": pushed.plan.engine,
        "fleet": pushed.plan.fleet,
        "dry_run": done.dry_run,
        "summary": plan_counts(pushed.plan),
        **document,
        "files": files_json(pushed.files, written=done.edited),
        "refusals": refusal_json(done.refusals),
        "findings": [one.as_json() for one in pushed.report.findings] if pushed.report else [],
        **(pushed.facts or {}),
    }
