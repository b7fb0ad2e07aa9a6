"""The Kafka workers: forwarder and endpoint, and the process that runs them.

On a message's path, ``endpoint`` reads the message from ``cmd`` and writes it to ``out``;
``forwarder`` forwards it at each hop; the ``endpoint`` of the other side delivers it to a queue.
``endpoint`` and ``forwarder`` are packages, and neither imports the other.

Both packages use these modules: ``control`` provides the catalog and Kafka's time, and reads and
writes heartbeats. ``slot`` is a worker's name across restarts, and ``ownership`` is a worker's
right to work for a mirrored pair. ``produce_when_full`` passes records to Kafka's client,
``record_errors`` distinguishes errors that a record causes from all others, and ``event_counts``
contains a worker's counters.

The other modules serve the whole process: ``process`` starts and stops workers, and trims topics;
``collector`` tunes the garbage collector; ``log_context`` names the worker in log lines; ``pulse``
detects hung threads; ``http`` serves ``health`` and ``metrics``.
"""

from streams.kafka import FencedError
from streams.workers.control import Control
from streams.workers.endpoint import EndpointWorker, Pace, Tuning
from streams.workers.forwarder import ForwarderWorker
from streams.workers.log_context import WORKING
from streams.workers.process import ROLES, Plan, Process, randomize_guid_hashes

__all__ = [
    "ROLES",
    "WORKING",
    "Control",
    "EndpointWorker",
    "FencedError",
    "ForwarderWorker",
    "Pace",
    "Plan",
    "Process",
    "Tuning",
    "randomize_guid_hashes",
]
