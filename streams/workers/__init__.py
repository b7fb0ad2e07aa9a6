"""The Kafka workers: forwarder and endpoint, and the process that runs them.

In the order in which a message meets them: ``relay`` brings it from an outbox into ``cmd``, where
an application has one; ``endpoint`` accepts it and writes it into ``out``; ``forwarder`` passes it
on, once at each hop; ``endpoint`` of the other side delivers it into a queue. These two are
folders, and neither imports the other.

What both use: ``control`` has the catalog and what time it is, and reads and writes heartbeats.
``slot`` is a worker's name across restarts, ``ownership`` its right to work for a mirrored pair.
``room`` passes records to Kafka's client, ``event_counts`` is what a worker counts of itself.

Around them: ``process`` starts and stops workers, and shortens topics behind them; ``collector`` is
the garbage collector as they need it, ``working`` whose line of the log it is, ``pulse`` whether a
thread gets on.
``http`` answers who asks, by ``health`` and ``metrics``.
"""

from streams.kafka import FencedError
from streams.workers.control import Control
from streams.workers.endpoint import EndpointWorker, Pace, Tuning
from streams.workers.forwarder import ForwarderWorker
from streams.workers.process import ROLES, Plan, Process
from streams.workers.working import WORKING

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
]
