"""What the workers of a process share: the catalog, heartbeats, and what time it is.

``control`` is the one thread that reads ``catalog`` and ``presence`` of the process's own cluster,
with the ``consumer``. ``catalog_follower`` makes versions of the catalog of what is read,
``heartbeats`` which names live; ``catch_up`` waits until a topic is read to its end. What the
process writes is due by the ``heartbeat_schedule`` and written by ``heartbeat_writer``.
``remote_clusters`` reads the heartbeats of other clusters.
"""

from streams.workers.control.control import Control
from streams.workers.control.remote_clusters import RemoteClusters

__all__ = ["Control", "RemoteClusters"]
