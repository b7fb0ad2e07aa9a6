"""The main job, shown: `hopline demo`."""

from streams.demo.run import Options, Stage, run

__all__ = ["Options", "Stage", "run"]
