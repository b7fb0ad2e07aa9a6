"""A demonstration of the main functions: `hopline demo`."""

from streams.demo.kept import stop
from streams.demo.run import Options, Stage, run
from streams.demo.text import DATA

__all__ = ["DATA", "Options", "Stage", "run", "stop"]
