"""``hopline completion``: tab completion for the shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_VARIABLE = "_HOPLINE_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    bash: hopline completion bash >> ~/.bashrc
    zsh:  hopline completion zsh >> ~/.zshrc
    fish: hopline completion fish > ~/.config/fish/completions/hopline.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.BadParameter(f"Click does not support {shell}.")
    click.echo(kind(ctx.find_root().command, {}, "hopline", _VARIABLE).source())
