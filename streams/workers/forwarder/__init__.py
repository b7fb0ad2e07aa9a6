"""The forwarder: from a transmission queue to the next hop, or to the local endpoint worker.

On a message's path, ``loop`` reads the message, and ``read_record`` its headers; ``admission``
limits headers that other clusters have written. ``processor`` takes the ``fast_path``, or asks
``node`` for a decision, whose outcome ``outcome_writer`` writes; ``topic_names`` determines the
topics. When there is time, ``postponed_events`` reports copies that were dropped on the fast path.
``local_producer`` writes forwarded copies; for other clusters, ``remote_producers`` does so, with
one ``remote_producer`` for each cluster. ``buffered_copies`` wait in memory. ``offset_tracker``
tracks finished records, and ``loop`` commits their offsets. ``worker`` starts and stops the loop.
"""

from streams.workers.forwarder.worker import ForwarderWorker

__all__ = ["ForwarderWorker"]
