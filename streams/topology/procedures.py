"""What a script's code says about dialogs: who begins them with whom, and who ends them.

Evidence read from procedures, triggers and loose batches; nothing runs it. A value that the text
does not settle (a parameter, a concatenation) is ``None`` and the begin says so in ``unresolved``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.topology.findings import NOWHERE, Source


@dataclass(frozen=True, slots=True)
class BeginDialog:
    """BEGIN DIALOG CONVERSATION in code.

    ``broker``: the id that it names, ``CURRENT DATABASE`` already resolved; ``None`` for none.
    ``related``: it joins a conversation group. ``unresolved``: clauses whose values are unknown.
    ``asks_encryption``: ENCRYPTION = ON is written, and not only the default.
    """

    service: str | None
    to: str | None
    broker: str | None = None
    contract: str | None = "DEFAULT"
    related: bool = False
    encryption: bool = True
    unresolved: tuple[str, ...] = ()
    asks_encryption: bool = False
    source: Source = field(default=NOWHERE, compare=False)

    @property
    def unknown_broker(self) -> bool:
        """Tell whether it names a broker id, and only a run would tell which."""
        return any("broker" in clause.casefold() for clause in self.unresolved)


@dataclass(frozen=True, slots=True)
class Procedure:
    """A module, or the loose statements of a script (``name`` is then the script's).

    ``ends``: where END CONVERSATION stands. ``receives``: the queues of RECEIVE and
    GET CONVERSATION GROUP (:func:`streams.topology.queue_name`). ``calls``: EXECUTE of others.
    """

    name: str
    begins: tuple[BeginDialog, ...] = ()
    ends: tuple[Source, ...] = ()
    receives: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    source: Source = field(default=NOWHERE, compare=False)
