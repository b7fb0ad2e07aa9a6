"""A command with many options, grouped under headings in its ``--help``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click


class HeadedCommand(click.Command):
    """A command whose help groups options under headings; options without a heading come first."""

    def __init__(
        self, *args: Any, headings: Mapping[str, Sequence[str]] | None = None, **extra: Any
    ) -> None:
        """Accept click's arguments, and the headings in display order."""
        super().__init__(*args, **extra)
        self.headings = headings or {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings."""
        heading_of = {name: heading for heading, names in self.headings.items() for name in names}
        for heading in ("Options", *self.headings):
            rows = [
                record
                for param in self.get_params(ctx)
                if heading_of.get(param.name or "", "Options") == heading
                and (record := param.get_help_record(ctx)) is not None
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
