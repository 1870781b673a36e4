"""A push in waves, for people and machines: what is watched, and what the probes said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knobctl.changes.guard_metrics import WaveVerdict, breach_words
from knobctl.changes.waves import duration
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.changes.guard_metrics import Measure, Wave
    from knobctl.changes.rollout import Rolled, Rollout
    from knobctl.changes.waves import Group

NAMED: Final = 8
"""Tenants that are named in a line; a machine gets all."""
WORST: Final = 5
"""Breaches that are written out of each wave; a machine gets all."""


def rollout_text(rollout: Rollout) -> str:
    """Write what is written when, what is asked, and what leads back."""
    canary = rollout.canary
    lines = [_group_line(number, group, rollout) for number, group in enumerate(rollout.groups, 1)]
    lines += [f"nobody  no tenant that changes has {visible(label)}" for label in rollout.nobody]
    behind = rollout.behind
    lines.append(
        f"then    {count(behind, 'tenant')}, not watched"
        if behind
        else "then    nothing: no tenant is left"
    )
    lines += [
        f"back    all of it, where a tenant loses more than {canary.max_worse} of its answers, or where below_threshold",
        f"        or empty contexts grow by more than {canary.max_worse} of its questions",
    ]
    return "\n".join(lines)


def _group_line(number: int, group: Group, rollout: Rollout) -> str:
    names, asked = [one.tenant for one in group.tenants], rollout.watched(group)
    whom = "" if asked == len(names) else f"{asked:,} of them "
    how_long = rollout.canary.how_long
    if rollout.begun and number <= rollout.begun.judged:
        how_long = "once more: it was found well before"
    return (
        f"wave {number}  {visible(group.name)}: {count(len(names), 'tenant')} ({_named(names)}), "
        f"{whom}asked {count(rollout.asked(group), 'question')}, {how_long}"
    )


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(map(visible, names[:NAMED]))
    return shown if len(names) <= NAMED else f"{shown}, ..."


def rolled_text(rolled: Rolled, *, foreseen: bool) -> str:
    """Write what the probes said of each wave, and why it was taken back.

    Args:
        rolled: What became of the waves.
        foreseen: Whether nothing was written, and the planned sets were asked.
    """
    if foreseen and rolled.rollout:
        return "\n".join(_foreseen_lines(rolled, rolled.rollout))
    lines = [
        f"wave {number}  {wave.verdict.value}{_said(wave)}"
        for number, wave in enumerate(rolled.waves, 1)
    ]
    if rolled.taken_back:
        lines.append(f"taken back: {visible(rolled.taken_back)}")
    return "\n".join(lines)


def _said(wave: Wave) -> str:
    said = ", ".join(map(_measure_words, wave.totals))
    return f": {said} (asked {count(wave.rounds, 'time')})" if said else ""


def _measure_words(one: Measure) -> str:
    if one.metric == "answers_lost":
        return f"{one.after:,} of {count(one.questions, 'answer')} lost"
    name = "below_threshold" if one.metric == "below_threshold" else "empty contexts"
    return f"{name} {one.before:,} -> {one.after:,} of {one.questions:,}"


def _foreseen_lines(rolled: Rolled, rollout: Rollout) -> list[str]:
    """A wave a line in columns, what speaks against it below, and at the end what it comes to."""
    stop = next((at for at, wave in enumerate(rolled.waves) if wave.breaches), None)
    lines = ["", "simulated: the probes were asked under the planned sets, nothing was written"]
    width = max(len(visible(wave.name)) for wave in rolled.waves)
    for at, wave in enumerate(rolled.waves):
        verdict = "would be taken back" if wave.breaches else "would hold"
        if stop is not None and at > stop:
            verdict = "not reached" if not wave.breaches else "not reached, worse"
        said = ", ".join(map(_measure_words, wave.totals))
        lines.append(f"wave {at + 1}  {visible(wave.name):{width}}  {verdict:19}  {said}")
        lines += _breach_lines(wave, rollout.canary.max_worse)
    return [*lines, _comes_to(rolled, rollout, stop)]


def _breach_lines(wave: Wave, max_worse: str) -> list[str]:
    """The worst metric of each tenant that is answered worse."""
    worst = dict(reversed(wave.breaches))
    names = list(dict.fromkeys(name for name, _ in wave.breaches))
    lines = [f"  {visible(breach_words(name, worst[name], max_worse))}" for name in names[:WORST]]
    more = len(names) - WORST
    return [*lines, f"  and {count(more, 'tenant')} more"] if more > 0 else lines


def _comes_to(rolled: Rolled, rollout: Rollout, stop: int | None) -> str:
    waves = rolled.waves if stop is None else rolled.waves[: stop + 1]
    written = sum(len(wave.tenants) for wave in waves)
    if stop is None:
        bake = duration(rollout.canary.bake_s * len(waves))
        watching = (
            f"{count(written, 'tenant')} in {count(len(waves), 'wave')}, watched for {bake} in all"
        )
        behind = f"; then {count(rollout.behind, 'tenant')}, not watched" if rollout.behind else ""
        return f"comes to: {watching}{behind}"
    never = sum(len(group.tenants) for group in rollout.groups) + rollout.behind - written
    back = (
        f"comes to: stopped in wave {stop + 1}; {count(written, 'tenant')} written and taken back"
    )
    return f"{back}, {count(never, 'tenant')} never written" if never else back


def rollout_json(rollout: Rollout, rolled: Rolled | None) -> dict[str, Any]:
    """The part of machine-readable output that tells of the waves.

    Args:
        rollout: What was asked for.
        rolled: What became of it; None where nothing was begun.
    """
    canary = rollout.canary
    waves = rolled.waves if rolled else ()
    return {
        "canary": list(canary.sizes),
        "wave": list(canary.labels),
        "nobody": list(rollout.nobody),
        "watch": canary.most,
        "bake_s": canary.bake_s,
        "max_worse": canary.max_worse,
        "waves": [
            _wave_json(group, waves[index] if index < len(waves) else None, rollout)
            for index, group in enumerate(rollout.groups)
        ],
        "rest": rollout.behind,
        "taken_back": rolled.taken_back if rolled else None,
    }


def _wave_json(group: Group, wave: Wave | None, rollout: Rollout) -> dict[str, Any]:
    return {
        "name": group.name,
        "tenants": [one.tenant for one in group.tenants],
        "watched": rollout.watched(group),
        "questions": rollout.asked(group),
        "verdict": (wave.verdict if wave else WaveVerdict.NOT_BEGUN).value.replace(" ", "_"),
        "rounds": wave.rounds if wave else 0,
        "metrics": [one.as_json() for one in wave.totals] if wave else [],
        "breaches": [{"tenant": name, **one.as_json()} for name, one in wave.breaches]
        if wave
        else [],
    }
