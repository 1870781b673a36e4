"""Shell commands that ask are told from those that only look so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.evidence.harvest.asked import Names
from knobctl.evidence.harvest.calls import questions_in

NAMES = Names(cli_program="ask", other_store_markers=("STORE=", "--store"))
WHAT = "What is the default floor?"


@pytest.mark.parametrize(
    "command",
    [
        f"ask query '{WHAT}'",
        f'ask query --top-k 5 "{WHAT}" | head -3',
        f'cd /tmp && uv run ask query "{WHAT}"',
        f'A=1 time /usr/local/bin/ask -v query "{WHAT}" > out.txt 2>&1',
        f"bash -lc \"ask query '{WHAT}'\"",
        f'python3 -m ask query "{WHAT}"',
        f'(ask query "{WHAT}")',
        f"ask query \\\n  '{WHAT}'",
        ["ask", "query", WHAT],
        ["bash", "-c", f"ask query '{WHAT}'"],
        f'echo begin; ask query "{WHAT}"; echo end',
    ],
    ids=str,
)
def test_a_command_that_asks_gives_its_question(command: object) -> None:
    """Behind other commands, options and starters, and in a shell's own text."""
    assert questions_in(command, NAMES) == [WHAT]


@pytest.mark.parametrize(
    "command",
    [
        f"grep -rn 'ask query \"{WHAT}\"' docs/",
        f'echo "ask query {WHAT}"',
        f'STORE=other ask query "{WHAT}"',
        f'export STORE=other; ask query "{WHAT}"',
        f'ask query "{WHAT}" --store team',
        f'ask remember "{WHAT}"',
        "ask query --predicates",
        'ask query "$QUESTION"',
        "ask query <<'EOF'\nWhat is it?\nEOF",
        'ask query "an end is missing',
        f'task query "{WHAT}"',
        ["ask", "query"],
        ["ask", 7],
        None,
        {"command": "ask query x"},
    ],
    ids=str,
)
def test_what_only_looks_like_asking_gives_none(command: object) -> None:
    """Other stores, other verbs, words of other commands, variables, and what is no command."""
    assert questions_in(command, NAMES) == []


@pytest.mark.parametrize(
    "frame",
    [
        "sudo -u bob {}", "timeout 30 {}", "nice -n 10 {}", "stdbuf -oL {}", "uv run --with x {}",
        "docker exec -it c {}", "ssh host {}", "xargs -n1 {}", "if {}; then echo; fi", "while {}; do :; done",
        "for i in 1 2; do {}; done", "{{ {}; }}", "! {}", 'x="$({})"', "# don't worry\n{}",
        "cat <<EOF\nit's\nEOF\n{}", "export A=b; {}", "time {}",
    ],
)  # fmt: skip
def test_what_stands_around_a_command_hides_no_question(frame: str) -> None:
    """Keywords of the shell, what starts a program, comments, and data in between."""
    assert questions_in(frame.format(f'ask query "{WHAT}"'), NAMES) == [WHAT]


@pytest.mark.parametrize("command", [f'ask query --text="{WHAT}"', f'ask query <<< "{WHAT}"'])
def test_a_question_may_be_the_value_of_an_option_or_the_input(command: str) -> None:
    """It is asked all the same."""
    assert questions_in(command, NAMES) == [WHAT]


@pytest.mark.parametrize(
    "command",
    [
        f'cat > f <<E\nask query "{WHAT}"\nE',
        f'ask import query "{WHAT}"',
        'ask query "${Q} and what else?"',
        f'# ask query "{WHAT}"',
    ],
)
def test_data_and_other_verbs_and_what_a_variable_completes_ask_nothing(command: str) -> None:
    """What a here-document holds was written, not asked; what a variable holds is not known."""
    assert questions_in(command, NAMES) == []


def test_every_question_of_a_chain_is_found() -> None:
    """The second command of a line asks too."""
    command = "ask query 'What is one thing?' && ask query 'What is the other?'"
    assert questions_in(command, NAMES) == ["What is one thing?", "What is the other?"]


def test_without_a_program_no_shell_is_read() -> None:
    """Nobody said how the engine is asked."""
    assert questions_in(f"ask query '{WHAT}'", Names()) == []


@given(command=st.text(alphabet="ask query'\"\\;|&()$<>{}\n#`!", max_size=60))
@settings(deadline=None, max_examples=200)
def test_no_command_ends_a_run(command: str) -> None:
    """Whatever a transcript holds."""
    assert all(isinstance(one, str) for one in questions_in(f"ask query {command}", NAMES))
