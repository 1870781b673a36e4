"""Sources of tokens: what is usable, what is said, and what is never said."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import pytest

from knobctl.engine.tokens import GivenToken, TokenCommand, TokenFile, sendable
from knobctl.errors import EngineError, KnobctlError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_read_once_and_stripped(tmp_path: Path) -> None:
    """A line end is no part of a token; later changes of the file do not split a run."""
    path = tmp_path / "token"
    path.write_text("abcdef\n")
    path.chmod(0o600)
    notices: list[str] = []
    tokens = TokenFile(path, notices.append)

    first = tokens.token("acme")
    path.write_text("other")

    assert (first, tokens.token(None)) == ("abcdef", "abcdef")
    assert notices == []


def test_a_file_that_others_can_read_is_said(tmp_path: Path) -> None:
    """With the command that mends it."""
    path = tmp_path / "token"
    path.write_text("abcdef")
    path.chmod(0o644)
    notices: list[str] = []

    TokenFile(path, notices.append).token(None)

    assert notices == [f"others can read the token file {path}; write: chmod 600 {path}"]


@pytest.mark.parametrize(
    "text", ["", "  \n", "two words", "a\nb", "schlüssel", "x\x00y", "a" * 20_000]
)
def test_what_no_header_can_carry_is_usage_without_the_text(text: str) -> None:
    """A broken token would otherwise show up in the HTTP library's own message."""
    with pytest.raises(UsageError) as caught:
        sendable(text, "the source")

    assert "the source" in caught.value.message
    for word in text.split():
        assert word not in caught.value.message.split()


def test_a_missing_file_is_usage(tmp_path: Path) -> None:
    """Named, with the system's word."""
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        TokenFile(tmp_path / "none", lambda _: None).token(None)


def test_a_command_is_asked_once_a_tenant_from_many_threads(tmp_path: Path) -> None:
    """Tokens are kept for the run; a slow command is not started twice for one tenant."""
    log = tmp_path / "log"
    script = f"import sys, pathlib; open({str(log)!r}, 'a').write(sys.argv[1] + '\\n'); print('token-' + sys.argv[1])"
    tokens = TokenCommand((sys.executable, "-c", script, "{tenant}"))
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda name=name: found.append(tokens.token(name)))
        for name in ("acme", "bolt") * 3
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(found) == ["token-acme"] * 3 + ["token-bolt"] * 3
    assert sorted(log.read_text().split()) == ["acme", "bolt"]


def test_a_command_runs_without_a_shell() -> None:
    """What a tenant's name or an argument holds is never interpreted."""
    tokens = TokenCommand(("printf", "%s", "$(id);{tenant}"))

    assert tokens.token("acme") == "$(id);acme"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("false",), "failed with exit 1"),
        (("no-such-program-here",), "cannot be run"),
        (("true",), "holds no token"),
    ],
)
def test_a_command_that_gives_no_token_is_said(command: tuple[str, ...], words: str) -> None:
    """By the program's name alone: its arguments may be secret."""
    with pytest.raises(KnobctlError, match=words) as caught:
        TokenCommand((*command, "s3cret-argument")).token(None)

    assert "s3cret" not in caught.value.message


def test_a_command_that_hangs_is_given_up() -> None:
    """And what it printed so far is not repeated."""
    script = "import time, sys; print('s3cret', flush=True); time.sleep(9)"
    with pytest.raises(EngineError, match=r"no token within 0\.3 s") as caught:
        TokenCommand((sys.executable, "-c", script), timeout_s=0.3).token(None)

    assert caught.value.__cause__ is None


def test_what_a_command_says_on_stderr_is_kept_for_those_who_ask() -> None:
    """It stands in the cause, which -v shows."""
    with pytest.raises(EngineError) as caught:
        TokenCommand((sys.executable, "-c", "import sys; sys.exit('vault is sealed')")).token(None)

    assert "sealed" not in caught.value.message
    assert "sealed" in str(caught.value.__cause__)


def test_no_repr_shows_a_token(tmp_path: Path) -> None:
    """Given, read or printed: the objects may be logged."""
    path = tmp_path / "token"
    path.write_text("s3cret-token")
    from_file = TokenFile(path, lambda _: None)
    from_command = TokenCommand(("cat", str(path)))
    from_file.token(None)
    from_command.token(None)

    assert "s3cret" not in repr((from_file, from_command, GivenToken("s3cret", "the test")))
