"""The endpoint worker: statements and frames in; frames, queues and the state of dialogs out.

Before the first message, ``standby`` waits for the slot where it is told to, ``assignment`` takes
over each ``partition`` that the worker is dealt, and ``restore`` brings back the dialogs in it.

In the order in which a message meets them: ``loop`` reads it, and what it reads in one turn is a
transaction, or several by ``commit_work``. ``apply_work`` applies the work of one partition,
record by record; ``inputs`` has ``node`` apply a record, and reads bodies again for what is sent
again;
``held_back`` are statements that cannot be read yet. ``transactions`` has ``output`` write what
follows from it, and commits. ``move_bodies`` copies the bodies that keep a log from being trimmed.
``tuning`` says how much is done at a time. ``worker`` begins and ends.
"""

from streams.workers.endpoint.tuning import Pace, Tuning
from streams.workers.endpoint.worker import EndpointWorker

__all__ = ["EndpointWorker", "Pace", "Tuning"]
