"""Describe any record of any Hopline topic as plain data, whatever its content.

Decodable parts are decoded; others are in ``malformed`` with the reason. Nothing raises, because a
tool that looks for errors must not fail on them. ``describe`` chooses by the record's topic:
``messages`` has the records on a message's path, ``endpoint_state`` the state of endpoint workers,
``cluster_topics`` the rest; each fills a ``builder``.
"""

from streams.wire.describe.builder import Description
from streams.wire.describe.describe import describe
from streams.wire.describe.raw_record import RawRecord

__all__ = ["Description", "RawRecord", "describe"]
