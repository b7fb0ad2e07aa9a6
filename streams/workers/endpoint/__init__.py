"""The endpoint worker: reads statements and frames; writes frames, queues and dialog state.

At the start, ``standby`` waits for the slot if requested. ``assignment`` takes over each assigned
``partition``, and ``restore`` restores its dialogs. ``completeness`` decides whether a standby has
missed deletions.

On a message's path, ``loop`` reads the message, and ``commit_work`` commits the records of one turn
in one or several transactions. ``apply_work`` applies the work of one partition, record by record;
``inputs`` decodes a record and lets ``node`` apply it; ``bodies`` rereads bodies for retries;
``held_back`` keeps statements that cannot be decoded yet. ``transactions`` commits after ``output``
has written the results; ``rounds`` divides the records so that Kafka's client need not queue them.
``move_bodies`` copies bodies that prevent a log from being trimmed. ``tuning`` defines the limits;
``allowance`` adapts the size of a transaction to its duration. ``worker`` starts and stops the
loop.
"""

from streams.workers.endpoint.tuning import Pace, Tuning
from streams.workers.endpoint.worker import EndpointWorker

__all__ = ["EndpointWorker", "Pace", "Tuning"]
