"""Causes of messages that stay in a service's queue, because nothing receives them.

Source: R. Rusanu, "Understanding Queue Monitors", and the documentation of activation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streams.analysis.diagnose.case import placed
from streams.analysis.diagnose.cause import Cause, Evidence, Stage
from streams.analysis.diagnose.leaks import MANY
from streams.analysis.diagnose.report import Diagnosis
from streams.analysis.diagnose.text import age_text
from streams.analysis.estate import Estate
from streams.prose import counted
from streams.system_names import SYSTEM_QUEUES
from streams.topology.snapshot import LiveInstance, LiveQueue

STARTED = 300.0
"""Seconds after which a procedure that was activated must have executed RECEIVE."""
_NOTIFIED = "NOTIFIED"


@dataclass(frozen=True, slots=True)
class Unread:
    """A queue with messages; ``enabled``: whether the broker of its database is on."""

    live: LiveInstance
    queue: LiveQueue
    enabled: bool

    @property
    def monitored(self) -> bool:
        """Return whether the queue has a monitor, or the snapshot does not show monitors."""
        return self.queue.monitor is not None or "dm_broker_queue_monitors" in self.live.missing


def diagnose_queues(estate: Estate, live: LiveInstance) -> Iterator[Diagnosis]:
    """Yield diagnoses of the queues of one instance that hold messages."""
    instance = estate.topology.instances[live.name]
    for queue in live.queues:
        database = instance.database(queue.database)
        if not queue.messages or queue.name in SYSTEM_QUEUES or database is None:
            continue
        unread = Unread(live, queue, database.enabled)
        hits = ((cause, found) for cause in CAUSES if (found := cause.find(unread)))
        for cause, evidence in hits:
            yield Diagnosis(
                cause, f"{live.name}/{queue.database}", queue.name, "", queue.messages, None,
                evidence, sources=(queue.source,),
            )  # fmt: skip
            break


def _off(unread: Unread) -> Evidence | None:
    queue = unread.queue
    if queue.receives:
        return None
    return (placed(f"queue {queue.name} is disabled, and no session can receive", queue.source),)


def _broker_off(unread: Unread) -> Evidence | None:
    if unread.enabled or not unread.queue.activates:
        return None
    return (f"activation is on, but is_broker_enabled is 0 for {unread.queue.database}",)


def _not_activated(unread: Unread) -> Evidence | None:
    queue = unread.queue
    if queue.procedure is None or (queue.activates and queue.readers != 0):
        return None
    setting = "MAX_QUEUE_READERS is 0" if queue.activates else "ACTIVATION has STATUS = OFF"
    return (placed(f"{setting}, so {queue.procedure} does not run", queue.source),)


def _not_receiving(unread: Unread) -> Evidence | None:
    monitor, taken = unread.queue.monitor, unread.live.taken_at
    if monitor is None or monitor.state != _NOTIFIED or monitor.waiting:
        return None
    if taken is None or monitor.activated is None or taken - monitor.activated <= STARTED:
        return None
    ago = age_text(taken - monitor.activated)
    started = f"its monitor started a reader {ago} ago, and is NOTIFIED"
    return (placed(started, monitor.source), "no session has executed RECEIVE since then")


def _not_monitored(unread: Unread) -> Evidence | None:
    if not unread.queue.activates or unread.monitored:
        return None
    return ("activation is on, but the queue has no monitor (sys.dm_broker_queue_monitors)",)


def _retained(unread: Unread) -> Evidence | None:
    if not unread.queue.retains or unread.queue.messages < MANY:
        return None
    return (placed("RETENTION is ON: received messages stay", unread.queue.source),)


def _no_reader(unread: Unread) -> Evidence | None:
    queue = unread.queue
    if queue.procedure is not None or unread.monitored or queue.messages < MANY:
        return None
    many = counted(queue.messages, "message")
    return (placed(f"the queue has no activation, no monitor, and {many}", queue.source),)


CAUSES: tuple[Cause[Unread], ...] = (
    Cause(
        "queue-disabled", Stage.QUEUE, "The queue is disabled",
        (9617,), "reference 4.11",
        "Five rollbacks in a row turn a queue off, or an application or administrator has done "
        "so, for example during maintenance. After rollbacks, find the error of the reader in the "
        "error log, and the message that causes it in the queue (SELECT). ALTER QUEUE ... WITH "
        "ACTIVATION (STATUS = OFF), then WITH STATUS = ON; handle the message or end its dialog, "
        "and turn activation on. A reader must leave its loop after an error. Database Mail: "
        "EXECUTE msdb.dbo.sysmail_start_sp.",
        _off,
    ),
    Cause(
        "queue-broker-off", Stage.QUEUE, "The broker of the queue's database is off",
        (), "reference 1.5, 4.13",
        "ALTER DATABASE ... SET ENABLE_BROKER; it needs exclusive access to the database, which "
        "WITH ROLLBACK IMMEDIATE gives it. Without the broker, no queue monitor exists and no "
        "procedure is activated.",
        _broker_off,
    ),
    Cause(
        "not-activated", Stage.QUEUE, "Activation of the queue is off",
        (), "reference 4.13",
        "ALTER QUEUE ... WITH ACTIVATION (STATUS = ON, MAX_QUEUE_READERS = 1), unless an "
        "application receives instead.",
        _not_activated,
    ),
    Cause(
        "reader-does-not-receive", Stage.QUEUE, "The activated reader does not receive",
        (9724,), "reference 4.13",
        "The monitor starts no other reader before a RECEIVE. Search the error log for \"The "
        "activated proc\": the procedure failed, its EXECUTE AS user cannot be impersonated, or it "
        "returns without RECEIVE from this queue. Test it with EXECUTE AS USER in a session. Then "
        "ALTER QUEUE ... WITH ACTIVATION (STATUS = OFF), and again (STATUS = ON). After a "
        "QUEUE_ACTIVATION notification, the external application is the reader.",
        _not_receiving,
    ),
    Cause(
        "not-monitored", Stage.QUEUE, "No monitor watches the queue",
        (), "reference 4.13",
        "ALTER QUEUE ... WITH ACTIVATION (STATUS = OFF), and again (STATUS = ON). Check that the "
        "user of EXECUTE AS exists.",
        _not_monitored,
    ),
    Cause(
        "retained", Stage.QUEUE, "The queue retains messages until their dialogs end",
        (), "reference 4.11",
        "Both sides END CONVERSATION, which removes the dialog's messages; or ALTER QUEUE ... WITH "
        "RETENTION = OFF.",
        _retained,
    ),
    Cause(
        "no-reader", Stage.QUEUE, "The queue has no activation",
        (), "reference 4.13",
        "Check that an application receives from the queue. If an external activator reads the "
        "queue, recreate its QUEUE_ACTIVATION event notification: END CONVERSATION ... WITH "
        "CLEANUP on the notification's dialog had dropped it. If the application that created the "
        "queue is gone, END CONVERSATION for its dialogs, and DROP its services and the queue.",
        _no_reader, bad=False,
    ),
)  # fmt: skip
"""The causes of unread messages, in the order in which they are checked."""
