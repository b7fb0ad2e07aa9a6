"""A system in which all retention of Kafka and Hopline is shorter than a minute.

``python -m tests.faults.brief MODULE ARGUMENTS`` runs ``streams`` (a worker) or an application with
the shortened settings; ``shortened()`` applies them to this process, which creates the topics.
"""

from __future__ import annotations

import functools
import importlib
import runpy
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from streams.embedded import Beside
from streams.protocol import Limits
from streams.wire import specs
from tests.killable import RESTARTS_SOON

LIMITS = Limits(time_to_live=8_000, retries=(1_000, 2_000, 4_000, 8_000), closed_initiator=20_000)
"""A copy lives for 8 s; the key of a closed dialog is kept for 12 s after the last frame."""
LONGEST = 75.0
"""Seconds after which all of this is deleted. The offsets of a group take longest: a session of 10
s, retention of a minute (Kafka's minimum), and 5 s until Kafka checks. A transaction that a worker
leaves open ends after at most 25 s, and its transactional id is deleted 35 s later."""
BROKER = Beside(
    properties={
        **RESTARTS_SOON.properties,
        "offsets.retention.minutes": "1",
        "offsets.retention.check.interval.ms": "5000",
        "transactional.id.expiration.ms": "30000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "5000",
        "producer.id.expiration.ms": "30000",
        "producer.id.expiration.check.interval.ms": "5000",
        "log.retention.check.interval.ms": "5000",
        "log.cleaner.backoff.ms": "5000",
    }
)
_AGES = {"retention.ms": "20000", "segment.ms": "5000", "file.delete.delay.ms": "1000"}
_COMPACTS = {
    "segment.ms": "5000",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "5000",
    "delete.retention.ms": "10000",
}
SHORTENED: Mapping[str, Mapping[str, str]] = {
    "event": _AGES,
    "result": _AGES,
    "dialog": _COMPACTS,
    "reading": _COMPACTS,
}
"""Shortened settings by the kind of topic. Messages have no retention that could be shortened."""


@contextmanager
def shortened() -> Iterator[None]:
    """Create and compare topics with the shortened settings."""
    kinds = cast(dict[str, Mapping[str, str]], specs.KINDS)
    before = dict(kinds)
    kinds.update({kind: {**kinds[kind], **config} for kind, config in SHORTENED.items()})
    try:
        yield
    finally:
        kinds.update(before)


def main(module: str, *arguments: str) -> None:
    """Run a module like ``python -m``, with the shortened settings."""
    worker: Any = importlib.import_module("streams.cli.run.worker")
    worker.Process = functools.partial(worker.Process, limits=LIMITS)
    sys.argv = [module, *arguments]
    with shortened():
        runpy.run_module(module, run_name="__main__", alter_sys=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
