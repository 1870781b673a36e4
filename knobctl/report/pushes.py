"""A push for people and machines: what is about to be done, and what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knobctl.changes.guard_metrics import WaveVerdict
from knobctl.changes.outcomes import Outcome
from knobctl.errors import ExitCode
from knobctl.report.files import files_json, files_text
from knobctl.report.outcomes import naming, outcome_text, outcomes_json
from knobctl.report.plan import plan_counts, plan_text, refusal_json
from knobctl.report.rollouts import rolled_text, rollout_json, rollout_text
from knobctl.text import count, visible

if TYPE_CHECKING:
    from datetime import datetime

    from knobctl.changes.proposal import Done, Proposal


def proposal_text(
    proposal: Proposal, *, findings: str, colored: bool, everything: bool = False
) -> str:
    """Write what consent is about: the plan, then the edits of files.

    Args:
        proposal: The push.
        findings: What the checks say, as text.
        colored: Whether colour may be used.
        everything: Whether to show every tenant, however many there are.
    """
    parts = []
    if proposal.plan.looked_at:
        parts.append(
            plan_text(
                proposal.plan,
                proposal.report,
                findings=findings,
                effective=proposal.effective,
                colored=colored,
                everything=everything,
            )
        )
    elif findings:
        parts.append(findings.rstrip("\n"))
    parts += [files_text(proposal.files, colored=colored)] if proposal.files else []
    parts += ["", rollout_text(proposal.rollout)] if proposal.rollout else []
    return "\n".join(parts)


def question(proposal: Proposal) -> str:
    """Ask for consent, in the plan's own numbers."""
    what = []
    if changing := proposal.plan.changing:
        what.append(f"Push {count(len(changing), 'tenant')} to {visible(proposal.plan.engine)}")
    if proposal.files:
        what.append(f"{'edit' if what else 'Edit'} {count(len(proposal.files), 'file')}")
    return f"{' and '.join(what)}?"


def done_text(  # noqa: PLR0913  all that the last lines say
    shown: str,
    done: Done,
    *,
    now: datetime,
    colored: bool,
    place: str,
    unchanged: int,
    everything: bool = False,
) -> str:
    """Write the whole answer: what was shown before, then what was done.

    Args:
        shown: What was shown.
        done: What was done.
        now: For ages.
        colored: Whether colour may be used.
        place: Options that lead another command to the same engine, to be appended.
        unchanged: Tenants that need no change and are counted only.
        everything: Whether to show every tenant, however many there are.
    """
    parts = [shown] if shown else []
    parts += [rolled_text(done.rolled, foreseen=done.dry_run)] if done.rolled else []
    if done.dry_run:
        parts.append("dry run: nothing was written")
    elif any(one.outcome is not Outcome.UNCHANGED for one in done.outcomes):
        parts.append(
            outcome_text(
                done.outcomes,
                elapsed_s=done.elapsed_s,
                now=now,
                colored=colored,
                place=place,
                run=done.run,
                unchanged=unchanged,
                everything=everything,
            )
        )
    parts += [f"edited  {visible(edit.name)}" for edit in done.edited]
    return "\n".join(parts) + "\n"


def how_to_go_on(proposal: Proposal, done: Done, place: str) -> str | None:
    """Say how to go on where a run did not do all that it was asked to.

    Args:
        proposal: What was asked for.
        done: What was done.
        place: Options that lead another command to the same engine, to be appended.
    """
    reviewed = proposal.report is None
    resume = f"knobctl apply --resume {done.run}{place}" if done.can_be_resumed else None
    match done.code:
        case ExitCode.CONFLICT:
            how = "and review the new plan" if reviewed else f"by running {proposal.command} again"
            return f"plan again {how}; nothing was written."
        case ExitCode.UNKNOWN:
            look = f"look before going on: {_look(proposal, done, place)}"
            return f"{look}; then: {resume}" if resume else look
        case ExitCode.PARTIAL if proposal.command == "rollback" and done.left:
            return f"to go on with the others: {naming('knobctl rollback', done.left)}{place}"
        case ExitCode.PARTIAL if reviewed and resume is None:
            return "plan again for what is left: knobctl plan -o FILE"
        case ExitCode.PARTIAL if proposal.command == "apply" and resume is None:
            return "apply again to go on: it writes only what still differs."
        case _:
            return f"to go on: {resume}" if resume else None


def after_waves(done: Done, place: str) -> str | None:
    """Say how to go on after a canary that was not judged to its end, or was not taken back whole.

    Args:
        done: What was done.
        place: Options that lead another command to the same engine, to be appended.
    """
    if done.rolled is None:
        return None
    resume = f"knobctl apply --resume {done.run}{place}"
    if done.rolled.taken_back:
        if done.can_be_resumed:
            return f"to take back the rest: {resume}"
        stuck = done.rolled.stuck
        return (
            f"look at what was not taken back: {naming('knobctl get', stuck)}{place}"
            if stuck
            else None
        )
    if any(wave.verdict is WaveVerdict.INTERRUPTED for wave in done.rolled.waves):
        return (
            "a wave that is written was not judged to its end. To go on, which judges it again first: "
            f"{resume}; to go back: the command after undo"
        )
    if done.code is ExitCode.ENGINE:
        return "nothing was written; to go on, run the same command again."
    return None


def _look(proposal: Proposal, done: Done, place: str) -> str:
    """The commands that show what tenants of unknown outcome hold, and who wrote it where that is kept."""
    unknown = [one.tenant for one in done.outcomes if one.outcome is Outcome.UNKNOWN]
    dated = any(one.base_revision is not None for one in proposal.plan.tenants)
    commands = ["knobctl get", "knobctl history"] if dated else ["knobctl get"]
    return ", ".join(f"{naming(command, unknown)}{place}" for command in commands)


def done_json(proposal: Proposal, done: Done) -> dict[str, Any]:
    """The machine-readable answer."""
    changes = {tenant.tenant: tenant.changes for tenant in proposal.plan.tenants}
    document = outcomes_json(done.outcomes, proposal.plan)
    for entry in document["tenants"]:
        entry["changes"] = [change.as_json() for change in changes.get(entry["tenant"], ())]
    report = proposal.report
    return {
        "version": 1,
        "command": proposal.command,
        "outcome": done.code.outcome,
        "exit_code": int(done.code),
        "engine": proposal.plan.engine,
        "fleet": proposal.plan.fleet,
        "dry_run": done.dry_run,
        "run": done.run,
        "summary": plan_counts(proposal.plan, report),
        **document,
        "files": files_json(proposal.files, written=done.edited),
        "refusals": refusal_json(done.refusals),
        "findings": [one.as_json() for one in report.findings] if report else [],
        **({"rollout": rollout_json(proposal.rollout, done.rolled)} if proposal.rollout else {}),
        **proposal.facts,
    }
