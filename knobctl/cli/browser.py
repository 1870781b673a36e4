"""`knobctl tui --serve`: the terminal UI in a browser on this machine."""

from __future__ import annotations

import os
import re
import secrets
import sys
from typing import TYPE_CHECKING, Final

import click

from knobctl.errors import UsageError

if TYPE_CHECKING:
    from knobctl.cli.session import Session

_NEEDED: Final = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|XDG_\w+|NO_COLOR|COLUMNS|ROWS|"
    r"(?:https?|all|no)_proxy|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|SSL_CERT_FILE|SSL_CERT_DIR|"
    r"PYTHON\w+|VIRTUAL_ENV|SYSTEMROOT|KNOBCTL_(?!TOKEN$|EMBEDDER_KEY$)\w+",
    re.IGNORECASE,
)
"""What a session is given of our environment; tokens and keys of other things are not among it."""


def is_served() -> bool:
    """Whether this process is the session of one browser."""
    return os.environ.get("TEXTUAL_DRIVER", "").startswith("knobctl.")


def serve_browsers(session: Session, port: int, *, read_only: bool) -> None:
    """Serve until SIGTERM or SIGINT: a session for each browser, run as this command line was.

    Raises:
        UsageError: If the port cannot be had.
    """
    from knobctl.server.serving import listen
    from knobctl.tui.serve import HOST, Served, serve

    served = Served(
        command=(sys.executable, "-c", _MAIN, *sys.argv[1:]),
        environment=_environment(session),
        title=f"knobctl {session.target.engine}",
    )
    can = "It writes nothing" if read_only else "It can write, once armed"

    out = sys.stdout  # while sessions are served, what is printed is something that one said

    def say(text: str) -> None:
        click.echo(text, err=True)

    with listen(HOST, port) as listening:
        say(f"{can}; the address is good for one browser, then a new one is printed. Ctrl-C ends.")
        serve(
            listening,
            served,
            secret=lambda: secrets.token_urlsafe(24),
            address=lambda text: click.echo(text, file=out),
            say=say,
        )


def assert_port_is_of_use(port: int | None, *, serve: bool) -> None:
    """See that a port is not named where nobody listens.

    Raises:
        UsageError: If it is.
    """
    if port is not None and not serve:
        raise UsageError("--port is for --serve", hint="knobctl tui --serve --port N")


def _environment(session: Session) -> dict[str, str]:
    """What a session needs: of secrets, only the token that this engine's calls carry."""
    from knobctl.engine.tokens import GivenToken, TokenCommand

    tokens = session.target.tokens
    if isinstance(tokens, TokenCommand):  # nobody knows what the command needs
        return dict(os.environ)
    is_embedded = session.target.is_embedded
    token = tokens.value if isinstance(tokens, GivenToken) and not is_embedded else None
    key = "KNOBCTL_EMBEDDER_KEY" if is_embedded else None
    return {
        name: value
        for name, value in os.environ.items()
        if _NEEDED.fullmatch(name) or value == token or name == key
    }


_MAIN: Final = "from knobctl.cli.main import main; main()"
