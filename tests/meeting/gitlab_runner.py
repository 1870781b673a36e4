"""Fills in a GitLab CI/CD component and runs the lines of its job, as GitLab and its runner do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
HEADER, _, BODY = (ROOT / "templates" / "knobctl.yml").read_text().partition("\n---\n")
INPUTS: dict[str, dict[str, Any]] = yaml.safe_load(HEADER)["spec"]["inputs"]
INTERPOLATED = re.compile(r"\$\[\[ inputs\.([a-z-]+) \]\]")


def filled_in(**inputs: str) -> dict[str, Any]:
    """The pipeline that the component becomes with these inputs, `_` for `-`."""
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    assert set(given) <= set(INPUTS)
    for name, one in INPUTS.items():
        if "default" in one:
            given.setdefault(name, one["default"])
        assert given[name] in one.get("options", [given[name]])
    pipeline: dict[str, Any] = yaml.safe_load(INTERPOLATED.sub(lambda found: given[found[1]], BODY))
    return pipeline


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job with its checkout, and the variables that GitLab sets."""

    checkout: Path
    programs: Path
    """A folder for the PATH; this checkout's knobctl stands there, as if it were installed."""
    variables: dict[str, str]

    def run(self, job: dict[str, Any], *, install: bool = False) -> tuple[int, str]:
        """Run the lines of a job in one shell; give its code and its log.

        Args:
            job: The job.
            install: Whether the first line runs too, which installs knobctl.
        """
        lines = job["script"] if install else job["script"][1:]
        self._put_programs(sys.executable if not install else None)
        done = subprocess.run(
            ["bash", "-c", "set -eo pipefail\n" + "\n".join(lines)],
            cwd=self.checkout,
            env={
                **{name: value for name, value in os.environ.items() if name.startswith("PIP_")},
                "PATH": f"{self.programs}:{os.environ['PATH']}",
                "HOME": str(self.programs),
                **job.get("variables", {}),
                **self.variables,
            },
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    def _put_programs(self, python: str | None) -> None:
        self.programs.mkdir(parents=True, exist_ok=True)
        if python is not None:
            program = self.programs / "knobctl"
            start = f'exec {python} -c "from knobctl.cli.main import main; main()" "$@"'
            program.write_text(f"#!/bin/sh\nexport PYTHONPATH={ROOT}\n{start}\n")
            program.chmod(0o755)
