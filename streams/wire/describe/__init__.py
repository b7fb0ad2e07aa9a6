"""Describe any record of any Hopline topic as plain data, regardless of its content.

Parts are decoded if possible; otherwise, ``malformed`` contains the reason. No function raises an
exception, because a tool that searches for errors must not fail when it finds one. ``describe``
selects a module by the record's topic: ``messages`` for records on a message's path,
``endpoint_state`` for the state of endpoint workers, ``cluster_topics`` for all other records; each
module fills a ``builder``.
"""

from streams.wire.describe.builder import Description
from streams.wire.describe.describe import describe
from streams.wire.describe.raw_record import RawRecord

__all__ = ["Description", "RawRecord", "describe"]
