"""The text in which a person edits a live set: every knob explained where it stands."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from knobctl.knobs import KnobType
from knobctl.text import spelled, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import Catalogue, Knob

WIDTH = 76


def edit_text(live: LiveSet, catalogue: Catalogue, *, where: str) -> str:
    """Write a live set as a document to be edited.

    Args:
        live: The set.
        catalogue: The knobs.
        where: The engine and revision, for people.
    """
    held = [knob for knob in catalogue if knob.name in live.knobs]
    free = [knob for knob in catalogue if knob.name not in live.knobs]
    lines = [
        f"# {live.tenant} on {visible(where)}.",
        "# Save and close to see what changes; nothing is written before you say yes.",
        "# What is left out goes back to the platform default. An empty file gives up.",
        f"tenant: {_quoted(live.tenant)}",
        "knobs:",
    ]
    for knob in held:
        lines += [*_comment(knob), f"  {knob.name}: {_literal(knob, live)}"]
    lines += ["", "# At the platform default now; take the # away to set one:"]
    for knob in free:
        lines += [*_comment(knob), f"  # {knob.name}: {spelled(knob.default)}"]
    return "\n".join(lines) + "\n"


def _quoted(tenant: str) -> str:
    """A tenant's name, as text whatever it looks like."""
    return f"'{tenant}'"


def _literal(knob: Knob, live: LiveSet) -> str:
    return spelled(live.knobs[knob.name])


def _comment(knob: Knob) -> Iterable[str]:
    unit = f", {knob.unit}" if knob.unit and knob.type is not KnobType.MODE else ""
    facts = f"{knob.range_text}{unit}; default {spelled(knob.default)}"
    if knob.zero_surprises:
        facts += "; 0 means the default"
    if knob.off:
        facts += f"; off: {knob.off}"
    wrapped = [*textwrap.wrap(knob.description, WIDTH), *textwrap.wrap(facts, WIDTH)]
    return [f"  # {line}" for line in wrapped]
