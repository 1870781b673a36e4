"""One question asked of a tenant's engine twice: under its live set, and under its draft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knobctl.changes.asking_both import ask_both
from knobctl.changes.diff import diff_sets
from knobctl.report.sets import revision_words
from knobctl.text import joined, spelled
from knobctl.tui.draft import understand
from knobctl.tui.judging import TenantJudge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.diagnosis.side_by_side import SideBySide
    from knobctl.engine.interface import LiveSet
    from knobctl.tui.draft import Understood
    from knobctl.tui.workplace import Workplace


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Both answers to one question, and of which sets they are."""

    question: str
    found: SideBySide
    revision: str
    other: str
    """What the other side is: `draft`, or `files` where nothing is edited."""
    edits: int
    alike: bool
    remarks: tuple[str, ...]
    """What was not asked as it stands."""
    proposed: tuple[str, ...] = ()
    """What the other set changes, as assignments: `rrf_k=70`."""


def answered_both(workplace: Workplace, tenant: str, question: str) -> Answered:
    """Ask it, of the draft as it is kept by now.

    Raises:
        NotOfferedError: If the engine does not evaluate.
        EngineError: If it cannot be asked, refuses, or answers nonsense.
    """
    engine, live = workplace.engine, workplace.read(tenant)
    judge = TenantJudge(workplace.subject(tenant), live, workplace.today())
    draft = workplace.draft(tenant) or judge.draft(workplace.engine_key)
    catalogue, understood = judge.catalogue, understand(draft, judge.catalogue)
    desired = understood.desired
    return Answered(
        question=question,
        found=ask_both(
            engine, tenant, question, catalogue=catalogue, live=live.knobs, draft=desired
        ),
        revision=revision_words(live),
        other="draft" if draft.entries else "files",
        edits=len(understood.edited),
        alike=dict(live.knobs) == dict(desired),
        remarks=tuple(_remarks(understood, live)),
        proposed=tuple(
            f"{change.knob}={spelled(change.after)}"
            for change in diff_sets(catalogue, live.knobs, desired)
            if change.after is not None
        ),
    )


def _remarks(understood: Understood, live: LiveSet) -> Iterator[str]:
    if understood.faults:
        yield f"! {joined(understood.faults)} in the draft is no value: asked without it"
    if live.unknown:
        yield f"! the live set holds what is not sent: {joined(sorted(live.unknown))}"
