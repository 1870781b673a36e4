"""The wheel, used as a stranger would use it: outside the checkout."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds what the wheel holds, and nothing of the checkout."""
    place = tmp_path_factory.mktemp("wheel")
    for arguments in (
        ["wheel", "-q", "--no-deps", "-w", str(place / "dist"), str(ROOT)],
        [
            "install",
            "-q",
            "--no-deps",
            "--target",
            str(place / "site"),
            "--find-links",
            str(place / "dist"),
            "--no-index",
            "knobctl",
        ],
    ):
        subprocess.run([sys.executable, "-m", "pip", *arguments], check=True, capture_output=True)
    return place / "site"


def run(installed: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the installed knobctl in a folder, with a home of its own."""
    home = {
        f"XDG_{name}_HOME": str(cwd / f".{name}") for name in ("DATA", "CONFIG", "STATE", "CACHE")
    }
    return subprocess.run(
        [sys.executable, "-c", "from knobctl.cli.main import main; main()", *arguments],
        cwd=cwd, env={**os.environ, **home, "PYTHONPATH": str(installed)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_schemas_and_policies_are_inside(installed: Path) -> None:
    """Every schema and policy of the checkout is in the wheel, byte for byte."""
    for folder in ("schemas", "policies"):
        names = {path.name for path in (ROOT / folder).iterdir() if path.is_file()}
        assert names
        inside = installed / "knobctl" / "shipped_data" / folder
        assert {path.name for path in inside.iterdir()} == names
        for name in names:
            assert (inside / name).read_bytes() == (ROOT / folder / name).read_bytes()


def test_a_new_repository_is_inside(installed: Path, tmp_path: Path) -> None:
    """Hidden files too: what `init` makes outside the checkout passes its own gate."""
    made = run(installed, "init", "knobs", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    for name in (".github/workflows/knobctl.yml", ".gitlab-ci.yml", ".pre-commit-config.yaml"):
        assert (tmp_path / "knobs" / name).read_bytes() == (ROOT / "scaffold" / name).read_bytes()
    checked = run(installed, "check", "knobs", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr


def test_the_vocabulary_is_inside_with_its_licence(installed: Path) -> None:
    """What counts tokens and feeds the default embedder, and where it comes from."""
    folder = Path("knobctl/server/retrieval/wordpiece")
    for name in ("vocab.txt", "LICENSE", "ORIGIN.md"):
        assert (installed / folder / name).read_bytes() == (ROOT / folder / name).read_bytes()


def test_the_main_job_works_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    """Check, apply and history of one tenant, from the wheel alone."""
    (tmp_path / "acme.yaml").write_text("tenant: acme\nknobs: {retrieval_min_score: 0.45}\n")
    checked = run(installed, "check", "acme.yaml", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert "floor-above-vector-ceiling" in checked.stdout
    engine = ["--engine", f"embedded:{tmp_path}/engine.db"]
    applied = run(
        installed, "apply", "acme.yaml", "--yes", "--reason", "test", *engine, cwd=tmp_path
    )
    assert applied.returncode == 0, applied.stderr
    history = run(installed, "history", "acme", "--verify", *engine, cwd=tmp_path)
    assert history.returncode == 0, history.stderr
    assert "retrieval_min_score" in history.stdout
