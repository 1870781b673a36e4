"""`knobctl edit`: the live set in an editor; the text is never lost."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.inside import ENGINE, Inside
from tests.cli.terminal import on_terminal
from tests.given_engine import GivenEngine


def editor(inside: Inside, *rounds: str) -> str:
    """A program that edits the n-th time it is called as the n-th shell line says; keeps what it saw."""
    lines = "\n".join(f"  {number}) {line} ;;" for number, line in enumerate(rounds))
    path = inside.folder.parent / "editor"
    path.write_text(
        "#!/bin/sh\n"
        f'n=$(cat "{path}.n" 2>/dev/null || echo 0); echo $((n + 1)) > "{path}.n"\n'
        f'cp "$1" "{path}.seen.$n"\n'
        f"case $n in\n{lines}\nesac\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def seen(inside: Inside, number: int) -> str:
    return (inside.folder.parent / f"editor.seen.{number}").read_text()


def kept(inside: Inside) -> list[Path]:
    return list((inside.folder.parent / "home/state/knobctl/edits").glob("*"))


@pytest.fixture
def edited(inside: Inside) -> Inside:
    """An engine that holds a set."""
    inside.hold(retrieval_min_score=0.3, rrf_k=30)
    return inside


def test_the_set_is_edited_with_every_knob_explained(
    edited: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is saved becomes the set; what stood commented out can be taken in."""
    monkeypatch.setenv(
        "VISUAL",
        editor(
            edited,
            r"""sed -i 's/rrf_k: 30/rrf_k: 40/; s/  # mmr_lambda: 0.7/  mmr_lambda: 0.5/' "$1" """,
        ),
    )
    monkeypatch.setenv("EDITOR", "false")
    result = edited("edit", "acme", "--yes", "--reason", "r", *ENGINE)
    assert result.code == 0, result
    assert edited.live() == {"retrieval_min_score": 0.3, "rrf_k": 40, "mmr_lambda": 0.5}
    text = seen(edited, 0)
    assert "tenant: 'acme'\n" in text
    assert "Rank constant of reciprocal rank fusion" in text
    assert "0 .. 1, normalised fused score; default 0.3; 0 means the default; off:" in text
    assert kept(edited) == []


