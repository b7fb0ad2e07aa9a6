"""Determine the status of a system from its Kafka cluster: heartbeats, groups, catalog."""

from streams.live.remote.heartbeats import LastHeartbeat, read_heartbeats
from streams.live.remote.status import RemoteStatus, Unserved, find_remote_status
from streams.live.remote.workers import RemoteWorker, workers_of

__all__ = [
    "LastHeartbeat",
    "RemoteStatus",
    "RemoteWorker",
    "Unserved",
    "find_remote_status",
    "read_heartbeats",
    "workers_of",
]
