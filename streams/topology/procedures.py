"""The use of dialogs in a script's code: BEGIN, RECEIVE and END.

The code of procedures, triggers and loose batches is read but not executed. A value that is known
only at run time (a parameter, a concatenation) is ``None``, and its clause is listed in
``unresolved``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.system_names import DEFAULT, EVENT_NOTIFICATION_SERVICE
from streams.topology.findings import NOWHERE, Source


@dataclass(frozen=True, slots=True)
class BeginDialog:
    """BEGIN DIALOG CONVERSATION in code.

    ``broker``: the given id, with ``CURRENT DATABASE`` resolved; ``None`` without an id.
    ``related``: the dialog joins a conversation group. ``unresolved``: clauses with unknown values.
    ``asks_encryption``: ENCRYPTION = ON is written explicitly. ``sends``: the message types that
    the same code sends in the dialog. ``ends_after_send``: the code ends the dialog directly after
    SEND.
    """

    service: str | None
    to: str | None
    broker: str | None = None
    contract: str | None = DEFAULT
    related: bool = False
    encryption: bool = True
    unresolved: tuple[str, ...] = ()
    asks_encryption: bool = False
    sends: tuple[str, ...] = ()
    ends_after_send: bool = False
    source: Source = field(default=NOWHERE, compare=False)

    @property
    def unknown_broker(self) -> bool:
        """Return whether there is a broker id that depends on run-time values."""
        return any("broker" in clause.casefold() for clause in self.unresolved)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition that is true only if something equals one of ``texts``.

    ``of_type``: it compares the type of a received message (message_type_name).
    """

    texts: tuple[str, ...]
    of_type: bool = False


@dataclass(frozen=True, slots=True)
class Procedure:
    """A module, or the loose statements of a script (``name`` is then the script's name).

    ``ends``: the places of END CONVERSATION. ``receives``: the queues of RECEIVE and GET
    CONVERSATION GROUP (:func:`streams.topology.queue_name`), or the queue whose external reader an
    event notification starts. ``calls``: EXECUTE of other procedures. ``compared``: for each END
    CONVERSATION, the comparisons around it; empty if the code names the message types EndDialog or
    Error, or may do so. ``external``: the code is in an assembly.
    """

    name: str
    begins: tuple[BeginDialog, ...] = ()
    ends: tuple[Source, ...] = ()
    receives: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    compared: tuple[tuple[Comparison, ...], ...] = field(default=(), compare=False)
    external: bool = field(default=False, compare=False)
    source: Source = field(default=NOWHERE, compare=False)

    @property
    def ends_on(self) -> tuple[str, ...]:
        """Return the message types for which the code ends conversations; empty if for all."""
        found: set[str] = set()
        for comparisons in self.compared:
            if not comparisons:
                return ()
            found.update(next((c for c in comparisons if c.of_type), comparisons[-1]).texts)
        return tuple(sorted(found))

    @property
    def is_notification(self) -> bool:
        """Return whether this is an event notification, whose dialogs the engine begins."""
        return any(begin.service == EVENT_NOTIFICATION_SERVICE for begin in self.begins)
