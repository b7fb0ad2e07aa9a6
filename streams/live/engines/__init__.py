"""Engines that group records by dialog for `verify`: this process, or Spark.

An engine only reads records and groups them. For both engines, :mod:`streams.report` interprets the
records and evaluates each dialog, so both give the same ledger.
"""

from streams.live.engines.engine import (
    CaptureSource,
    Choose,
    ClusterSource,
    Engine,
    Positions,
    Source,
)
from streams.live.engines.local import LocalEngine

__all__ = [
    "CaptureSource",
    "Choose",
    "ClusterSource",
    "Engine",
    "LocalEngine",
    "Positions",
    "Source",
]