def test_an_unchanged_text_writes_nothing(edited: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does one whose set is the same."""
    for line in ("true", r"""sed -i 's/rrf_k: 30/rrf_k: 30.0  # same/' "$1" """):
        monkeypatch.setenv("EDITOR", editor(edited, line, line))
        assert edited("edit", "acme", "--yes", *ENGINE).code == 0
    assert len(edited.events()) == 1
    assert kept(edited) == []


def test_the_editor_may_have_arguments(edited: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is split as a shell would; nothing else of a shell happens."""
    monkeypatch.setenv("EDITOR", "sed -i 's/rrf_k: 30/rrf_k: 41/'")
    assert edited("edit", "acme", "--yes", *ENGINE).code == 0
    assert edited.live()["rrf_k"] == 41
    monkeypatch.setenv("EDITOR", "unclosed 'quote")
    assert edited("edit", "acme", "--yes", *ENGINE).code == 2
    monkeypatch.setenv("EDITOR", "/nowhere/at-all; true")
    assert edited("edit", "acme", "--yes", *ENGINE).code == 2


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (r"""sed -i 's/rrf_k: 30/rrf_k: 9999/' "$1" """, 4),
        (r"""printf 'tenant: acme\nknobs: [\n' > "$1" """, 4),
        (r"""printf 'tenant: bolt\nknobs: {}\n' > "$1" """, 4),
        (r"""printf 'tenant: acme\nlabels: {a: b}\nknobs: {}\n' > "$1" """, 4),
        (r"""printf 'tenant: acme\nknobs: {}\n---\ntenant: bolt\nknobs: {}\n' > "$1" """, 4),
        (r"""printf 'a: b\n' > "$1" """, 4),
        (r"""printf '\377' > "$1" """, 4),
        (r""": > "$1" """, 6),
        (r"""printf '# all gone\n\n' > "$1" """, 6),
        (r"""echo lost >> "$1"; exit 3 """, 6),
    ],
)
def test_a_text_that_does_not_become_the_set_is_kept(
    edited: Inside, line: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its place is printed, and nothing is written; an empty text is no reset."""
    monkeypatch.setenv("EDITOR", editor(edited, line))
    result = edited("edit", "acme", "--yes", *ENGINE)
    assert result.code == code, result
    (path,) = kept(edited)
    assert f"your text is kept in {path}" in result.err
    assert len(edited.events()) == 1


def test_a_knob_beside_the_others_is_told_where_it_belongs(
    edited: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once: an indentation that was forgotten is no other kind of text."""
    monkeypatch.setenv("EDITOR", editor(edited, """echo 'mmr_lambda: 0.5' >> "$1" """))
    result = edited("edit", "acme", "--yes", *ENGINE)
    assert result.code == 4
    assert "it belongs under knobs, indented like the others there" in result.err
    assert "1 error" in result.err


def test_a_file_that_was_taken_away_is_no_reset(
    edited: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a crash."""
    monkeypatch.setenv("EDITOR", "rm")
    assert edited("edit", "acme", "--yes", *ENGINE).code == 6
    assert len(edited.events()) == 1


def test_a_text_that_meets_a_guard_is_kept(edited: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one whose tenant moved meanwhile: nobody's change is overwritten."""
    edited.write("knobctl.toml", "")
    edited.write("fleet.yaml", "fleet: default\nprotected: [acme]\n")
    monkeypatch.setenv("EDITOR", "sed -i 's/rrf_k: 30/rrf_k: 41/'")
    assert edited("edit", "acme", "--yes", *ENGINE).code == 6
    assert len(kept(edited)) == 1


def test_what_the_push_demands_is_asked_for_before_the_editor_opens(
    edited: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody writes for an hour to be told that a reason is missing."""
    edited.write("knobctl.toml", "")
    edited.write("fleet.yaml", "fleet: default\nreason_required: true\n")
    monkeypatch.setenv("EDITOR", "touch opened")
    result = edited("edit", "acme", "--yes", *ENGINE)
    assert result.code == 6
    assert "Say why, for the audit event: --reason TEXT" in result.err
    assert not (edited.folder / "opened").exists()
    assert kept(edited) == []


def test_a_set_that_moves_while_it_is_edited_is_a_conflict(
    edited: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base is what was opened, not what is there at the end."""
    meanwhile = (
        f"{sys.executable} -c 'from knobctl.cli.main import main; main()' set acme mmr_lambda=0.5 --yes {' '.join(ENGINE)} >&2; "
        "sed -i 's/rrf_k: 30/rrf_k: 41/' \"$1\""
    )
    monkeypatch.setenv("EDITOR", editor(edited, meanwhile))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    result = edited("edit", "acme", "--yes", *ENGINE)
    assert result.code == 7
    assert "mmr_lambda" in result.out
    assert edited.live() == {"retrieval_min_score": 0.3, "rrf_k": 30, "mmr_lambda": 0.5}
    assert len(kept(edited)) == 1


def test_errors_are_shown_before_the_next_round_and_hash_lines_stay(edited: Inside) -> None:
    """The very text is opened again: a line that begins with # may be data (case pipe-edit-keeps-hash-lines)."""
    first = r"""printf 'tenant: acme\nnote: |\n  # keep this line\nknobs: [\n' > "$1" """
    second = r"""printf 'tenant: acme\nknobs: {rrf_k: 42}\n' > "$1" """
    program = editor(edited, first, second)
    with on_terminal(edited.folder, "edit", "acme", *ENGINE, EDITOR=program) as terminal:
        terminal.expect("Edit again? [y/N]")
        assert "yaml-syntax" in terminal.shown
        terminal.type("y\r")
        terminal.expect("Push 1 tenant to embedded:e.db? [y/N]")
        terminal.type("y\r")
        assert terminal.end() == 0
    assert seen(edited, 1) == "tenant: acme\nnote: |\n  # keep this line\nknobs: [\n"
    assert edited.live() == {"rrf_k": 42}


def test_giving_up_keeps_the_text(edited: Inside) -> None:
    """No to another round."""
    program = editor(edited, r"""sed -i 's/rrf_k: 30/rrf_k: 9999/' "$1" """)
    with on_terminal(edited.folder, "edit", "acme", *ENGINE, EDITOR=program) as terminal:
        terminal.expect("Edit again? [y/N]")
        terminal.type("n\r")
        assert terminal.end() == 4
    (path,) = kept(edited)
    assert "rrf_k: 9999" in path.read_text()
    assert "your text is kept in" in terminal.shown


def test_ctrl_c_belongs_to_the_editor(edited: Inside) -> None:
    """Somebody stops a command that the editor runs; the editor and what is not saved yet live on."""
    program = editor(
        edited,
        r"""trap : INT; echo begun; sleep 2; echo '# later' >> "$1"; sed -i 's/rrf_k: 30/rrf_k: 42/' "$1" """,
    )
    with on_terminal(edited.folder, "edit", "acme", "--yes", *ENGINE, EDITOR=program) as terminal:
        terminal.expect("begun")
        terminal.interrupt()
        assert terminal.end() == 0, terminal.shown
    assert edited.live()["rrf_k"] == 42


def test_an_editor_that_ctrl_c_ends_is_an_interruption(edited: Inside) -> None:
    """What it had saved is kept."""
    program = editor(edited, r"""echo '# half' >> "$1"; echo begun; exec sleep 10 """)
    with on_terminal(edited.folder, "edit", "acme", "--yes", *ENGINE, EDITOR=program) as terminal:
        terminal.expect("begun")
        terminal.interrupt()
        assert terminal.end() == 130, terminal.shown
    assert "# half" in kept(edited)[0].read_text()


def test_where_we_are_ended_the_editor_saves_first(edited: Inside) -> None:
    """It is asked to end and waited for; never killed with what it has not saved."""
    program = editor(
        edited,
        r"""trap 'sleep 0.5; echo "# rescued" >> "$1"; exit 1' TERM; echo begun; for n in $(seq 100); do sleep 0.1; done """,
    )
    with on_terminal(edited.folder, "edit", "acme", "--yes", *ENGINE, EDITOR=program) as terminal:
        terminal.expect("begun")
        terminal.signal(signal.SIGTERM)
        assert terminal.end() == 143, terminal.shown
    assert "# rescued" in kept(edited)[0].read_text()
    assert "your text is kept in" in terminal.shown


def test_a_full_disk_is_found_before_the_editor_opens(inside: Inside) -> None:
    """And leaves no half of a text behind."""
    program = f"{sys.executable} -c 'from knobctl.cli.main import main; main()'"
    with GivenEngine() as given:
        done = subprocess.run(
            ["bash", "-c", f"ulimit -f 1; {program} edit acme --yes --engine {given.url}"],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "PYTHONPATH": str(Path(__file__).parents[2]),
                "KNOBCTL_TOKEN": "acme-token",
                "EDITOR": "touch opened",
            },
        )
    assert done.returncode == 2, done
    assert "the text cannot be kept in" in done.stderr
    assert not Path("opened").exists()
    assert kept(inside) == []


def test_the_text_fits_a_terminal(edited: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns, with every comment."""
    monkeypatch.setenv("EDITOR", editor(edited, "true"))
    assert edited("edit", "acme", "--yes", *ENGINE).code == 0
    assert max(map(len, seen(edited, 0).splitlines())) <= 80


def test_without_editor_and_terminal_it_is_refused(inside: Inside) -> None:
    """And without consent."""
    result = inside("edit", "acme", "--yes", *ENGINE)
    assert (result.code, "EDITOR" in result.err) == (6, True)


def test_without_consent_and_terminal_it_is_refused(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any editor is started."""
    monkeypatch.setenv("EDITOR", "false")
    result = inside("edit", "acme", *ENGINE)
    assert (result.code, "--yes" in result.err) == (6, True)
