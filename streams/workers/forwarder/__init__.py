"""The forwarder: from a transmission queue to the next hop, or to the endpoint worker here.

In the order in which a message meets them: ``loop`` reads it, ``read_record`` its headers;
``processor`` takes ``fast_path``, or asks ``node`` for a decision, which ``outcome_writer``
performs; ``topic_names`` has the topics.
``local_producer`` writes what is forwarded; for other clusters ``remote_producers`` does, with one
``remote_producer`` for each. ``buffered_copies`` are what cannot be written. ``offset_tracker``
knows which records are done, and ``loop`` commits their offsets. ``worker`` begins and ends.
"""

from streams.workers.forwarder.worker import ForwarderWorker

__all__ = ["ForwarderWorker"]
