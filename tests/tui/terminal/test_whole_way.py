"""The whole way in a real terminal: find a tenant, edit, see what a push does, push, see the event; and the way back."""

from __future__ import annotations

import re
import shutil
import signal
import time
from datetime import UTC, datetime, timedelta

import pytest

from knobctl.tui.screens.plan import MOMENT_S
from tests.cli.engines import Clock, embedded, write
from tests.given_engine import Fault, GivenEngine
from tests.running import Knobctl
from tests.tui.desks import EXAMPLE
from tests.tui.terminal.driving import AS_IT_WAS, Tmux, ended, terminal

CONTEXTS = "contexts:\n  live: {engine: 'embedded:engine.db', production: true, ticket_pattern: 'OPS-[0-9]+'}\n"
LIVE = {"retrieval_min_score": 0.3, "retrieval_vector_top_k": 32, "rrf_k": 50}
SIZES = pytest.mark.parametrize(
    ("width", "height"), [(80, 24), pytest.param(140, 40, marks=pytest.mark.slow)]
)


@pytest.fixture
def work(knobctl: Knobctl) -> Knobctl:
    """The shipped fleet, and a production engine on which delta has a knob that no file writes."""
    shutil.copytree(EXAMPLE, knobctl.folder / "fleet")
    knobctl.write("../work-home/config/knobctl/contexts.yaml", CONTEXTS)
    with embedded(
        knobctl.folder / "engine.db", Clock(datetime.now(UTC) - timedelta(hours=3))
    ) as engine:
        write(engine, "delta", LIVE, "as support asked")
    return knobctl


def live(work: Knobctl, tenant: str = "delta") -> dict[str, object]:
    """What the engine holds."""
    with embedded(work.folder / "engine.db") as engine:
        return dict(engine.read(tenant).knobs)


def runs(work: Knobctl) -> list[dict[str, object]]:
    """The journals."""
    answer = work("runs", "--format", "json")
    assert answer.code == 0, answer.err
    return list(answer.json["runs"])


def command(tmux: Tmux, text: str) -> None:
    """Give a `:` command."""
    tmux.type(f":{text}")
    tmux.send("Enter")


def open_delta(tmux: Tmux, *options: str) -> None:
    """From the shell to the tenant, by the filter."""
    tmux.run("tui", "fleet", *options)
    tmux.wait("acme", "0.45")
    tmux.type("/delta")
    tmux.wait("[delta] 1 of 6", without="> ~ drift   acme")
    tmux.send("Enter")
    tmux.send("Enter")
    tmux.wait("delta", "repo", "draft", "retrieval_vector_top_k", "reset")


def arm(tmux: Tmux, ticket: str = "") -> None:
    """Say why, and the ticket where one is asked for."""
    command(tmux, "arm lower the floor after the recall report")
    tmux.wait("Let this session write", "lower the floor")
    tmux.press("Enter")
    if ticket:
        tmux.type(ticket)
        tmux.wait(ticket)
        tmux.press("Enter")
    tmux.wait("ARMED 1")


def acknowledge_all(tmux: Tmux) -> None:
    """One after another, never two at once; a plan that has just come up wants to be looked at first.

    A key is given long to take: one that comes twice would be the first letter of the tenant's name.
    """
    time.sleep(MOMENT_S + 0.3)
    while found := re.search(r"! (\d+) to acknowledge", tmux.screen()):
        tmux.press("a")
        tmux.becomes(lambda screen, before=found[0]: before not in screen, 10.0)  # type: ignore[misc]


@SIZES
def test_from_the_filter_to_the_audit_event(work: Knobctl, width: int, height: int) -> None:
    """A warning while typing, a reset that is kept, a confirmation by name, the push, its event."""
    with terminal(work.folder, width=width, height=height) as tmux:
        open_delta(tmux, "--context", "live")
        assert "PROD" in tmux.screen()
        tmux.send("e")
        tmux.wait("takes 0 .. 1")
        tmux.type("0.4")
        tmux.wait("0.4_", "! 1 warning", "edited")
        tmux.send("Enter")
        tmux.wait("1 edit", without="takes 0 .. 1")
        arm(tmux, ticket="OPS-12")
        command(tmux, "push")
        tmux.wait("PUSH PLAN", "RESET", "rrf_k", "your edit", "lower the floor")
        tmux.send("k")
        tmux.wait("PUSH PLAN", "5 to acknowledge", without="RESET")
        acknowledge_all(tmux)
        tmux.wait("Type the tenant id")
        tmux.paste("delta")
        tmux.type("delt")
        tmux.press("Enter")
        assert "PUSH PLAN" in tmux.screen()
        assert live(work) == LIVE
        tmux.type("a")
        tmux.press("Enter")
        tmux.wait("ok pushed: delta is at revision r2", "4 changed field paths", "the same set")
        tmux.wait("[x] file")
        tmux.press("3")
        tmux.wait("2 events", "r2", "lower the floor")
        tmux.press("q")
        assert (tmux.back(), tmux.modes) == (0, AS_IT_WAS)
    assert live(work) == LIVE | {
        "retrieval_min_score": 0.4,
        "rrf_weight_recency": 0.1,
        "assembly_max_chunks": 24,
        "assembly_token_budget": 12_000,
    }
    text = (work.folder / "fleet/tenants/delta.yaml").read_text()
    assert "retrieval_min_score: 0.4  " in text
    assert "rrf_k: 50" in text
    (run,) = runs(work)
    assert (run["state"], run["outcomes"]) == ("finished", {"applied": 1})


