"""Conversations that no code ends (TA-43)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.known import Home
from streams.analysis.objects import finding, user_databases
from streams.system_names import SYSTEM_SERVICES
from streams.topology import BeginDialog, Database, Finding, Procedure, Severity, queue_of

_PART = re.compile(r'\[((?:[^\]]|\]\])*)\]|"((?:[^"]|"")*)"|([^.\s]+)')


def leaks(estate: Estate) -> Iterator[Finding]:
    """Find each BEGIN DIALOG in code whose conversation no code ever ends (4.8)."""
    for at in user_databases(estate):
        for procedure in at.database.procedures.values():
            for begin in procedure.begins:
                service = begin.service
                if service is None or service in SYSTEM_SERVICES:  # the engine ends their dialogs
                    continue
                if not _ended(at.database, procedure, service):
                    yield _leak(at, procedure, begin, service)


def _leak(at: Home, procedure: Procedure, begin: BeginDialog, service: str) -> Finding:
    queue = queue_of(at.database, service)
    where = "its queue" if queue is None else queue.name
    to = begin.to or "an unknown service"
    return finding(
        "TA-43", Severity.WARNING, at, begin.source,
        f"{procedure.name} begins dialogs from {service} with {to}, and no code ends them: "
        f"neither the procedure itself nor a reader of {where}",
        f"Call END CONVERSATION in the reader of {where} when it receives EndDialog or Error.",
        procedure=procedure.name, service=service, to=begin.to,
        queue=None if queue is None else queue.name,
    )  # fmt: skip


def _ended(database: Database, procedure: Procedure, service: str) -> bool:
    """Return whether some code ends the dialogs of a service, or unknown code may do so."""
    known = {name_key(p.name): p for p in database.procedures.values()}
    queue = queue_of(database, service)
    readers = [procedure]
    if queue is not None:
        name = name_key(queue.name)
        readers += [p for p in known.values() if name in map(name_key, p.receives)]
        if queue.activated is not None:
            activated = known.get(name_key(queue.activated))
            if activated is None:
                return True
            readers.append(activated)
    return _ends(known, readers)


def _ends(known: dict[str, Procedure], readers: Iterable[Procedure]) -> bool:
    """Return whether procedures, or the procedures that they call, end conversations."""
    waiting, seen = list(readers), set()
    while waiting:
        procedure = waiting.pop()
        if procedure.ends:
            return True
        seen.add(name_key(procedure.name))
        for called in map(name_key, procedure.calls):
            if called in known and called not in seen:
                waiting.append(known[called])
    return False


def name_key(name: str) -> str:
    """Return the common form of all spellings of an object's name: ``[dbo].[P]`` becomes ``p``."""
    parts = [(a or b or c).casefold() for a, b, c in _PART.findall(name)]
    own = parts[-2:] if len(parts) > 1 and parts[-2] != "dbo" else parts[-1:]
    return ".".join(own)


CHECKS = (
    Check(
        "TA-43",
        "A procedure begins conversations that no code ends",
        (Severity.WARNING,),
        "reference 4.7, 4.8",
        "Both sides of a conversation must END it; the engine never does. If no code of the "
        "initiator does so, each dialog leaves a row in sys.conversation_endpoints, and these rows "
        "accumulate. The check looks at the code that begins the dialog, at readers of the "
        "service's queue, at the procedure that the queue activates, and at the procedures that "
        "these call. If the activated procedure is not in the scripts, nothing is reported.",
        "Read the initiator's queue too, and END CONVERSATION for EndDialog and Error. Do not END "
        "immediately after SEND, because errors would then go unnoticed.",
        leaks,
    ),
)
