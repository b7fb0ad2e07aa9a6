"""The parts that all workers of a process share: the catalog, heartbeats, and Kafka's time.

``control``, a ``control_thread``, is the only thread that reads ``catalog`` and ``presence`` of the
process's own cluster; it uses the ``consumer``. ``catalog_follower`` builds versions of the
catalog; ``heartbeats`` tracks which names are alive; ``catch_up`` waits until a topic has been read
to its end. Heartbeats are due according to ``heartbeat_schedule`` and written by
``heartbeat_writer``. ``remote_clusters`` manages the other clusters; a ``remote_watch`` reads the
heartbeats of each; ``remote_clients`` creates the clients.
"""

from streams.workers.control.control import Control
from streams.workers.control.control_thread import END_WITHIN
from streams.workers.control.remote_clusters import RemoteClusters

__all__ = ["END_WITHIN", "Control", "RemoteClusters"]
