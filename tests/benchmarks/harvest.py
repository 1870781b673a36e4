"""Harvesting a transcript, per byte, against parsing each of its lines with `json.loads`.

Run: python -m tests.benchmarks.harvest [MEGABYTES]

The transcript is made: 95 % of its bytes are what tools gave back, as in real ones. Processor times, in turn,
in one process; the first turn warms up.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from knobctl.evidence.harvest.asked import Census, Names
from knobctl.evidence.harvest.harvesting import Wanted, harvest_file
from knobctl.evidence.harvest.redaction import redacted
from tests.benchmarks.timing import line
from tests.evidence.harvest.transcripts import write_session

if TYPE_CHECKING:
    from collections.abc import Callable

TURNS = 7
NAMES = Names(mcp_server="notes", cli_program="notes")


def parse_all(path: Path) -> None:
    """The peer: read and parse every line."""
    with path.open("rb") as file:
        for raw in file:
            json.loads(raw)


def harvest(path: Path) -> None:
    """Ours: find every question, secrets taken out."""
    wanted, now = Wanted(names=NAMES), datetime.now(UTC)
    for _ in harvest_file(path, "claude", wanted, Census(), modified_at=now):
        pass


def cost(work: Callable[[], object]) -> float:
    """Processor seconds."""
    started = time.process_time()
    work()
    return time.process_time() - started


def main(megabytes: int = 200) -> None:
    """Print the ratio beside its limit, and how redaction of hostile text grows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        write_session(path, megabytes << 20)
        turns = [
            (cost(lambda: parse_all(path)), cost(lambda: harvest(path))) for _ in range(TURNS + 1)
        ][1:]
        size = path.stat().st_size / 1e6
        parsed, ours = (statistics.median(column) for column in zip(*turns, strict=True))
        print(f"{size:.0f} MB: json.loads {size / parsed:.0f} MB/s, harvest {size / ours:.0f} MB/s")
        print(line("harvesting to parsing each line, a fifth", ours / parsed, 0.2))
    for unit in (
        "-----BEGIN PRIVATE KEY-----",
        "password",
        "token_",
        "a-",
        "https://a:",
        "eyJhbG.",
    ):
        small, large = (cost(partial(redacted, unit * n, Counter())) for n in (2_000, 16_000))
        print(
            f"redaction of {unit!r} 2,000 and 16,000 times: {small * 1e3:.1f} and {large * 1e3:.1f} ms"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