def edited(tmux: Tmux, value: str) -> None:
    """Give the knob under the cursor a value."""
    tmux.press("e")
    tmux.wait("takes 0 .. 1")
    tmux.type(value)
    tmux.wait(f"{value}_")
    tmux.press("Enter")
    tmux.wait("1 edit", without="takes 0 .. 1")


def test_who_wrote_meanwhile_is_shown_and_nothing_is_overwritten(work: Knobctl) -> None:
    """A plan that somebody else's write has overtaken is not carried out; the other's change is named."""
    theirs = LIVE | {"mmr_lambda": 0.5}
    with terminal(work.folder) as tmux:
        open_delta(tmux, "--engine", "embedded:engine.db")
        edited(tmux, "0.4")
        arm(tmux)
        command(tmux, "push")
        tmux.wait("PUSH PLAN", "to acknowledge")
        acknowledge_all(tmux)
        with embedded(work.folder / "engine.db") as engine:
            write(engine, "delta", theirs, "my own idea")
        tmux.press("Enter")
        tmux.wait("x conflict", "nothing was written", "set     mmr_lambda  default 0.7 -> 0.5")
        assert live(work) == theirs
        tmux.press("n")
        tmux.wait("PUSH PLAN", "r2")
        tmux.press("q")
        tmux.becomes(lambda screen: "Leave knobctl?" in screen, 2.0)
        tmux.press("y")
        assert (tmux.back(), tmux.modes) == (0, AS_IT_WAS)
    assert live(work) == theirs


def test_what_is_refused_says_why_and_what_would_allow_it(work: Knobctl) -> None:
    """A session that is read-only arms for nobody, and its plan has no way on."""
    with terminal(work.folder) as tmux:
        open_delta(tmux, "--context", "live", "--read-only")
        edited(tmux, "0.4")
        command(tmux, "arm because I want to")
        tmux.wait("read-only")
        command(tmux, "push")
        tmux.wait("PUSH PLAN", "read-only")
        tmux.type("aaaaaa")
        tmux.type("delta")
        tmux.press("Enter")
        tmux.wait("PUSH PLAN", "RO")
        tmux.press("q")
        tmux.becomes(lambda screen: "Leave knobctl?" in screen, 2.0)
        tmux.press("y")
        assert (tmux.back(), tmux.modes) == (0, AS_IT_WAS)
    assert live(work) == LIVE
    assert runs(work) == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["lost", "killed"])
def test_a_terminal_that_is_lost_in_the_middle_of_a_push(work: Knobctl, how: str) -> None:
    """The write in flight is finished and journalled; what was killed is in the journal too, and resumed."""
    with GivenEngine({"delta-token": "delta"}) as engine:
        engine.sets["delta"] = {"retrievalMinScore": 0.3}
        options = ("--engine", engine.url)
        with terminal(work.folder, KNOBCTL_TOKEN="delta-token") as tmux:
            tmux.run("tui", "fleet", *options)
            tmux.wait("delta")
            command(tmux, "tenant delta")
            tmux.wait("retrieval_vector_top_k", "drift")
            edited(tmux, "0.4")
            arm(tmux)
            command(tmux, "push")
            tmux.wait("PUSH PLAN", "to acknowledge")
            acknowledge_all(tmux)
            engine.fail(Fault.SLOW, argument=1.5)
            tmux.press("Enter")
            tmux.wait("[x] journalled", "sent: the whole set", without="pushed")
            if how == "lost":
                process = tmux.lose()
            else:
                process = tmux.program()
                tmux.signal(signal.SIGKILL)
            assert ended(process)
        run = runs(work)[0]
        if how == "lost":
            assert (run["state"], run["outcomes"]) == ("finished", {"applied": 1})
        else:
            assert run["state"] == "unfinished"
            done = work(
                "apply", "--resume", str(run["run"]), *options, "--yes", KNOBCTL_TOKEN="delta-token"
            )
            assert done.code == 0, done.err
            assert runs(work)[0]["state"] == "finished"
        assert engine.sets["delta"]["retrievalMinScore"] == 0.4
