"""Planning a large repository against `git status` on the same tree: all but the engine's own answers.

Run: python -m tests.benchmarks.plan [TENANTS ...]

One tenant in a hundred is edited after the index was made; its files are read anew in every round. The
engine is served by a process of its own. What it takes to answer is measured with a bare client that
fetches the same pages and drops them, in turn with the plan and with Git. Two fleets: one with some hundred
different sets, as fleets are, and one in which nearly no two tenants have the same.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from tests.benchmarks.live import bare, filled, knobs_of
from tests.benchmarks.serving import served
from tests.benchmarks.timing import line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SIZES = (1_000, 10_000, 100_000)
KINDS = 500
"""So many different sets a usual fleet has."""
ROUNDS = 5
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
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "fleet")):
        git(root, *arguments)
    return paths


def git(root: Path, *arguments: str) -> None:
    """Run Git."""
    name = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", "-C", root, *name, *arguments], check=True, stdout=subprocess.DEVNULL)


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


def measure(folder: Path, count: int, kinds: int) -> float:
    """Print what one fleet takes; gives the seconds of our own."""
    store, root, cache = f"embedded:{folder / 'engine.db'}", folder / "repository", folder / "cache"
    filled(store, count, kinds)
    paths = repository(root, count, kinds)
    with served(store) as (url, token):
        (folder / "token").write_text(token)
        (folder / "token").chmod(0o600)
        plan = [str(Path(sys.executable).parent / "knobctl"), "plan", "--engine", url]
        plan += ["--token-file", str(folder / "token")]
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "XDG_CACHE_HOME": str(cache)}
        run(plan, root, environment)
        shutil.copytree(cache, folder / "kept")
        for path in paths[::100]:
            path.write_text(path.read_text().replace("mmr_lambda: 0.7", "mmr_lambda: 0.6"))
        taken: dict[str, list[float]] = {"git": [], "engine": [], "plan": []}
        peak = 0.0
        for _ in range(ROUNDS):
            shutil.rmtree(cache)
            shutil.copytree(folder / "kept", cache)
            taken["git"].append(seconds(lambda: git(root, "status", "--short")))
            taken["engine"].append(seconds(lambda: bare(url, token)))
            start = time.perf_counter()
            said, size = run(plan, root, environment)
            taken["plan"].append(time.perf_counter() - start)
            peak = max(peak, size)
            changed = count // 100
            assert said.startswith(f"{count:,} tenants: {changed:,} change"), said
    return tell(count, {name: statistics.median(values) for name, values in taken.items()}, peak)


def tell(count: int, taken: Mapping[str, float], peak: float) -> float:
    """Print the figures of one size beside their limits; gives the seconds of our own."""
    own = taken["plan"] - taken["engine"]
    print(
        f"{count:>8,} tenants: plan {taken['plan']:.2f} s, the engine's answers {taken['engine']:.2f} s, "
        f"git status {taken['git']:.3f} s; {own / count * 1e6:.1f} us a tenant of our own"
    )
    if count == SIZES[-1]:
        print(line(f"{count:,} tenants, of our own / git status", own / taken["git"], LIMIT))
    print(line(f"{count:,} tenants, MiB", peak, LIMIT_MIB), flush=True)
    return own


def seconds(work: Callable[[], object]) -> float:
    """How long a piece of work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Measure all sizes, or those that are named."""
    before = 0.0
    sizes = [int(word) for word in sys.argv[1:]] or SIZES
    for count in sizes:
        with tempfile.TemporaryDirectory() as folder:
            a_tenant = measure(Path(folder), count, KINDS) / count
        if before:
            print(
                line(
                    f"{count:,} tenants, a tenant beside the size before", a_tenant / before, GROWTH
                )
            )
        before = a_tenant
    print("every tenant different:")
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), sizes[-1], sizes[-1])


if __name__ == "__main__":
    main()
