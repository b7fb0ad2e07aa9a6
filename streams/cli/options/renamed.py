"""A renamed option: the former name still works, but the help does not show it."""

from __future__ import annotations

from functools import partial
from typing import Any

import click


class RenamedOption(click.Option):
    """An option that the parser also accepts under a former name.

    Help, errors, completion and the documentation show ``opts``, which does not include the former
    name.
    """

    def __init__(self, *args: Any, former: str, **extra: Any) -> None:
        """Accept click's arguments, and the former name: ``--group-id``."""
        super().__init__(*args, **extra)
        self.former = former

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Register all names; click takes them from ``opts``."""
        shown = self.opts
        self.opts = [*shown, self.former]
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = shown


# Services are named by --from and --to in other commands.
since_option = partial(click.option, "--since", cls=RenamedOption, former="--from")
until_option = partial(click.option, "--until", cls=RenamedOption, former="--to")
