"""`knobctl tui`: the terminal UI."""

from __future__ import annotations

import click

from knobctl.cli.options import Settings, common_options
from knobctl.errors import ExitCode


@click.command(name="tui")
@click.argument("path", default=".", type=click.Path())
@click.option("--read-only", is_flag=True, help="Write nothing, whatever is typed.")
@common_options(engine=True, rate=True, formats=())
def command(settings: Settings, path: str, read_only: bool) -> ExitCode:
    """Find a tenant, see what its floor does, edit with consequences, see the diff, push.

    PATH holds the documents, as for `knobctl apply`; the working folder if none is given.
    """
    from knobctl.cli.session import Session
    from knobctl.cli.workplace import SessionWorkplace
    from knobctl.tui.app import KnobctlApp

    with Session(settings) as session:
        KnobctlApp(SessionWorkplace(session, path, read_only=read_only)).run()
    return ExitCode.OK
