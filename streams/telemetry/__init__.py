"""A process's own HTTP endpoints: metrics for Prometheus, health, readiness.

Only this package imports the Prometheus client library, and only on the first request for metrics.
"""

from streams.telemetry.http import HEAD_BYTES, Answers, address_of, answering, health_answer
from streams.telemetry.series import CONTENT_TYPE, Samples, Series, exposition_of

__all__ = [
    "CONTENT_TYPE",
    "HEAD_BYTES",
    "Answers",
    "Samples",
    "Series",
    "address_of",
    "answering",
    "exposition_of",
    "health_answer",
]
