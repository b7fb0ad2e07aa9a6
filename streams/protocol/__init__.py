"""The dialog between two services: frames, states, and the machine that runs one endpoint.

Pure: the standard library only, no clock, no I/O. Start with :mod:`streams.protocol.states`.
"""

from streams.protocol.dialog import CHUNK, Dialog, Limits
from streams.protocol.frames import (
    DEFAULT,
    END_DIALOG,
    ERROR,
    Ack,
    Acknowledgement,
    Command,
    CommandKind,
    Flag,
    Header,
    Journey,
    Message,
    Parties,
    Status,
)
from streams.protocol.machine import (
    ADDRESSES,
    Effect,
    Enqueue,
    EnqueueError,
    Machine,
    Report,
    SendAck,
    SendError,
    Transmit,
)
from streams.protocol.states import REFUSALS, TRANSITIONS, Input, State

__all__ = [
    "ADDRESSES",
    "CHUNK",
    "DEFAULT",
    "END_DIALOG",
    "ERROR",
    "REFUSALS",
    "TRANSITIONS",
    "Ack",
    "Acknowledgement",
    "Command",
    "CommandKind",
    "Dialog",
    "Effect",
    "Enqueue",
    "EnqueueError",
    "Flag",
    "Header",
    "Input",
    "Journey",
    "Limits",
    "Machine",
    "Message",
    "Parties",
    "Report",
    "SendAck",
    "SendError",
    "State",
    "Status",
    "Transmit",
]
