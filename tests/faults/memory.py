"""What Kafka still remembers of a worker that was absent for longer than every retention.

A run of such absences proves nothing if Kafka has not forgotten the workers, for example because a
shortened retention (``tests/faults/brief.py``) had no effect.
"""

from __future__ import annotations

from streams.kafka import Cluster
from tests.faults.brief import LONGEST
from tests.faults.plan import Fault, FaultKind
from tests.faults.scenarios import ENDPOINTS, WORKERS
from tests.faults.strangers import group_of, transactional_id
from tests.remembering import has_offsets, has_transactional_id

_ALONE = (FaultKind.ASLEEP, FaultKind.GONE)
"""Absences without a replacement, which would keep the group and the transactional id alive."""


def is_forgetting(fault: Fault) -> bool:
    """Return whether Kafka must have forgotten the worker at the end of its absence."""
    return fault.kind in _ALONE and fault.victim in WORKERS and fault.lasts >= LONGEST


def remembered(cluster: Cluster, worker: str) -> list[str]:
    """Return what Kafka has of a worker: offsets of its group, and its transactional id."""
    found = []
    if has_offsets(cluster, group_of(cluster, worker)):
        found.append(f"offsets of {worker}")
    if worker in ENDPOINTS and has_transactional_id(cluster, transactional_id(cluster, worker)):
        found.append(f"transactional id of {worker}")
    return found
