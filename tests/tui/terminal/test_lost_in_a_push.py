"""A terminal that is lost, or a process that is ended, at each step of a push: the journal knows, and `--resume` finishes it."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.tui.screens.plan import MOMENT_S
from tests.running import Knobctl
from tests.tui.between import Between, engine_behind
from tests.tui.desks import Desk
from tests.tui.planning import LIVE, acme
from tests.tui.terminal.driving import ended, terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.tui.terminal.driving import Tmux

WANTED = {"retrieval_min_score": 0.3, "mmr_lambda": 0.7}


class Holding(Between):
    """Holds one call back, at a step of the push."""

    step = ""
    """`sent`: the write is not passed on; `written`: its answer is not; `audited`: the audit log is not asked."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.held = threading.Event()

    def arrived(self, path: str) -> None:
        """Hold a call back before the engine sees it."""
        if self.step == {"Update": "sent", "ListConfigAuditEvents": "audited"}.get(_method(path)):
            self._hold()

    def answered(self, path: str, body: bytes) -> bytes:
        """Hold an answer back after the engine gave it."""
        if self.step == "written" and _method(path) == "Update":
            self._hold()
        return body

    def _hold(self) -> None:
        self.held.set()
        assert self.let_go.wait(60)


def _method(path: str) -> str:
    method = path.rsplit("/", 1)[-1]
    return "Update" if method.startswith("Update") else method


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A folder with acme, whose file asks for something else than the engine holds."""
    folder = tmp_path / "work"
    folder.mkdir()
    desk = Desk(folder)
    acme(desk)
    return desk


@contextmanager
def pushing(desk: Desk, step: str) -> Iterator[tuple[Tmux, Holding, Knobctl, list[str]]]:
    """Confirm a push of acme in a terminal, and wait until it is held at a step."""
    with (
        engine_behind(desk, kind=Holding) as (between, options),
        terminal(desk.folder, width=100, height=30) as tmux,
    ):
        assert isinstance(between, Holding)
        place = ["--engine", between.url, "--token-file", str(options["token_file"])]
        tmux.run("tui", "fleet", *place)
        tmux.wait("acme")
        for command, sign in (("arm because", "because"), ("tenant acme", "rrf_k")):
            tmux.send(":")
            tmux.wait("command")
            tmux.type(command)
            tmux.send("Enter")
            tmux.wait(sign)
            if sign == "because":
                tmux.send("Enter")
                tmux.wait("ARMED")
        tmux.send(":")
        tmux.type("push")
        tmux.send("Enter")
        screen = tmux.wait("to acknowledge")
        time.sleep(MOMENT_S + 0.3)
        for left in range(int(_number(screen)), 0, -1):
            tmux.wait(f"{left} to acknowledge")
            until_it_takes(tmux, "a", f"{left} to acknowledge")
        between.step = step
        between.let_go.clear()
        tmux.wait("Enter pushes")
        until_it_takes(tmux, "Enter", "PUSH PLAN")
        assert between.held.wait(60), tmux.screen()
        yield tmux, between, Knobctl(desk.folder), place


def until_it_takes(tmux: Tmux, key: str, gone: str) -> None:
    """Press a key until what it takes away is gone: a plan that just came ignores it for a moment."""
    for _ in range(6):
        tmux.send(key)
        try:
            tmux.wait_for(lambda screen: gone not in screen, f"without {gone!r}", within_s=10.0)
        except AssertionError:
            continue
        return
    raise AssertionError(tmux.screen())


def _number(screen: str) -> str:
    found = re.search(r"(\d+) to acknowledge", screen)
    assert found
    return found[1]


def runs(knobctl: Knobctl) -> list[dict[str, Any]]:
    """What the journals say."""
    found: list[dict[str, Any]] = knobctl("runs", "--format", "json").json["runs"]
    return found


def events(knobctl: Knobctl, place: list[str]) -> list[dict[str, Any]]:
    """What the audit log says of acme."""
    found: list[dict[str, Any]] = knobctl("history", "acme", "--format", "json", *place).json[
        "events"
    ]
    return found


CASES = [
    ("sent", "kill", False),
    ("sent", "hang up", True),
    ("written", "terminate", True),
    ("written", "kill", True),
    ("written", "hang up", True),
    ("sent", "terminate", True),
    ("audited", "kill", True),
    ("audited", "hang up", True),
    ("audited", "terminate", True),
]


@pytest.mark.parametrize(
    ("step", "how"),
    [pytest.param(step, how, marks=[pytest.mark.slow] * slow) for step, how, slow in CASES],
)
def test_the_journal_knows_and_the_run_can_be_finished(desk: Desk, step: str, how: str) -> None:
    """Asked nicely, the write in flight is finished; killed, its intent is on the disk. Never twice, never half."""
    with pushing(desk, step) as (tmux, between, knobctl, place):
        process = tmux.program()
        match how:
            case "kill":
                os.kill(process, signal.SIGKILL)
                assert ended(process)
                between.let_go.set()
            case "terminate":
                os.kill(process, signal.SIGTERM)
                between.let_go.set()
                assert tmux.back() == 143
            case _:
                tmux.lose()
                between.let_go.set()
                assert ended(process)
        between.step = ""
        (run,) = runs(knobctl)
        assert run["command"] == "tui"
        if how != "kill":
            assert (run["state"], run["outcomes"]) == ("finished", {"applied": 1})
        if run["left"]:
            done = knobctl("apply", "--resume", run["run"], "--yes", *place)
            assert done.code == 0, done.err
            assert [one["state"] for one in runs(knobctl)] == ["finished"]
        assert desk.knobs("acme") == WANTED
        assert [event["revision"] for event in events(knobctl, place)] == ["r1", "r2"]
        assert "because" in events(knobctl, place)[-1]["reason"]


def test_who_leaves_while_a_push_is_under_way_is_asked_and_waits_for_its_end(desk: Desk) -> None:
    """The terminal is given back first; then what became of the push is said at the shell."""
    with pushing(desk, "sent") as (tmux, between, knobctl, _place):
        tmux.send("q")
        tmux.wait("acme: a push is under way, it will be finished")
        tmux.send("y")
        tmux.wait("finishing the push of acme (run ")
        between.let_go.set()
        tmux.wait("acme: pushed, r2 (run ")
        assert tmux.back() == 0
        assert [run["state"] for run in runs(knobctl)] == ["finished"]
        assert desk.knobs("acme") == WANTED


def test_a_plan_that_nobody_confirmed_is_written_by_no_signal(desk: Desk) -> None:
    """The terminal is lost while the plan is looked at: no run, no write."""
    with (
        engine_behind(desk) as (between, options),
        terminal(desk.folder, width=100, height=30) as tmux,
    ):
        tmux.run(
            "tui", "fleet", "--engine", between.url, "--token-file", str(options["token_file"])
        )
        tmux.wait("acme")
        tmux.send("Enter")
        tmux.wait("rrf_k", "reset")
        tmux.send(":")
        tmux.type("push")
        tmux.send("Enter")
        tmux.wait("RESET: in no file")
        assert ended(tmux.lose())
    assert runs(Knobctl(desk.folder)) == []
    assert desk.knobs("acme") == LIVE
