"""Snapshots of live servers: the script that takes a snapshot, and its reader.

:func:`load_snapshot` reads the output of :func:`json_script` or :func:`csv_script` into a topology
whose objects have a file and a line, and into the state of each instance (:class:`LiveInstance`).
"""

from streams.topology.snapshot.files import (
    files_of,
    is_snapshot,
    load_snapshot,
    over,
    read_instance,
    sources_at,
)
from streams.topology.snapshot.json_file import MARK
from streams.topology.snapshot.script import RIGHTS, ROWS, csv_script, json_script
from streams.topology.snapshot.state import (
    Connection,
    ConversationEndpoint,
    DialogState,
    ForwardedMessage,
    LiveInstance,
    LiveQueue,
    QueuedMessage,
    QueueMonitor,
    Snapshot,
)
from streams.topology.snapshot.views import STATUS_NUMBERS, VIEWS, CellType, Scope, View

__all__ = [
    "MARK",
    "RIGHTS",
    "ROWS",
    "STATUS_NUMBERS",
    "VIEWS",
    "CellType",
    "Connection",
    "ConversationEndpoint",
    "DialogState",
    "ForwardedMessage",
    "LiveInstance",
    "LiveQueue",
    "QueueMonitor",
    "QueuedMessage",
    "Scope",
    "Snapshot",
    "View",
    "csv_script",
    "files_of",
    "is_snapshot",
    "json_script",
    "load_snapshot",
    "over",
    "read_instance",
    "sources_at",
]
