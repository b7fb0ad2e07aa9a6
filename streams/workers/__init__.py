"""The Kafka workers: forwarder and endpoint, and the process that runs them."""

from streams.kafka import FencedError
from streams.workers.control import Control
from streams.workers.endpoint import EndpointWorker, Pace
from streams.workers.forwarder import ForwarderWorker
from streams.workers.process import ROLES, Plan, Process, stop_on_signals
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
    "stop_on_signals",
]
