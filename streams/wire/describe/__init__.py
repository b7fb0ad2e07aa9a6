"""Any record of any Hopline topic as plain data, whatever is in it.

What can be decoded is decoded; what cannot is in ``malformed`` with its reason. Nothing raises,
because a reader that looks for what is wrong must not stumble over it. ``describe`` chooses by the
record's topic: ``messages`` are on a message's path, ``endpoint_state`` is what an endpoint worker
stores, ``cluster_topics`` all else; each fills a ``builder``.
"""

from streams.wire.describe.builder import Description
from streams.wire.describe.describe import describe
from streams.wire.describe.raw_record import RawRecord

__all__ = ["Description", "RawRecord", "describe"]
