"""The dialog between two services: frames, states, and the machine that runs one endpoint.

The package is pure: it uses only the standard library, no clock and no I/O. Start with
:mod:`streams.protocol.states`.
"""

from streams.protocol.cause import SECRET_BYTES, Cause, Source, StatementIds
from streams.protocol.chunk import CHUNK, Chunk
from streams.protocol.command import LARGEST_CODE, Command, CommandKind
from streams.protocol.dialog import (
    ADDRESSES,
    DEFAULT_PRIORITY,
    EVERYTHING,
    Dialog,
    DialogKey,
)
from streams.protocol.effects import (
    Effect,
    Enqueue,
    EnqueueError,
    EnqueueTimer,
    Report,
    SendAck,
    SendError,
    Transmit,
)
from streams.protocol.ending import RefusalNumbers
from streams.protocol.frames import (
    UNPROVOKED,
    Ack,
    Acknowledgement,
    Flag,
    Fragment,
    Header,
    Journey,
    Message,
    Parties,
    Run,
    Status,
    request_owner,
)
from streams.protocol.heartbeat import LONGEST_PERIOD, Claim
from streams.protocol.limits import Limits
from streams.protocol.machine import Machine
from streams.protocol.names import (
    BROKER_UNITS,
    NAME_UNITS,
    invalid_name,
    is_too_long,
    name_too_long,
    units,
)
from streams.protocol.request import Request
from streams.protocol.seen import Seen, SeenStatement
from streams.protocol.states import REFUSALS, TRANSITIONS, Input, State
from streams.system_names import DEFAULT, DIALOG_TIMER, END_DIALOG, ERROR

__all__ = [
    "ADDRESSES",
    "BROKER_UNITS",
    "CHUNK",
    "DEFAULT",
    "DEFAULT_PRIORITY",
    "DIALOG_TIMER",
    "END_DIALOG",
    "ERROR",
    "EVERYTHING",
    "LARGEST_CODE",
    "LONGEST_PERIOD",
    "NAME_UNITS",
    "REFUSALS",
    "SECRET_BYTES",
    "TRANSITIONS",
    "UNPROVOKED",
    "Ack",
    "Acknowledgement",
    "Cause",
    "Chunk",
    "Claim",
    "Command",
    "CommandKind",
    "Dialog",
    "DialogKey",
    "Effect",
    "Enqueue",
    "EnqueueError",
    "EnqueueTimer",
    "Flag",
    "Fragment",
    "Header",
    "Input",
    "Journey",
    "Limits",
    "Machine",
    "Message",
    "Parties",
    "RefusalNumbers",
    "Report",
    "Request",
    "Run",
    "Seen",
    "SeenStatement",
    "SendAck",
    "SendError",
    "Source",
    "State",
    "StatementIds",
    "Status",
    "Transmit",
    "invalid_name",
    "is_too_long",
    "name_too_long",
    "request_owner",
    "units",
]
