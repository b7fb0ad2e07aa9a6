"""The forwarder: from a transmission queue to the next hop, or to the local endpoint worker.

On a message's path, ``loop`` reads it, and ``read_record`` reads its headers; ``processor`` takes
the ``fast_path``, or asks ``node`` for a decision, which ``outcome_writer`` performs;
``topic_names`` has the topics. ``local_producer`` writes forwarded copies; for other clusters
``remote_producers`` does, with one ``remote_producer`` for each. ``buffered_copies`` wait in
memory. ``offset_tracker`` knows which records are done, and ``loop`` commits their offsets.
``worker`` starts and stops.
"""

from streams.workers.forwarder.worker import ForwarderWorker

__all__ = ["ForwarderWorker"]
