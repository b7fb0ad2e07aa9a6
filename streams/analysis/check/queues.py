"""Settings of queues that stop or slow down their readers (TA-33)."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.known import Home
from streams.analysis.objects import finding, user_databases
from streams.prose import listed
from streams.topology import Finding, Queue, Severity


def queues(estate: Estate) -> Iterator[Finding]:
    """Find queues that are off, keep received messages, or repeat a poison message (4.11)."""
    for at in user_databases(estate):
        for queue in at.database.queues.values():
            for what, remedy in _settings(queue):
                yield _finding(at, queue, what, remedy)


def _settings(queue: Queue) -> Iterator[tuple[str, str]]:
    if not queue.status:
        yield "is off: messages wait at the target", "ALTER QUEUE ... STATUS = ON."
    if queue.activated is not None and queue.max_readers == 0:
        yield (
            f"activates {queue.activated}, but with MAX_QUEUE_READERS = 0 no reader starts",
            "ALTER QUEUE ... WITH ACTIVATION (MAX_QUEUE_READERS = 1), or turn activation off.",
        )
    if queue.retention:
        yield (
            "retains messages until their dialog ends",
            "Turn RETENTION off unless an audit needs it: long dialogs make the queue slow.",
        )
    if not queue.poison_message_handling and queue.activated is None:
        yield (
            "has neither poison message handling nor activation: a message that always fails is "
            "read forever",
            "Turn POISON_MESSAGE_HANDLING on, or make sure that the reader sets such messages "
            "aside.",
        )


def _finding(at: Home, queue: Queue, what: str, remedy: str) -> Finding:
    folded = queue.name.casefold()
    services = [s.name for s in at.database.services.values() if s.queue.casefold() == folded]
    of = f" of {listed(services)}" if services else ""
    return finding(
        "TA-33", Severity.WARNING, at, queue.source,
        f"queue {queue.name}{of} {what}", remedy,
        queue=queue.name, services=services, status=queue.status, retention=queue.retention,
        poison_message_handling=queue.poison_message_handling, activation=queue.activated,
    )  # fmt: skip


CHECKS = (
    Check(
        "TA-33",
        "A queue that is off, retains messages, or repeats poison messages",
        (Severity.WARNING,),
        "reference 4.11",
        "While a queue is off, its services receive nothing and messages wait at the target. With "
        "MAX_QUEUE_READERS = 0, its activation starts no reader. "
        "RETENTION keeps every message of a dialog in the queue until the dialog ends. Without "
        "poison message handling, a transaction that always rolls back is repeated forever. "
        "Missing poison message handling is reported only for queues without activation, because "
        "an activated procedure is expected to handle such messages.",
        "Turn the queue and poison message handling on, and retention off. If a setting is "
        "intended, suppress the finding and give the reason.",
        queues,
    ),
)
