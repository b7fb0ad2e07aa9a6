"""The endpoint worker: statements and frames in; frames, queues and the state of dialogs out.

Before the first message, ``standby`` waits for the slot where it is told to, ``assignment`` takes
over each ``partition`` that the worker is dealt, and ``restore`` brings back the dialogs in it.

In the order in which a message meets them: ``worker`` reads it, and what it reads in one turn is a
transaction; ``inputs`` has ``node`` apply it, and reads bodies again for what is sent again;
``transactions`` has ``output`` write what follows from it, and commits. ``move_bodies`` copies the
bodies that keep a log from being trimmed.
"""

from streams.workers.endpoint.worker import EndpointWorker, Pace

__all__ = ["EndpointWorker", "Pace"]
