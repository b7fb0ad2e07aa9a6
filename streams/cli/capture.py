"""``hopline capture``: make captures, of what others have recorded, and of parts of others."""

from __future__ import annotations

import click

from streams.cli.capture_import import import_
from streams.cli.capture_slice import slice_


@click.group()
def capture() -> None:
    """Make captures: files of traffic for inspect, diff and replay.

    `hopline generate traffic` makes one up, `hopline simulate --capture` writes a simulated run.
    """


capture.add_command(import_)
capture.add_command(slice_)
