"""Data classes for the uses of dialogs in code, with their places."""

from __future__ import annotations

from dataclasses import dataclass

from streams.topology.findings import Source
from streams.topology.procedures import BeginDialog, Comparison
from streams.topology.tsql.statements import Name, Statement


@dataclass(frozen=True, slots=True)
class Evidence(Statement):
    """A use of dialogs in code, which declares no object."""


@dataclass(frozen=True, slots=True)
class BeginsDialog(Evidence):
    """BEGIN DIALOG CONVERSATION; ``handle`` is the variable that receives the handle."""

    dialog: BeginDialog
    handle: str = ""


@dataclass(frozen=True, slots=True)
class Sends(Evidence):
    """SEND ON CONVERSATION; ``kind`` is the message type, ``None`` if it is unknown.

    ``dialogs``: the places of BEGIN DIALOG of those handles of which the same code shows it.
    """

    handles: tuple[str, ...]
    kind: str | None
    dialogs: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class EndsConversation(Evidence):
    """END CONVERSATION.

    ``after_send``: the place of BEGIN DIALOG, if END always follows SEND on a dialog that the same
    code begins, without a pause. ``compared``: the comparisons around it, the outermost first.
    """

    handle: str = ""
    after_send: tuple[Source, ...] = ()
    compared: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class Receives(Evidence):
    """RECEIVE or GET CONVERSATION GROUP."""

    queue: Name


@dataclass(frozen=True, slots=True)
class Calls(Evidence):
    """EXECUTE of a procedure."""

    name: Name


@dataclass(frozen=True, slots=True)
class EnterText(Evidence):
    """Dynamic SQL begins, in another database if given; a USE inside it applies up to its end."""

    database: str | None


@dataclass(frozen=True, slots=True)
class LeaveText(Evidence):
    """Dynamic SQL ends."""
