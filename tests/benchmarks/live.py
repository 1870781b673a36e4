"""Reading every tenant's set against a bare client that fetches the same pages and drops their bodies.

Run: python -m tests.benchmarks.live [TENANTS ...]

Both are measured in turn in this one run against one engine in a process of its own; nearly no two tenants
have the same set. The bare client has one session, and looks for nothing in a page but where the next begins.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests

from knobctl.engine.http import LIST, HttpEngine
from knobctl.engine.network import Network
from knobctl.engine.paging import FIRST_PAGE, LARGE_PAGE
from knobctl.engine.reading import read_all
from knobctl.engine.tokens import GivenToken
from knobctl.knobs import load_catalogue
from knobctl.server.store import open_store
from knobctl.server.store.columns import ROW_COLUMNS
from knobctl.server.store.interface import KnobsRow
from knobctl.server.store.moved import SETS, moved_tables
from knobctl.server.stored import sealed
from tests.benchmarks.serving import served
from tests.benchmarks.timing import line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knobctl.engine.interface import LiveSet

SIZES = (1_000, 10_000, 100_000)
ROUNDS = 5
LIMIT_S = 0.3
"""What it may take longer than fetching and dropping."""
LIMIT_MIB = 150
"""What 100,000 sets may take of memory, once read."""
CATALOGUE = load_catalogue()
NEXT = re.compile(rb'"nextPageToken":"([^"]*)"')


def knobs_of(number: int) -> dict[str, Any]:
    """The set of one tenant: ten knobs, and nearly no two tenants alike."""
    return {
        "retrieval_min_score": round(0.1 + number % 89 / 100, 2),
        "retrieval_vector_top_k": 10 + number % 97,
        "retrieval_bm25_top_k": 40,
        "rrf_k": 1 + number % 991,
        "gate_mode": "ENABLED",
        "gate_min_confident": 0.5,
        "gate_expanded_floor": 0.3,
        "assembly_max_chunks": 12,
        "mmr_lambda": 0.7,
        "ranker_timeout_ms": 800,
    }


def rows(count: int, kinds: int) -> Iterator[tuple[Any, ...]]:
    """Sets of ten knobs each, so many of them different."""
    unset = {knob.name: knob.unset for knob in CATALOGUE}
    for number in range(count):
        row = sealed(
            KnobsRow(
                tenant=f"tenant-{number:06}",
                values=unset | knobs_of(number % kinds),
                revision=1 + number % 40,
                updated_at=f"2026-11-{1 + number % 30:02}T08:{number % 60:02}:00.000000Z",
                updated_by=f"person-{number % 30}",
                head_hash="0" * 64,
                seal="",
            ),
            CATALOGUE,
        )
        own = (getattr(row, attribute) for attribute in ROW_COLUMNS.values())
        yield (*own, *row.values.values())


def filled(url: str, count: int, kinds: int | None = None) -> None:
    """Make a store that holds that many sets; nearly all of them different, or so many."""
    table = next(table for table in moved_tables(CATALOGUE) if table.name == SETS)
    with closing(open_store(url, CATALOGUE)) as store, store.receiving() as session:
        session.put_rows(table, [*rows(count, kinds or count)])


def bare(url: str, token: str) -> None:
    """Fetch every page, and drop it."""
    session = requests.Session()
    session.trust_env = False
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    size, page_token = FIRST_PAGE, ""
    while True:
        body = json.dumps({"pageSize": size, "pageToken": page_token})
        answer = session.post(f"{url}/{LIST}", data=body, headers=headers, timeout=60)
        assert answer.status_code == 200, answer.text
        found = NEXT.search(answer.content, len(answer.content) - 200)
        if found is None:
            return
        page_token, size = found[1].decode(), LARGE_PAGE


def ours(url: str, token: str, names: list[str]) -> dict[str, LiveSet]:
    """Read every set with a client that knows nothing of the engine yet."""
    engine = HttpEngine(
        url, CATALOGUE, tokens=GivenToken(token, "here"), network=Network(), notice=print
    )
    with closing(engine):
        live = read_all(engine, names)
    assert len(live) == len(names)
    return live


def mebibytes(url: str, token: str, names: list[str]) -> float:
    """What the sets take of memory once they are read."""
    tracemalloc.start()
    live = ours(url, token, names)
    taken = tracemalloc.get_traced_memory()[0] / 2**20
    tracemalloc.stop()
    assert live
    return taken


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """The seconds that a piece of work takes, and those that it keeps a processor of the client busy."""
    start, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - busy


def measure(folder: Path, count: int) -> None:
    """Print what reading that many costs beside fetching them."""
    store = f"embedded:{folder / f'{count}.db'}"
    filled(store, count)
    names = [f"tenant-{number:06}" for number in range(count)]
    fetched, read = [], []
    with served(store) as (url, token):
        for turn in range(ROUNDS + 1):
            both = timed(lambda: bare(url, token)), timed(lambda: ours(url, token, names))
            if turn:
                fetched.append(both[0])
                read.append(both[1])
        taken = mebibytes(url, token, names)
    # The quickest round of each: what else the machine does is no part of either.
    for number, what in enumerate(("", " of a processor")):
        fetching, reading = (min(one[number] for one in rounds) for rounds in (fetched, read))
        print(
            f"{count:,} tenants: fetched in {fetching:.2f} s{what}, read in {reading:.2f} s{what}"
        )
    over = min(seconds for seconds, _ in read) - min(seconds for seconds, _ in fetched)
    print(line(f"seconds over the bare client, {count:,} tenants", over, LIMIT_S))
    print(line(f"MiB that {count:,} sets take", taken, LIMIT_MIB * max(count, 1000) / 100_000))


def main() -> None:
    """Measure each size of the command line."""
    counts = [int(argument) for argument in sys.argv[1:]] or SIZES
    with tempfile.TemporaryDirectory() as name:
        for count in counts:
            measure(Path(name), count)


if __name__ == "__main__":
    main()
