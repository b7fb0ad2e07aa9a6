"""The command ``hopline``. Nothing but click is imported until a command is chosen."""

from streams.cli.group import main

__all__ = ["main"]
