"""Runs the steps of action.yml in order, as GitHub's runner does with a composite action."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.meeting.code_host import TOKEN

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")


@dataclass(kw_only=True)
class Ran:
    """What one use of the action gave."""

    code: int = 0
    """Of the step at which it stopped; 0 where all passed."""
    log: str = ""
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Runner:
    """A runner with a checkout."""

    checkout: Path
    temporary: Path
    api: str
    token: str = TOKEN
    event: dict[str, Any] = field(default_factory=dict)

    def use(self, *, install: bool = False, **inputs: str) -> Ran:
        """Use the action.

        Args:
            install: Whether its first step runs too, which installs knobctl; if not, this checkout's
                own knobctl stands where that step would have put it.
            inputs: What `with:` gives, `_` for `-`.
        """
        self.temporary.mkdir(exist_ok=True)
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        steps: dict[str, Any] = {}
        context = {"inputs": given, "steps": steps, "github": {"token": self.token, "event": self.event}}  # fmt: skip
        for name, one in ACTION["inputs"].items():
            given.setdefault(name, evaluated(str(one.get("default", "")), context))
        ran = Ran()
        for number, step in enumerate(ACTION["runs"]["steps"]):
            if step.get("id") == "install" and not install:
                steps["install"] = {"outputs": {"place": str(self._place())}}
                continue
            outputs = self._run(step, number, context, ran)
            if ran.code:
                break
            if "id" in step:
                steps[step["id"]] = {"outputs": outputs}
        ran.outputs = {
            name: evaluated(one["value"], context) for name, one in ACTION["outputs"].items()
        }
        return ran

    def _run(
        self, step: dict[str, Any], number: int, context: dict[str, Any], ran: Ran
    ) -> dict[str, str]:
        assert step["shell"] == "bash"
        script, outputs, summary, event = (
            self.temporary / f"{number}-{name}" for name in ("sh", "outputs", "summary", "event")
        )
        script.write_text(evaluated(step["run"], context))
        outputs.write_text("")
        summary.write_text("")
        event.write_text(json.dumps(self.event))
        environment = {
            **self._environment(),
            **{name: evaluated(value, context) for name, value in step.get("env", {}).items()},
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_EVENT_PATH": str(event),
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script],
            cwd=self.checkout, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False,
        )  # fmt: skip
        ran.code = done.returncode
        ran.log += done.stdout
        ran.summary += summary.read_text()
        lines = [line.partition("=") for line in outputs.read_text().splitlines()]
        return {name: value for name, _, value in lines}

    def _environment(self) -> dict[str, str]:
        home = self.temporary / "home"
        kept = {
            name: value
            for name, value in os.environ.items()
            if name.startswith("PIP_") or name in {"PATH", "LANG", "LC_ALL"}
        }
        return {
            **kept,
            "HOME": str(home),
            "GITHUB_WORKSPACE": str(self.checkout),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": self.api,
            "GITHUB_GRAPHQL_URL": f"{self.api}/graphql",
            "GITHUB_REPOSITORY": "search/knobs",
            "RUNNER_TEMP": str(self.temporary),
            "CI": "true",
            "no_proxy": "127.0.0.1",
        }

    def _place(self) -> Path:
        """Where the first step puts what it installs, with this checkout's knobctl there."""
        programs = self.temporary / "knobctl.quick" / "venv" / "bin"
        programs.mkdir(parents=True, exist_ok=True)
        for name, start in (
            ("python", ""),
            ("knobctl", '-c "from knobctl.cli.main import main; main()"'),
        ):
            program = programs / name
            program.write_text(
                f'#!/bin/sh\nexport PYTHONPATH={ROOT}\nexec {sys.executable} {start} "$@"\n'
            )
            program.chmod(0o755)
        place = programs.parents[1]
        for path in place.glob("knobctl.*"):
            path.unlink()
        return place


def evaluated(text: str, context: dict[str, Any]) -> str:
    """A text with its expressions replaced: names with dots, the first of several that is not empty."""

    def value(expression: re.Match[str]) -> str:
        found = (looked_up(name.strip(), context) for name in expression[1].split("||"))
        return next(filter(None, found), "")

    return EXPRESSION.sub(value, text)


def looked_up(name: str, context: dict[str, Any]) -> str:
    """What a dotted name stands for; nothing where it leads nowhere."""
    node: Any = context
    for part in name.split("."):
        node = node.get(part, {}) if isinstance(node, dict) else {}
    return "" if node == {} else str(node)
