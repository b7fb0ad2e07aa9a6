"""What brings the records of each dialog together for `verify`: this process, or Spark.

An engine reads and groups, and decides nothing. What a record says of a dialog, and what the parts
of a dialog come to, is :mod:`streams.report`'s for both, so both give the same ledger.
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
