"""Planning a large repository against `git status` on the same tree: all but the engine's own answers.

Run: python -m tests.benchmarks.plan [--keep FOLDER] [TENANTS ...]

One tenant in a hundred is edited after the index was made; its files are read anew in every round. The
engine is served by a process of its own. What it takes to answer is measured with a bare client that
fetches the same pages and drops them. Two fleets: one with some hundred different sets, as fleets are, and
one in which nearly no two tenants have the same.

What is our own is a difference of two times that are each ten times as long, and an engine is half as quick
again in one minute as in another. So each plan is set against the bare client just before it and just after
it, whose mean has no part in a machine that grows quicker or slower, and what is told is the median of those
differences, with the half of them that lies around it: where that is wide, the machine was not quiet. The
fleets can be kept in a folder: to make them takes longer than to measure, and leaves the disk at work.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from tests.benchmarks.live import bare, filled, knobs_of
from tests.benchmarks.serving import served
from tests.benchmarks.timing import line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

SIZES = (1_000, 10_000, 100_000)
KINDS = 500
"""So many different sets a usual fleet has."""
ROUNDS = 7
STATUS_A_ROUND = 3
"""So often Git is asked in each: it takes a thirtieth of the rest."""
LIMIT = 5.0
"""Times `git status`, at the largest size: of a small repository most is the start of the interpreter."""
GROWTH = 1.1
"""What a tenant may cost beside the size before."""
LIMIT_MIB = 500
A_FOLDER = 1_000
"""So many files lie in one folder."""


def repository(root: Path, count: int, kinds: int) -> list[Path]:
    """Commit a document for each tenant that the engine holds, just as it holds it."""
    paths = []
    for number in range(count):
        tenant = f"tenant-{number:06}"
        path = root / "tenants" / f"{number // A_FOLDER:03}" / f"{tenant}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"tenant: {tenant}\nowner: search-relevance\nlabels: {{tier: enterprise, region: eu}}\n"
            + yaml.safe_dump({"knobs": knobs_of(number % kinds)}, sort_keys=False)
        )
        paths.append(path)
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "fleet"), ("gc", "-q")):
        git(root, *arguments)
    return paths


def git(root: Path, *arguments: str) -> None:
    """Run Git, which does nothing behind anybody's back."""
    settings = ("user.name=a", "user.email=a@example.com", "gc.auto=0")
    given = [word for setting in settings for word in ("-c", setting)]
    subprocess.run(["git", "-C", root, *given, *arguments], check=True, stdout=subprocess.DEVNULL)


def run(command: Sequence[str], root: Path, environment: Mapping[str, str]) -> tuple[str, float]:
    """Run a command; what it says first, and its largest resident size in MiB."""
    process = subprocess.Popen(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return said.partition("\n")[0], usage.ru_maxrss / 1024


def made(folder: Path, count: int, kinds: int) -> None:
    """Make an engine's store and a repository of the same sets."""
    for left in folder.iterdir():  # by a run that did not come to its end
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    filled(f"embedded:{folder / 'engine.db'}", count, kinds)
    repository(folder / "repository", count, kinds)


def edit(root: Path, count: int) -> None:
    """Change one tenant in a hundred; in a tree that was measured before, they are."""
    for number in range(0, count, 100):
        path = root / "tenants" / f"{number // A_FOLDER:03}" / f"tenant-{number:06}.yaml"
        path.write_text(path.read_text().replace("mmr_lambda: 0.7", "mmr_lambda: 0.6"))


def replace(folder: Path, by: Path) -> None:
    """Let a folder hold what another one holds."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(by, folder)


def measure(folder: Path, count: int, kinds: int) -> float:
    """Print what one fleet takes; gives the seconds of our own."""
    root, cache, kept = folder / "repository", folder / "cache", folder / "kept"
    if not kept.exists():
        made(folder, count, kinds)
        kept.mkdir()
    with served(f"embedded:{folder / 'engine.db'}") as (url, token):
        (folder / "token").write_text(token)
        (folder / "token").chmod(0o600)
        plan = [str(Path(sys.executable).parent / "knobctl"), "plan", "--engine", url]
        plan += ["--token-file", str(folder / "token")]
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "XDG_CACHE_HOME": str(cache)}
        # Of a fleet that was kept, the index too: it is made anew if the program is another one by now.
        git(root, "checkout", "-q", ".")
        git(root, "status", "--short")
        replace(cache, kept)
        run(plan, root, environment)
        replace(kept, cache)
        edit(root, count)
        os.sync()
        taken: dict[str, list[float]] = {"git": [], "engine": [], "plan": []}
        peak = 0.0
        for _ in range(ROUNDS):
            replace(cache, kept)
            taken["git"] += [
                seconds(lambda: git(root, "status", "--short")) for _ in range(STATUS_A_ROUND)
            ]
            taken["engine"].append(seconds(lambda: bare(url, token)))
            start = time.perf_counter()
            said, size = run(plan, root, environment)
            taken["plan"].append(time.perf_counter() - start)
            peak = max(peak, size)
            changed = count // 100
            assert said.startswith(f"{count:,} tenants: {changed:,} change"), said
        taken["engine"].append(seconds(lambda: bare(url, token)))
    return tell(count, taken, peak)


def tell(count: int, taken: Mapping[str, Sequence[float]], peak: float) -> float:
    """Print the figures of one size beside their limits; gives the seconds of our own."""
    around = map(statistics.mean, pairwise(taken["engine"]))
    owns = [plan - engine for plan, engine in zip(taken["plan"], around, strict=True)]
    lower, own, upper = statistics.quantiles(owns, n=4, method="inclusive")
    plan, engine, status = (statistics.median(taken[name]) for name in ("plan", "engine", "git"))
    print(
        f"{count:>8,} tenants: plan {plan:.2f} s, the engine's answers {engine:.2f} s, "
        f"git status {status:.3f} s; of our own {own:.2f} s ({lower:.2f} to {upper:.2f}), "
        f"{own / count * 1e6:.1f} us a tenant"
    )
    if count == SIZES[-1]:
        print(line(f"{count:,} tenants, of our own / git status", own / status, LIMIT))
    print(line(f"{count:,} tenants, MiB", peak, LIMIT_MIB), flush=True)
    return own


def seconds(work: Callable[[], object]) -> float:
    """How long a piece of work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@contextmanager
def folder_of(fleet: str, keep: Path | None) -> Iterator[Path]:
    """Where a fleet lies: in a folder that stays, or in one that is gone afterwards."""
    if keep:
        (keep / fleet).mkdir(parents=True, exist_ok=True)
        yield keep / fleet
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)


def main() -> None:
    """Measure all sizes, or those that are named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=Path, help="where fleets are kept for the next run")
    parser.add_argument("tenants", type=int, nargs="*", default=SIZES)
    asked = parser.parse_args()
    before = 0.0
    for count in asked.tenants:
        with folder_of(f"usual-{count}", asked.keep) as folder:
            a_tenant = measure(folder, count, KINDS) / count
        if before:
            print(
                line(
                    f"{count:,} tenants, a tenant beside the size before", a_tenant / before, GROWTH
                )
            )
        before = a_tenant
    count = asked.tenants[-1]
    print("every tenant different:")
    with folder_of(f"different-{count}", asked.keep) as folder:
        measure(folder, count, count)


if __name__ == "__main__":
    main()
