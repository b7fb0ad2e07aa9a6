"""The forwarder: from a transmission queue to the next hop, or to the endpoint worker here."""

from streams.workers.forwarder.worker import ForwarderWorker

__all__ = ["ForwarderWorker"]
