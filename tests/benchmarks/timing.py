"""Times whole processes in turn, so that a ratio holds although the machine drifts."""

import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


def medians(
    commands: Mapping[str, Sequence[str]], *, repeats: int, fresh_home: bool = True
) -> dict[str, float]:
    """Median wall time of each command in seconds, the commands run in turn.

    Args:
        commands: By name, what to run. Each must exit 0.
        repeats: Rounds that count; one more warms up.
        fresh_home: Give each run a new home, so that nothing kept from an earlier run helps.
    """
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(repeats + 1):
        for name, command in commands.items():
            with tempfile.TemporaryDirectory() as home:
                environment = {"PATH": "/usr/bin:/bin", "HOME": home} if fresh_home else None
                start = time.perf_counter()
                subprocess.run(
                    command,
                    check=True,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    env=environment,
                )
                if turn:
                    times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def peak_mebibytes(command: Sequence[str]) -> float:
    """The largest resident size of a command, children not counted, in MiB."""
    import os

    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss / 1024


def line(name: str, ratio: float, limit: float) -> str:
    """One result: what was compared, the ratio, the limit, and whether it holds."""
    return (
        f"{'holds' if ratio <= limit else 'FALLS SHORT':<12}{name}: {ratio:.3f} (at most {limit})"
    )


def tenant_files(folder: Path, count: int) -> list[Path]:
    """Write tenant documents of the usual size (about a third of a kilobyte to one kilobyte)."""
    paths = []
    for number in range(count):
        path = folder / f"t{number}.yaml"
        padding = "# " + "why this tenant differs, agreed with support " * 12
        path.write_text(
            f"tenant: t{number}\nowner: search-relevance\nlabels: {{tier: enterprise, region: eu}}\n{padding}\nknobs:\n"
            f"  retrieval_min_score: 0.{10 + number % 20}\n  retrieval_vector_top_k: {10 + number % 90}\n  retrieval_bm25_top_k: 40\n"
            "  rrf_k: 60\n  gate_min_confident: 0.5\n  gate_expanded_floor: 0.3\n  assembly_max_chunks: 12\n"
            "  assembly_token_budget: 6000\n  mmr_lambda: 0.7\n  ranker_timeout_ms: 800\n"
        )
        paths.append(path)
    return paths
