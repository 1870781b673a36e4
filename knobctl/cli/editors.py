"""The user's editor, and the text while it is edited: a file that outlives everything but its own success."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from threading import Event
from typing import TYPE_CHECKING

from knobctl.cli.consent import has_terminal
from knobctl.errors import ExitCode, RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOK_EVERY_S = 0.2
"""How often it is looked whether we were asked to end while the editor runs."""
FALLBACK_EDITORS = ("sensible-editor", "editor", "nano", "vi")


@dataclass(slots=True)
class KeptText:
    """A text that is edited; where it does not become what it was edited for, it stays on the disk."""

    path: Path
    original: bytes
    done: bool = False
    """Whether it is no longer needed."""

    def saved(self) -> bytes:
        """The text as it stands now; nothing where the file was taken away."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""

    def finished(self, code: ExitCode) -> ExitCode:
        """Note that the text is no longer needed, if all went well."""
        self.done = code is ExitCode.OK
        return code

    def left(self) -> Path | None:
        """Take the file away if nobody needs it; where it stays, say so."""
        if self.done or self.saved() == self.original:
            self.path.unlink(missing_ok=True)
        return self.path if self.path.exists() else None


def keep_text(folder: Path, tenant: str, text: bytes) -> KeptText:
    """Put a text where an editor finds it, for its owner's eyes alone.

    Raises:
        UsageError: If it cannot be kept there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=f"{tenant}-", suffix=".yaml")
    except OSError as error:
        raise _not_kept(folder, error) from error
    kept = KeptText(Path(name), text)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
    except OSError as error:
        kept.path.unlink()
        raise _not_kept(folder, error) from error
    return kept


def _not_kept(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"the text cannot be kept in {folder}: {error.strerror}")


def editor_command() -> list[str]:
    """The editor's command line.

    Raises:
        RefusedError: If none is named and there is no terminal to open one on.
        UsageError: If the variable is no command line, or there is no editor at all.
    """
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if named:
        try:
            words = shlex.split(named)
        except ValueError as error:
            raise UsageError(f"$EDITOR is no command line: {error}") from error
        if words:
            return words
    if not has_terminal():
        raise RefusedError(
            "edit needs an editor, and there is no terminal to open one on.",
            hint="Nothing was written. Name one that needs none: EDITOR=...; or use knobctl set",
        )
    for name in FALLBACK_EDITORS:
        if found := which(name):
            return [found]
    raise UsageError("there is no editor", hint="name one: EDITOR=...")


def run_editor(editor: list[str], path: Path) -> None:
    """Let a person edit a file, and wait until they are done.

    Raises:
        RefusedError: If the editor failed.
        UsageError: If it cannot be started.
    """
    sys.stdout.flush()
    with _signals_for_the_editor() as asked:
        try:
            process = subprocess.Popen([*editor, str(path)])  # noqa: S603  the user's own editor
        except OSError as error:
            raise UsageError(
                f"the editor {editor[0]} cannot be started: {error.strerror}"
            ) from error
        while (code := _ended(process)) is None:
            if asked.is_set():
                process.terminate()
                code = process.wait()
                break
    if asked.is_set():
        signal.raise_signal(signal.SIGTERM)
    if code == -signal.SIGINT:
        raise KeyboardInterrupt
    if code:
        raise RefusedError(f"the editor ended with {code}; nothing was written.")


def _ended(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(LOOK_EVERY_S)
    except subprocess.TimeoutExpired:
        return None


@contextmanager
def _signals_for_the_editor() -> Iterator[Event]:
    """Ctrl-C on its screen is the editor's own; where we must end, it ends first and in peace.

    Handlers, unlike ignored signals, are not handed on to the editor.

    Yields:
        Whether we were asked to end.
    """
    asked = Event()
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: None),
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: asked.set()),
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
