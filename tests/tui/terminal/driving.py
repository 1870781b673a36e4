"""Drives a program in a real terminal: tmux, with a server of its own for each one.

Nothing here sleeps for a fixed time: `wait` looks until the screen shows what it should, or fails and shows the screen.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.tui.terminal.installing import require_tmux

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT: Final = Path(__file__).parents[3]
PATIENCE_S: Final = 60.0
"""How long is waited at most: for a machine that is busy with other things."""
LOOK_S: Final = 0.02
UNHURRIED_S: Final = 0.08
PROMPT: Final = "shell>"
_FLAGS: Final = "#{alternate_on} #{mouse_any_flag} #{cursor_flag}"
MAIN: Final = "from knobctl.cli.main import main; main()"


@dataclass(frozen=True, slots=True)
class Modes:
    """What a full-screen program changes in a terminal and has to give back."""

    alternate: bool
    """Whether the alternate screen is shown."""
    mouse: bool
    """Whether the mouse is reported."""
    cursor: bool
    """Whether the cursor is seen."""


AS_IT_WAS: Final = Modes(alternate=False, mouse=False, cursor=True)
"""A terminal in which a shell waits."""


@dataclass(frozen=True, slots=True)
class Tmux:
    """One pane with a shell in it."""

    socket: Path
    environment: dict[str, str]

    def run(self, *arguments: str | Path) -> None:
        """Type a command line of knobctl at the shell."""
        self.type(shlex.join(["knobctl", *map(str, arguments)]))
        self.send("Enter")

    def send(self, *keys: str) -> None:
        """Press keys, by tmux's names: `Enter`, `Escape`, `C-c`, `j`."""
        self._tmux("send-keys", *keys)

    def press(self, key: str) -> None:
        """Press one key as people do: not on the heels of another one, which a program may take for a paste."""
        time.sleep(UNHURRIED_S)
        self.send(key)

    def type(self, text: str) -> None:
        """Type a text, letter by letter."""
        self._tmux("send-keys", "-l", "--", text)

    def paste(self, text: str) -> None:
        """Paste a text as a terminal does it: bracketed, where the program asked for that."""
        subprocess.run(
            ["tmux", "-S", str(self.socket), "load-buffer", "-b", "pasted", "-"],
            input=text,
            text=True,
            check=True,
            env=self.environment,
        )
        self._tmux("paste-buffer", "-p", "-d", "-b", "pasted")

    def screen(self, *, colors: bool = False) -> str:
        """What is seen, line by line; with the sequences for colours where asked."""
        return self._tmux("capture-pane", "-p", *(["-e"] if colors else []))

    def wait(self, *texts: str, without: str = "", within_s: float = PATIENCE_S) -> str:
        """Look until all texts are on the screen, and another one is not; gives the screen."""

        def seen(screen: str) -> bool:
            return all(text in screen for text in texts) and not (without and without in screen)

        wanted = " ".join(map(repr, texts)) + (f" without {without!r}" if without else "")
        return self.wait_for(seen, wanted, within_s=within_s)

    def wait_for(
        self, good: Callable[[str], bool], wanted: str, *, within_s: float = PATIENCE_S
    ) -> str:
        """Look until the screen is good; gives it."""
        assert self.becomes(good, within_s), f"{wanted} did not come:\n{self.screen()}"
        return self.screen()

    def becomes(self, good: Callable[[str], bool], within_s: float) -> bool:
        """Look whether the screen gets good."""
        end = time.monotonic() + within_s
        while not good(self.screen()):
            if time.monotonic() > end:
                return False
            time.sleep(LOOK_S)
        return True

    def back(self) -> int:
        """Wait until the shell is back; gives the exit code of what ran."""
        mark = f"came-back-{time.monotonic_ns()}"
        end = time.monotonic() + PATIENCE_S
        while self.foreground() != self.shell_pid:
            assert time.monotonic() < end, f"it does not end:\n{self.screen()}"
            time.sleep(LOOK_S)
        self.send("C-u")
        self.type(f'echo "{mark}=$?."')
        self.send("Enter")
        screen = self.wait_for(lambda screen: f"\n{mark}=" in f"\n{screen}", mark)
        return int(screen.rsplit(f"{mark}=", 1)[1].split(".")[0])

    @property
    def shell_pid(self) -> int:
        """The shell's process."""
        return int(self.told("#{pane_pid}"))

    def foreground(self) -> int:
        """The process group that has the terminal: the shell's own, where nothing runs."""
        line = Path(f"/proc/{self.shell_pid}/stat").read_text(encoding="ascii", errors="replace")
        return int(line.rpartition(")")[2].split()[5])

    def program(self) -> int:
        """Wait for a program to have the terminal; gives its process."""
        end = time.monotonic() + PATIENCE_S
        while (leader := self.foreground()) == self.shell_pid:
            assert time.monotonic() < end, f"nothing runs:\n{self.screen()}"
            time.sleep(LOOK_S)
        return leader

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to what runs."""
        os.kill(self.program(), number)

    def lose(self) -> int:
        """Take the terminal away, as a lost line does: what runs is hung up. Gives its process."""
        program = self.program()
        self._tmux("kill-server")
        return program

    def resize(self, width: int, height: int) -> None:
        """Give the terminal another size."""
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    @property
    def title(self) -> str:
        """The title of the pane, which a program may set."""
        return self.told("#{pane_title}")

    @property
    def modes(self) -> Modes:
        """What a full-screen program changes."""
        return Modes(*(flag == "1" for flag in self.told(_FLAGS).split()))

    @property
    def clipboard(self) -> list[str]:
        """What programs copied."""
        names = self._tmux("list-buffers", "-F", "#{buffer_name}").split()
        return [self._tmux("show-buffer", "-b", name) for name in names]

    def told(self, form: str) -> str:
        """Ask tmux for a value by its format."""
        return self._tmux("display-message", "-p", form).strip()

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self.socket), "-f", "/dev/null", *arguments],
            capture_output=True,
            env=self.environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "replace")


@contextmanager
def terminal(
    folder: Path, *, width: int = 80, height: int = 24, main: str = MAIN, **variables: str
) -> Iterator[Tmux]:
    """Open a terminal with a shell in a folder, and an empty home beside the folder.

    Args:
        folder: The working folder.
        width: In columns.
        height: In rows.
        main: What `knobctl` runs.
        variables: What the environment says besides.
    """
    require_tmux()
    home = folder.with_name(f"{folder.name}-home")
    home.mkdir(exist_ok=True)
    # A path of a socket may have about a hundred characters: less than folders of tests have.
    with tempfile.TemporaryDirectory(prefix="tmux-") as place:
        environment = _environment(Path(place), home, main) | variables
        tmux = Tmux(Path(place) / "socket", environment)
        # What tmux starts the shell with would take the prompt out of the environment.
        shell = ["exec", "env", f"PS1={PROMPT}", "bash", "--norc", "--noprofile"]
        size = ["-x", str(width), "-y", str(height)]
        tmux._tmux("new-session", "-d", *size, "-c", str(folder), shlex.join(shell))
        try:
            # What a program asks to be copied is kept, so that it can be seen that none does.
            tmux._tmux("set-option", "-s", "set-clipboard", "on")
            tmux.wait(PROMPT)
            yield tmux
        finally:
            subprocess.run(
                ["tmux", "-S", str(tmux.socket), "kill-server"], capture_output=True, check=False
            )


def ended(process: int) -> bool:
    """Wait until a process, of which we are not the parent, is gone."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state.rpartition(")")[2].split()[0] == "Z":  # ended; nobody has asked for its code yet
            return True
        time.sleep(LOOK_S)
    return False


def _environment(place: Path, home: Path, main: str) -> dict[str, str]:
    """An environment of a user who has set nothing; `knobctl` is the code under test."""
    program = place / "bin" / "knobctl"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(main)} "$@"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    folders = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in _KINDS}
    return {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "PYTHONPATH": str(ROOT),
        **folders,
    }


_KINDS: Final = ("DATA", "CONFIG", "STATE", "CACHE")
