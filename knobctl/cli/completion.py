"""`knobctl completion`: the script that teaches a shell to complete knobctl."""

from __future__ import annotations

import click

from knobctl.cli.options import Settings, common_options
from knobctl.errors import ExitCode


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common_options(formats=())
def command(settings: Settings, shell: str) -> ExitCode:
    """Print the completion script of a shell.

    bash: knobctl completion bash > ~/.local/share/bash-completion/completions/knobctl

    zsh:  knobctl completion zsh > "${fpath[1]}/_knobctl"

    fish: knobctl completion fish > ~/.config/fish/completions/knobctl.fish

    Completes commands, options, tenants (of the working folder's repository and of the embedded
    engine), knobs and their values, and contexts. It asks no engine over the network.
    """
    from knobctl.cli.group import commands
    from knobctl.cli.shells import PROGRAM, SHELLS, VARIABLE

    settings.answer({"text": SHELLS[shell](commands, {}, PROGRAM, VARIABLE).source})
    return ExitCode.OK
