"""`knobctl tui`: the terminal UI."""

from __future__ import annotations

import click

from knobctl.cli.options import Settings, common_options
from knobctl.errors import ExitCode


@click.command(name="tui")
@click.argument("path", default=".", type=click.Path(exists=True))
@click.option(
    "--read-only/--writable",
    default=None,
    help="Whether nothing is written, whatever is typed: only with --serve, unless said.",
)
@click.option("--serve", is_flag=True, help="Show it in a browser on this machine instead.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="With --serve: the port, of 127.0.0.1 alone; a free one if left out.",
)
@click.option(
    "--theme",
    envvar="KNOBCTL_THEME",
    metavar="NAME",
    help="knobctl-dark, knobctl-light, high-contrast, ansi or plain; else what fits the terminal.",
)
@click.option(
    "--print-keymap", is_flag=True, help="Print all actions and their keys as a keymap file."
)
@common_options(engine=True, rate=True, formats=())
def command(
    settings: Settings,
    path: str,
    read_only: bool | None,
    serve: bool,
    port: int | None,
    theme: str | None,
    print_keymap: bool,
) -> ExitCode:
    """Find a tenant, see what its floor does, edit with consequences, see the diff, push.

    PATH holds the documents, as for `knobctl apply`; the working folder if none is given.
    """
    from knobctl.cli.browser import assert_port_is_of_use, is_served, serve_browsers
    from knobctl.cli.screen import keymap_to_print, run_app
    from knobctl.cli.session import Session

    assert_port_is_of_use(port, serve=serve)
    read_only = serve if read_only is None else read_only
    with Session(settings) as session:
        if print_keymap:
            click.echo(keymap_to_print(session), nl=False)
            return ExitCode.OK
        if serve and not is_served():
            serve_browsers(session, port or 0, read_only=read_only)
            return ExitCode.OK
        from knobctl.cli.workplace import SessionWorkplace

        workplace = SessionWorkplace(session, path, read_only=read_only)
        return run_app(session, workplace, theme, served=is_served())
