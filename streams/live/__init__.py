"""Start, stop, query and change a running system."""

from streams.live.cluster_status import CatalogStatus, Lag
from streams.live.health import Health
from streams.live.local.folder import System, UpFolder, WorkerProcess, default_folder
from streams.live.local.readiness import WorkerStatus
from streams.live.local.start import Started, Wish, start
from streams.live.local.start_parts import start_parts
from streams.live.local.status import Status, find_status, find_statuses, worst
from streams.live.local.stop import Stopped, stop

__all__ = [
    "CatalogStatus",
    "Health",
    "Lag",
    "Started",
    "Status",
    "Stopped",
    "System",
    "UpFolder",
    "Wish",
    "WorkerProcess",
    "WorkerStatus",
    "default_folder",
    "find_status",
    "find_statuses",
    "start",
    "start_parts",
    "stop",
    "worst",
]
