"""The gate on 10,000 tenants with 15 policies of their own: check against validate, and the second run against the first.

Run: python -m tests.benchmarks.gate [COUNT]

Two fleets: one with some hundred different sets, as fleets are, and one in which every tenant's floor
differs from every other's. The policies are really asked: the first runs have a new home each, so that
nothing is remembered.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.timing import line, medians, peak_mebibytes, tenant_files

CONDITIONS = (
    "effective.retrieval_min_score > 0.4 && !('reviewed_by' in labels)",
    "effective.retrieval_vector_top_k > 95",
    "knobs.size() > 20",
    "labels.tier == 'free' && effective.assembly_max_chunks > 20",
    "role['floor.fused'] > 0.5",
    "owner == ''",
    "reach.vector_depth < 1",
    "effective.mmr_lambda < 0.2",
    "effective.rrf_k < 10",
    "'region' in labels && labels.region == 'xx'",
    "tenant.startsWith('test-')",
    "effective.ranker_timeout_ms > 5000",
    "effective.assembly_token_budget > 20000",
    "effective.dedup_min_similarity < 0.6",
    "effective.gate_min_confident < effective.gate_expanded_floor",
)


def own_policies(folder: Path) -> None:
    """Write the policies of a repository."""
    folder.mkdir()
    for number, condition in enumerate(CONDITIONS):
        (folder / f"own-{number}.yaml").write_text(
            f'policy: own-{number}\nseverity: warning\nwhen: "{condition}"\nmessage: "x {{tenant}}"\n'
            "examples: {pass: [{knobs: {}}], fail: []}\n"
        )


def different_floors(folder: Path, count: int) -> None:
    """Write tenants as `tenant_files` does, each with a floor of its own."""
    for number, path in enumerate(tenant_files(folder, count)):
        text = path.read_text()
        floor = f"0.{10 + number % 20}"
        assert floor in text
        path.write_text(text.replace(f"min_score: {floor}", f"min_score: 0.{10_000 + number}"))


def measure(name: str, folder: Path, limit: float) -> None:
    """Print the ratios of one fleet beside their limits."""
    knobctl = str(Path(sys.executable).parent / "knobctl")
    validate, check = ([knobctl, command, str(folder)] for command in ("validate", "check"))
    first = medians({"validate": validate, "check": check}, repeats=3)
    second = medians({"check": check}, repeats=3, fresh_home=False)
    print(f"{name}: validate {first['validate']:.2f} s")
    print(line("check to validate", first["check"] / first["validate"], limit))
    print(line("second check to the first", second["check"] / first["check"], 0.2))
    peak = peak_mebibytes([*check, "--no-cache"])
    print(line("memory of check in MiB", peak, 300))


def one_file(folder: Path) -> None:
    """Print what remembering costs where there is nothing to gain."""
    knobctl = str(Path(sys.executable).parent / "knobctl")
    (path,) = tenant_files(folder, 1)
    check = [knobctl, "check", str(path)]
    times = medians({"plain": [*check, "--no-cache"], "kept": check}, repeats=15)
    print(
        line("check of one file, remembered for later, to not", times["kept"] / times["plain"], 1.1)
    )


def branch(folder: Path) -> None:
    """Print what a branch that changes three tenants costs to judge."""
    knobctl = str(Path(sys.executable).parent / "knobctl")
    git = ["git", "-C", str(folder), "-c", "user.name=b", "-c", "user.email=b@b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    for number in range(3):
        path = folder / f"t{number}.yaml"
        path.write_text(path.read_text().replace("rrf_k: 60", "rrf_k: 30"))
    check = [knobctl, "check", str(folder), "--no-cache"]
    times = medians({"check": check, "base": [*check, "--base", "HEAD"]}, repeats=3)
    print(line("check --base HEAD to check", times["base"] / times["check"], 1.5))


def main() -> None:
    """Print each ratio beside its limit."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    fleets: dict[str, Callable[[Path, int], object]] = {
        "some hundred sets": tenant_files,
        "every floor different": different_floors,
    }
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_CACHE_HOME"] = f"{name}/cache"
        for number, (kind, write) in enumerate(fleets.items()):
            folder = Path(name) / str(number)
            folder.mkdir()
            write(folder, count)
            own_policies(folder / "policies")
            measure(f"{count:,} tenants, {kind}", folder, 3)
        branch(Path(name) / "0")
        (Path(name) / "one").mkdir()
        one_file(Path(name) / "one")


if __name__ == "__main__":
    main()
