"""The way out: answers that cannot be delivered, readers that have gone, causes where asked for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from knobctl.cli.group import COMMANDS
from tests.cli.inside import ENGINE, Inside
from tests.given_engine import Fault, GivenEngine
from tests.running import Knobctl

PROGRAM = f'{sys.executable} -c "from knobctl.cli.main import main; main()"'


def shell(inside: Inside, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which `knobctl` stands for the command."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line.replace("knobctl", PROGRAM)],
        cwd=inside.folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


def test_an_answer_that_does_not_fit_the_disk_is_said(inside: Inside) -> None:
    """It is no crash, and says why; nothing is written where the plan cannot be shown."""
    for line in ("get acme", "set acme rrf_k=30 --yes", "explain", "apply . --dry-run"):
        inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
        done = shell(inside, f"knobctl {line} > /dev/full")
        assert (done.returncode, done.stdout) == (1, ""), done
        assert "standard output: No space left on device" in done.stderr
        assert "internal error" not in done.stderr
        assert "Traceback" not in done.stderr
    assert inside.live() == {}


def test_a_push_whose_answer_is_lost_is_told_on_stderr(inside: Inside) -> None:
    """What was written was written; nobody may think that it was not."""
    done = shell(
        inside, f"knobctl set acme rrf_k=30 --yes --format json {' '.join(ENGINE)} > /dev/full"
    )
    assert done.returncode == 1, done
    assert "applied  acme  r1  rrf_k" in done.stderr
    assert inside.live() == {"rrf_k": 30}


@pytest.mark.parametrize("place", ["nowhere/o.json", "."])
def test_an_output_that_cannot_be_written_is_found_before_anything_is_done(
    inside: Inside, place: str
) -> None:
    """A folder that is not there, and one in place of the file."""
    done = inside("set", "acme", "rrf_k=30", "--yes", "--output", f"json={place}", *ENGINE)
    assert (done.code, done.out) == (2, ""), done
    assert inside.live() == {}


@pytest.mark.parametrize("name", ["pipe", "link"])
def test_an_output_into_a_pipe_goes_through_it(inside: Inside, name: str) -> None:
    """A device or a pipe is no file to be replaced: run as root, that would take /dev/null from the machine."""
    os.mkfifo(inside.folder / "pipe")
    (inside.folder / "link").symlink_to("pipe")
    done = shell(inside, f"cat pipe > got & knobctl explain -q --output json={name} > out; wait")
    assert done.returncode == 0, done
    assert json.loads(inside.read("got"))["command"] == "explain"
    assert (inside.folder / "pipe").is_fifo()
    assert (inside.folder / "link").is_symlink()


def test_two_answers_in_one_file_are_refused(inside: Inside) -> None:
    """The one would be lost; a file in place of a folder is found early too."""
    done = inside("explain", "--output", "json=o", "--output", "text=o")
    assert (done.code, "another answer is written there already" in done.err) == (2, True)
    inside.write("o", "kept")
    assert inside("explain", "--output", "json=o/x").code == 2
    assert inside.read("o") == "kept"


def test_outputs_can_be_named_by_the_environment(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As every common option."""
    monkeypatch.setenv("KNOBCTL_OUTPUT", "json=o.json text=o.txt")
    assert inside("get", "acme", *ENGINE).code == 0
    assert inside.read("o.json").startswith("{")
    assert inside.read("o.txt").startswith("acme")


def test_a_reader_that_has_gone_ends_it_as_a_signal_would(inside: Inside) -> None:
    """Exit 141 as every tool in a pipe; 1 would be a crash."""
    inside.write("a.yaml", "tenant: a\nknobs: {}\n")
    done = shell(inside, "knobctl get acme | exec true; exit ${PIPESTATUS[0]}")
    assert (done.returncode, done.stderr) == (141, "")


def test_closed_streams_are_no_crash(inside: Inside) -> None:
    """Whoever closes standard output does not want the answer; the work is done all the same."""
    line = f"knobctl set acme rrf_k=30 --yes {' '.join(ENGINE)}"
    assert shell(inside, f"{line} >&- 2>&-").returncode == 0
    assert inside.live() == {"rrf_k": 30}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("set acme rrf_k=30", 6),
        ("set acme rrf_k=30 --yes", 0),
        ("validate -", 4),
        ("diagnose", 4),
        ("engine load - --tenant acme --store embedded:l.db", 2),
    ],
)
def test_a_closed_standard_input_is_an_empty_one(inside: Inside, line: str, code: int) -> None:
    """As under a service manager that gives none; no crash, and no consent."""
    done = shell(inside, f"knobctl {line} <&-")
    assert (done.returncode, "internal error" in done.stderr) == (code, False), done


@pytest.mark.parametrize("group", [(), ("engine",), ("context",)])
def test_a_group_without_a_command_shows_its_help_once(
    inside: Inside, group: tuple[str, ...]
) -> None:
    """It is an error of usage, and no text within a text."""
    done = inside(*group)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("Usage:") == 1
    assert "Error:" not in done.err
    assert "Commands:" in done.err


def test_causes_are_told_where_asked_for(knobctl: Knobctl) -> None:
    """By a flag, alone or with others, or by the environment; and only then."""
    call = ("get", "acme", "--engine", "http://127.0.0.1:1")
    assert "because" not in knobctl(*call).err
    assert "because" not in knobctl("set", "-q", *call[1:], "--reason", "-v").err
    assert "because" in knobctl(*call, "-qv").err
    assert "because" in knobctl(*call, KNOBCTL_VERBOSE="1").err


