"""Conversations that code does not end, or ends too early (TA-43)."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.check.code_names import name_key
from streams.analysis.check.readers import Code, one_sided, unread
from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.known import Home
from streams.analysis.objects import finding, user_databases
from streams.system_names import SYSTEM_SERVICES
from streams.topology import BeginDialog, Finding, Procedure, Queue, Severity, queue_of


def leaks(estate: Estate) -> Iterator[Finding]:
    """Find conversations that stay open, and those whose initiator misses errors."""
    found = list(_never_ended(estate))
    yield from found
    yield from forgotten(estate)
    queues = [(one.subject, one.evidence["queue"]) for one in found]
    yield from one_sided(estate, queues)
    yield from unread(estate, queues)


def _never_ended(estate: Estate) -> Iterator[Finding]:
    """Find each BEGIN DIALOG in code whose conversation no code ever ends (4.8)."""
    for at in user_databases(estate):
        code = Code.of(at.database)
        for procedure in at.database.procedures.values():
            for begin in procedure.begins:
                service = begin.service
                if service is None or service in SYSTEM_SERVICES:  # the engine ends their dialogs
                    continue
                queue = queue_of(at.database, service)
                # Without the service, no dialog begins (TA-50).
                ended = queue is None or begin.ends_after_send or _ended(code, procedure, queue)
                if queue is not None and not ended:
                    yield _leak(at, procedure, begin, queue)


def _leak(at: Home, procedure: Procedure, begin: BeginDialog, queue: Queue) -> Finding:
    service, where = begin.service, queue.name
    to = begin.to or "an unknown service"
    return finding(
        "TA-43", Severity.WARNING, at, begin.source,
        f"{procedure.name} begins dialogs from {service} with {to}, and no code ends them: "
        f"neither the procedure itself nor a reader of {where}",
        f"Call END CONVERSATION in the reader of {where} when it receives EndDialog or Error.",
        procedure=procedure.name, service=service, to=begin.to,
        queue=where,
    )  # fmt: skip


def _ended(code: Code, procedure: Procedure, queue: Queue) -> bool:
    """Return whether some code ends the dialogs of a queue, or unknown code may do so."""
    activated = code.activated(queue)
    unknown = queue.activated is not None and activated is None
    if unknown or name_key(queue.name) in code.announced:
        return True
    readers = [procedure, *code.of_queue(queue), *([] if activated is None else [activated])]
    return any(found is not None and found.ends for found in code.reachable(readers))


# --- Dialogs that end directly after SEND --------------------------------------------------------


def forgotten(estate: Estate) -> Iterator[Finding]:
    """Find code that ends a dialog which it has begun, directly after SEND.

    R. Rusanu, "Fire and Forget: Good for the military, but not for Service Broker conversations".
    """
    for at in user_databases(estate):
        for procedure in at.database.procedures.values():
            for begin in (begin for begin in procedure.begins if begin.ends_after_send):
                yield finding(
                    "TA-43", Severity.WARNING, at, begin.source,
                    f"{procedure.name} ends its dialog directly after SEND: if the message is not "
                    "delivered or the target fails, no Error arrives",
                    "Let the target end the dialog first, and END CONVERSATION in the reader of "
                    "the initiator's queue when it receives EndDialog or Error.",
                    procedure=procedure.name, service=begin.service, to=begin.to,
                )  # fmt: skip


CHECKS = (
    Check(
        "TA-43",
        "Conversations that code does not end, or ends too early",
        (Severity.WARNING, Severity.INFO),
        "reference 4.7, 4.8",
        "Both sides of a conversation must END it; the engine never does. If no code of the "
        "initiator does so, each dialog leaves a row in sys.conversation_endpoints, and these rows "
        "accumulate. The check looks at the code that begins the dialog, at readers of the "
        "service's queue, at the procedure that the queue activates, and at the procedures that "
        "these call. If the activated procedure is not in the scripts, or if an event notification "
        "for QUEUE_ACTIVATION starts a reader outside of the database, nothing is reported. "
        "Three more cases: Code that begins a dialog ends it directly after SEND, so the initiator "
        "never learns of an error. All readers of a queue end conversations only for message types "
        "of the application, or not at all, although every application must handle EndDialog and "
        "Error (unless other code of the database ends them, for example to clean up). A queue is "
        "not read by the procedure that it activates, or by any code although code of the topology "
        "reads other queues of the database (info, because an application may read it).",
        "Read the initiator's queue too, and END CONVERSATION for EndDialog and Error. Do not END "
        "immediately after SEND.",
        leaks,
    ),
)
