"""Sweeping a million rows over fifty floors, against one numpy sort of their scores.

Run: python -m tests.benchmarks.sweep [ROWS]
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from knobctl.evidence.sweep import Rows, judged_sweep, refusal_curve
from tests.benchmarks.timing import line

if TYPE_CHECKING:
    from collections.abc import Callable

TURNS = 9


def cost(work: Callable[[], object]) -> float:
    """Processor seconds."""
    started = time.process_time()
    work()
    return time.process_time() - started


def main(size: int = 1_000_000) -> None:
    """Print the ratio beside its limit: refusal curve and judged sweep together to one sort."""
    chance = np.random.default_rng(1)
    rows = Rows(
        scores=chance.random(size),
        labels=chance.integers(0, 4, size).astype(np.int8),
        source_of=chance.integers(0, 4, size).astype(np.int8),
        sources=("mcp_query", "cli_query", "question_list", "user_prompt"),
    )
    floors = [float(floor) for floor in np.linspace(0.02, 0.98, 50)]

    def sweep() -> None:
        refusal_curve(rows, floors)
        judged_sweep(rows, floors)

    turns = [(cost(lambda: np.sort(rows.scores)), cost(sweep)) for _ in range(TURNS + 1)][1:]
    sort, ours = (statistics.median(column) for column in zip(*turns, strict=True))
    print(f"{size:,} rows: sort {sort * 1e3:.0f} ms, sweep {ours * 1e3:.0f} ms")
    print(line("both sweeps to one sort", ours / sort, 3))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
