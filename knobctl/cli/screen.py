"""What the terminal UI needs of the terminal, the environment and the user's folders."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import contextmanager
from signal import SIGHUP, SIGINT, SIGTERM
from typing import TYPE_CHECKING, Final

from knobctl.cli.last_pushes import finish_pushes
from knobctl.errors import ExitCode, InputError, UsageError, gravest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knobctl.cli.session import Session
    from knobctl.tui.app import KnobctlApp
    from knobctl.tui.keymap import Keymap
    from knobctl.tui.workplace import Workplace

TURN_S: Final = 0.001
"""How long a thread that reads keeps the interpreter from the one that draws, which needs it several times for a key."""
GARBAGE: Final = (5_000, 20, 50)
"""How often garbage is looked for: in few things at a time, as everything waits for it, and in all things seldom."""


def assert_terminal() -> None:
    """See that there is a screen to draw on and a keyboard to read: it is drawn on standard error.

    Raises:
        UsageError: If there is not, naming the commands that need none.
    """
    lacking = [
        name
        for name, stream in (("standard input", sys.stdin), ("standard error", sys.stderr))
        if not stream.isatty()
    ]
    term = os.environ.get("TERM", "")
    if lacking:
        why = f"{' and '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} no terminal"
    elif term in {"", "dumb", "unknown"}:
        why = f"TERM is {term}" if term else "TERM is not set"
    else:
        return
    raise UsageError(
        f"the terminal UI needs a terminal that it can draw on; {why}",
        hint="line by line there are: knobctl check, diff, set, apply, history;"
        " in a browser: knobctl tui --serve",
    )


def run_app(session: Session, workplace: Workplace, theme: str | None, *, served: bool) -> ExitCode:
    """Run the terminal UI to its end.

    Args:
        session: The command's surroundings.
        workplace: What the UI is about.
        theme: The theme asked for; None for the one that fits the terminal.
        served: Whether it is drawn in a browser.

    Returns:
        `OK`, which signal ended it, or what became of a push that was finished after it.
    """
    if not served:
        assert_terminal()
    os.environ.setdefault(
        "ESCDELAY", "50"
    )  # before Textual is imported: how long Esc is waited for
    from knobctl.tui import themes

    chosen = themes.named(theme).name if theme else _fitting(session)
    os.environ.pop("NO_COLOR", None)  # the theme obeys it; Textual would make greys of its own
    give_turns()
    app = _made(workplace, chosen, read_keymap_file(session), served=served)
    with _signals_kept():
        try:
            app.run()
        finally:
            finished = finish_pushes(session, app.pushes)
    if app.crash:
        raise app.crash
    return gravest([ExitCode(app.return_code or ExitCode.OK), finished])


def give_turns() -> None:
    """See that what draws is not kept waiting by what reads."""
    sys.setswitchinterval(TURN_S)
    gc.set_threshold(*GARBAGE)


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Give the signals that the terminal's driver takes back what they meant."""
    before = {number: signal.getsignal(number) for number in (SIGTERM, SIGHUP, SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _made(workplace: Workplace, theme: str, keymap: Keymap, *, served: bool) -> KnobctlApp:
    from knobctl.tui.app import KnobctlApp

    if served:
        return KnobctlApp(workplace, theme=theme, keymap=keymap)
    from knobctl.tui.driver import Terminal

    return KnobctlApp(workplace, theme=theme, keymap=keymap, driver=Terminal)


def _fitting(session: Session) -> str:
    from knobctl.tui import themes

    return themes.PLAIN if session.settings.color == "never" else themes.fitting(os.environ)


def keymap_path(session: Session) -> Path:
    """Where the user's keys are."""
    from knobctl.tui.keymap import FILE

    return session.config_folder / FILE


def read_keymap_file(session: Session) -> Keymap:
    """Read the user's keys; none where there is no file.

    Raises:
        InputError: With `file:line:column`, if the file is no keymap.
    """
    from knobctl.tui.actions import ACTIONS
    from knobctl.tui.keymap import read_keymap

    path = keymap_path(session)
    try:
        return read_keymap(path.read_bytes(), str(path), ACTIONS)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def keymap_to_print(session: Session) -> str:
    """The keymap file with all actions, and what the user has by now."""
    from knobctl.tui.actions import ACTIONS
    from knobctl.tui.keymap import keymap_text

    return keymap_text(ACTIONS, read_keymap_file(session), str(keymap_path(session)))
