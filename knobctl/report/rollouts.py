"""A push in waves, for people and machines: what is watched, and what the probes said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.changes.guard_metrics import Measure, Wave
    from knobctl.changes.rollout import Rolled, Rollout

NAMED: Final = 8
"""Tenants that are named in a line; a machine gets all."""


def rollout_text(rollout: Rollout) -> str:
    """Write what is written when, what is asked, and what leads back."""
    canary = rollout.canary
    lines = []
    for number, wave in enumerate(rollout.waves, 1):
        names = [one.tenant for one in wave]
        questions = sum(len(rollout.questions[name]) for name in names)
        lines.append(
            f"wave {number}  {count(len(names), 'tenant')} ({_named(names)}), "
            f"asked {count(questions, 'question')}, {canary.how_long}"
        )
    after = sum(bool(one.changes) for one in rollout.rest)
    lines.append(
        f"then    {count(after, 'tenant')}" if after else "then    nothing: no tenant is left"
    )
    lines += [
        f"back    all of it, where a tenant loses more than {canary.max_worse} of its answers, or where below_threshold",
        f"        or empty contexts grow by more than {canary.max_worse} of its questions",
    ]
    return "\n".join(lines)


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(map(visible, names[:NAMED]))
    return shown if len(names) <= NAMED else f"{shown}, ..."


def rolled_text(rolled: Rolled, *, foreseen: bool) -> str:
    """Write what the probes said of each wave, and why it was taken back.

    Args:
        rolled: What became of the waves.
        foreseen: Whether nothing was written, and the planned sets were asked.
    """
    lines = [
        line
        for number, wave in enumerate(rolled.waves, 1)
        for line in _wave_lines(number, wave, foreseen)
    ]
    if rolled.taken_back:
        lines.append(f"taken back: {visible(rolled.taken_back)}")
    return "\n".join(lines)


def _wave_lines(number: int, wave: Wave, foreseen: bool) -> list[str]:
    verdict = wave.verdict
    if foreseen:
        verdict = "would be taken back" if wave.breaches else "would hold"
    said = ", ".join(map(_measure_words, wave.totals))
    asked = f" (asked {count(wave.rounds, 'time')})" if wave.rounds and not foreseen else ""
    lines = [f"wave {number}  {verdict}{f': {said}{asked}' if said else ''}"]
    return lines + ([f"  {visible(wave.why)}"] if foreseen and wave.why else [])


def _measure_words(one: Measure) -> str:
    if one.metric == "answers_lost":
        return f"{one.after:,} of {count(one.questions, 'answer')} lost"
    name = "below_threshold" if one.metric == "below_threshold" else "empty contexts"
    return f"{name} {one.before:,} -> {one.after:,} of {one.questions:,}"


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
        "bake_s": canary.bake_s,
        "max_worse": canary.max_worse,
        "waves": [
            _wave_json(names, waves[index] if index < len(waves) else None, rollout)
            for index, names in enumerate([one.tenant for one in wave] for wave in rollout.waves)
        ],
        "rest": sum(bool(one.changes) for one in rollout.rest),
        "taken_back": rolled.taken_back if rolled else None,
    }


def _wave_json(names: Sequence[str], wave: Wave | None, rollout: Rollout) -> dict[str, Any]:
    return {
        "tenants": list(names),
        "questions": sum(len(rollout.questions[name]) for name in names),
        "verdict": wave.verdict.replace(" ", "_") if wave else "not_begun",
        "rounds": wave.rounds if wave else 0,
        "metrics": [one.as_json() for one in wave.totals] if wave else [],
        "breaches": [{"tenant": name, **one.as_json()} for name, one in wave.breaches]
        if wave
        else [],
    }
