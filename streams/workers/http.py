"""``/metrics``, ``/healthz`` and ``/readyz`` of a process of workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from streams.telemetry import CONTENT_TYPE, Answers, answering, exposition_of, health_answer
from streams.workers.health import Health
from streams.workers.metrics import figures_of
from streams.workers.process import Process


@contextmanager
def serving(process: Process, address: str, within: float) -> Iterator[int]:
    """Serve requests while the block runs; yield the port.

    Raises UsageError for an invalid address, SurroundingsError if it is unavailable.
    """
    health = Health(process, within)
    metrics = exposition_of(lambda: figures_of(process))
    answers: Answers = {
        "/metrics": lambda: (200, CONTENT_TYPE, metrics()),
        "/healthz": lambda: health_answer(health.failures()),
        "/readyz": lambda: health_answer(health.missing()),
    }
    with answering(address, answers) as port:
        yield port
