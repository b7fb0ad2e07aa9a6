"""The endpoint worker: statements and frames in; frames, queues and the state of dialogs out."""

from streams.workers.endpoint.worker import EndpointWorker, Pace

__all__ = ["EndpointWorker", "Pace"]
