"""What both sets gave, as runs and qrels of TREC in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.evidence.private_files import write_private
from knobctl.evidence.qrels import qrels_lines, run_lines

if TYPE_CHECKING:
    from pathlib import Path

    from knobctl.evidence.simulating import Simulated


def write_runs(folder: Path, simulated: Simulated) -> None:
    """Write `run.before`, `run.after` and, where there are any, `qrels`; for their owner alone.

    A question is called what the qrels call it, and a text what they call it: the chunk, or its document.

    Raises:
        AnswerError: If the disk or the permissions do not allow it.
    """
    qrels = simulated.judged.qrels
    ranked = [(qrels.topic(one.asked.id), simulated.ranked(one)) for one in simulated.pairs]
    for side, name in enumerate(("before", "after")):
        rankings = [(topic, both[side]) for topic, both in ranked]
        lines = run_lines(rankings, tag=f"knobctl-{name}")
        write_private(folder / f"run.{name}", (line.encode() for line in lines))
    if simulated.judged.has_qrels:
        lines = qrels_lines(qrels, [one.asked.id for one in simulated.pairs])
        write_private(folder / "qrels", (line.encode() for line in lines))
