"""Runs knobctl inside this process: the same way in and out as a process of its own, without its start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knobctl.cli.edge import run
from tests.running import Result

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ENGINE = ("--engine", "embedded:e.db")
"""The engine of a test, a file in its folder."""


@dataclass(frozen=True, slots=True)
class Inside:
    """The command, bound to the working folder of a test. Standard input is no terminal."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str | Path) -> Result:
        """Run one command line."""
        self.capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = self.capsys.readouterr()
        return Result(int(code), out, err)

    def write(self, name: str, text: str) -> Path:
        """Write a file below the folder, byte for byte, and give its path relative to it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path.relative_to(self.folder)

    def read(self, name: str) -> str:
        """A file below the folder, byte for byte."""
        return (self.folder / name).read_bytes().decode()

    def hold(self, tenant: str = "acme", **knobs: object) -> None:
        """Let the engine hold a set."""
        pairs = [f"{name}={value}" for name, value in knobs.items()]
        done = self("set", tenant, *pairs, "--yes", "--reason", "given", *ENGINE)
        assert done.code == 0, done.err

    def live(self, tenant: str = "acme") -> dict[str, Any]:
        """What the engine holds for a tenant."""
        found: dict[str, Any] = self("get", tenant, "--format", "json", *ENGINE).json["tenants"][0][
            "knobs"
        ]
        return found

    def events(self, tenant: str = "acme") -> list[dict[str, Any]]:
        """A tenant's audit events."""
        found: list[dict[str, Any]] = self("history", tenant, "--format", "json", *ENGINE).json[
            "events"
        ]
        return found