def test_the_way_back_leads_to_the_same_engine(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is copied as it stands: what was typed to get there is in it, what the environment says is not."""
    typed = inside("set", "acme", "rrf_k=30", "--yes", "--engine", "embedded:an engine.db")
    assert "undo: knobctl rollback acme --engine 'embedded:an engine.db'\n" in typed.out
    monkeypatch.setenv("KNOBCTL_ENGINE", "embedded:e.db")
    by_environment = inside("set", "acme", "rrf_k=30", "--yes")
    assert "undo: knobctl rollback acme\n" in by_environment.out


def test_an_engine_without_revisions_is_taken_back_by_the_journal(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps no events: the run is named instead, and its history is not to be looked at."""
    monkeypatch.setenv("KNOBCTL_TOKEN", "acme-token")
    with GivenEngine() as given:
        place = ("--engine", given.url)
        done = inside("set", "acme", "rrf_k=30", "--yes", *place)
        assert done.code == 0
        assert re.search(
            rf"undo: knobctl rollback --run [0-9a-f]{{8}} --engine {given.url}\n", done.out
        )
        given.fail(Fault.NOT_STORED)
        done = inside("set", "acme", "rrf_k=31", "--yes", *place)
        assert done.code == 10
        look = f"look before going on: knobctl get acme --engine {given.url}; then: knobctl apply "
        assert look in done.err


def test_what_is_said_on_a_terminal_is_folded_between_words(inside: Inside) -> None:
    """80 columns; a log has it whole, to be searched."""
    from tests.cli.terminal import on_terminal

    with GivenEngine() as given:
        call = ("get", "acme", "--engine", given.url)
        with on_terminal(inside.folder, *call, KNOBCTL_TOKEN="acme-token") as terminal:
            assert terminal.end() == 0
        assert max(map(len, terminal.shown.splitlines())) <= 80
        assert "note: " in terminal.shown
        with on_terminal(inside.folder, "set", "acme", "rrf_k=1", *call[2:]) as terminal:
            assert terminal.end() == 8
        assert "refused (unauthenticated)" in " ".join(terminal.shown.split())
        assert max(map(len, terminal.shown.splitlines())) <= 80


@pytest.mark.parametrize(
    "line",
    [
        ("check", ".", "--select", "\x1b[31m"),
        ("get", "--\x1b[31m"),
        ("get", "--output", "\x1b[31m=x"),
        ("get", "acme", "--columns", "tenant,labels.\x1b[31m"),
        ("explain", "\x1b[31m"),
    ],
)
def test_what_was_typed_drives_no_terminal(inside: Inside, line: tuple[str, ...]) -> None:
    """It comes back in escapes, whatever it was pasted from."""
    from tests.cli.terminal import on_terminal

    inside.write("a.yaml", "tenant: a\nknobs: {}\n")
    with on_terminal(inside.folder, *line, NO_COLOR="1") as terminal:
        assert terminal.end() != 1
    assert "\\x1b[31m" in terminal.shown
    assert "\x1b" not in terminal.shown


def test_a_value_that_the_schema_does_not_take_is_no_default(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine holds something for the knob, and that is what is said."""
    monkeypatch.setenv("KNOBCTL_TOKEN", "acme-token")
    with GivenEngine() as given:
        given.sets["acme"] = {"retrievalMinScore": 7, "newKnob": 1}
        text = inside("get", "acme", "--engine", given.url).out
    assert "0 knobs set, 24 at the platform default" in text
    assert "retrieval_min_score  7  no value of the schema's; a push would lose it" in text
    assert "newKnob  1  unknown to the schema; a push would lose it" in text


def test_a_narrow_terminal_gets_a_narrow_bar(inside: Inside) -> None:
    """One line that is drawn over, not a screen full of bars."""
    from tests.cli.terminal import on_terminal

    for number in range(3):
        inside.write(f"t{number}.yaml", f"tenant: t{number}\nknobs: {{mmr_lambda: 0.5}}\n")
    with on_terminal(inside.folder, "apply", ".", "--yes", *ENGINE, COLUMNS="40") as terminal:
        assert terminal.end() == 0
    bars = [part for line in terminal.shown.splitlines() for part in line.split("\r")]
    bars = [bar for bar in bars if "writing" in bar]
    assert bars
    assert max(map(len, bars)) < 48  # with the codes that hide the cursor


def test_a_disk_that_is_full_is_no_damaged_store(inside: Inside) -> None:
    """Nobody shall restore a backup over a file that is whole."""
    inside.hold(rrf_k=30)
    line = f"knobctl set acme rrf_k=31 --yes {' '.join(ENGINE)}"
    done = shell(inside, f"ulimit -f 1; {line}")
    assert done.returncode == 8, done
    assert "see whether the disk or the quota is full" in done.stderr
    assert "backup" not in done.stderr
    assert inside.live() == {"rrf_k": 30}


def test_every_command_that_a_message_names_is_there() -> None:
    """Nothing stands in an answer that cannot be copied into a shell."""
    root = Path(__file__).parents[2]
    files = [*root.glob("knobctl/**/*.py"), *root.glob("policies/*.yaml")]
    named = {
        (name, path.name)
        for path in files
        for name in re.findall(r"(?:: |or |, |`)knobctl ([a-z]+)", path.read_text())
    }
    assert len(named) > 20
    assert [one for one in sorted(named) if one[0] not in COMMANDS] == []


def test_a_dumb_terminal_gets_no_colour(inside: Inside) -> None:
    """Nor a bar that it cannot draw over."""
    from tests.cli.terminal import on_terminal

    inside.hold(rrf_k=30)
    for term, colored in (("dumb", False), ("xterm", True)):
        with on_terminal(inside.folder, "get", "acme", *ENGINE, TERM=term) as terminal:
            assert terminal.end() == 0
        assert ("\x1b[1m" in terminal.shown) == colored
