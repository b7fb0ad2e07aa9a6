"""Generate synthetic traffic from a seed: the commands of applications that place orders.

Dialogs begin in bursts, overlap, and have a heavy-tailed number of messages (usually a few,
sometimes dozens). Each dialog is a BEGIN, SENDs and an END on the initiator's ``cmd`` topic. The
same arguments give the same records, byte for byte; times start at a fixed instant.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum

from streams.capture.container import CaptureWriter
from streams.capture.orders import Order, draw_order, line_body, order_body
from streams.capture.record import CaptureOrigin, Counts, Metadata, Record, TimestampType
from streams.chance import Chance
from streams.errors import UsageError
from streams.prose import counted
from streams.protocol import DEFAULT
from streams.protocol.command import Command, CommandKind
from streams.wire import Topics, encode_command
from streams.wire.evolution import own_schemas
from streams.wire.records import COMMAND

__all__ = ["EPOCH", "ORDER", "ORDER_LINE", "Traffic", "generate", "write_traffic"]

EPOCH = 1_767_600_000_000  # 2026-01-05T08:00:00Z, a Monday morning
ORDER, ORDER_LINE = "//hopline/Order", "//hopline/OrderLine"
_LIFETIMES = (600, 3600, 3600, 86_400, None)  # seconds; None: the maximum
_BURST_EVERY, _BURST_LENGTH = 6_000, 800  # milliseconds
_LATEST_BEGIN = 0.9  # as a share of the duration


@dataclass(frozen=True, slots=True)
class Traffic:
    """The traffic to generate; ``duration`` is in milliseconds.

    The contract DEFAULT allows only the message type DEFAULT, so all messages under it have this
    type. Raises UsageError for impossible values.
    """

    instance: str = "ServerA"
    database: str = "DatabaseA"
    from_service: str = "InitiatorService"
    to_service: str = "TargetService"
    contract: str = "//hopline/OrderContract"
    dialogs: int = 2_000
    messages: int = 20_000
    duration: int = 60_000
    seed: int = 1
    prefix: str = "ssb."
    topology: str = "combined"

    def __post_init__(self) -> None:
        if self.dialogs < 1 or self.messages < self.dialogs:
            raise UsageError(
                f"{counted(self.messages, 'message')} cannot be spread over "
                f"{counted(self.dialogs, 'dialog')}.",
                "Use at least one dialog, and at least as many messages as dialogs.",
            )
        if self.duration < 1:
            raise UsageError("The duration is not positive.", "Give --duration, such as 60s.")


@dataclass(frozen=True, slots=True)
class _Dialog:
    conversation: uuid.UUID
    order: Order
    lifetime: int | None


def write_traffic(path: str | os.PathLike[str], traffic: Traffic) -> Counts:
    """Write the traffic as a capture file; return its counts."""
    metadata = Metadata(
        CaptureOrigin.GENERATED, traffic.prefix, traffic.topology, EPOCH, own_schemas()
    )
    with CaptureWriter(path, metadata) as writer:
        for record in generate(traffic):
            writer.write(record)
    return writer.counts


def generate(traffic: Traffic) -> Iterator[Record]:
    """Yield the records in time order, and for each dialog in the order of its actions."""
    chance = Chance(traffic.seed)
    sizes = _sizes(chance, traffic.dialogs, traffic.messages)
    acts = _acts(chance, sizes, traffic.duration)
    dialogs = [
        _Dialog(chance.guid(), draw_order(chance, 100_000 + n), chance.pick(_LIFETIMES))
        for n in range(traffic.dialogs)
    ]
    topic = Topics(traffic.prefix).cmd(traffic.instance)
    for offset, (at, number, step) in enumerate(acts):
        command = _command(chance, traffic, dialogs[number], step, sizes[number], EPOCH + at)
        yield Record(
            topic,
            0,
            offset,
            EPOCH + at,
            TimestampType.CREATE_TIME,
            str(command.conversation).encode("ascii"),
            ((COMMAND, encode_command(command)),),
            command.body,
        )


def _sizes(chance: Chance, dialogs: int, messages: int) -> list[int]:
    """Return the number of messages per dialog: at least one, heavy-tailed, with an exact sum."""
    weights = [chance.heavy() for _ in range(dialogs)]
    spare, total = messages - dialogs, fsum(weights)  # sum() rounds differently from Python 3.12 on
    sizes = [1 + int(spare * weight / total) for weight in weights]
    for n in range(messages - sum(sizes)):  # the remainder of rounding, fewer than the dialogs
        sizes[n % dialogs] += 1
    return sizes


def _acts(chance: Chance, sizes: list[int], duration: int) -> list[tuple[int, int, int]]:
    """Return (milliseconds, dialog, step) of actions: step 0 begins, 1 to k send, k + 1 ends."""
    acts = []
    for number, size in enumerate(sizes):
        begin = _begin(chance, duration)
        gaps = [1 + int(400 * chance.heavy()) for _ in range(size)]
        room = duration - begin
        stretch = min(1.0, room / sum(gaps))  # the longest dialogs are squeezed into the duration
        at = 0
        acts += [(begin, number, 0), (begin, number, 1)]
        for step, gap in enumerate(gaps, 2):
            at += gap
            acts.append((begin + int(at * stretch), number, step))
    return sorted(acts)


def _begin(chance: Chance, duration: int) -> int:
    """Return the start time of a dialog: two thirds begin in bursts, all others at any time."""
    latest = int(duration * _LATEST_BEGIN)
    if chance.once_in(3):
        return chance.below(latest)
    burst = chance.below(latest // _BURST_EVERY + 1) * _BURST_EVERY
    return min(burst + int(_BURST_LENGTH * chance.heavy() / 2), latest)


def _command(
    chance: Chance, traffic: Traffic, dialog: _Dialog, step: int, size: int, at: int
) -> Command:
    """Return the command of one step of a dialog."""
    command_id = chance.guid()
    if step == 0:
        return Command(
            dialog.conversation,
            command_id,
            CommandKind.BEGIN,
            traffic.database,
            issued_at=at,
            from_service=traffic.from_service,
            to_service=traffic.to_service,
            contract=traffic.contract,
            lifetime=dialog.lifetime,
        )
    if step > size:
        return Command(
            dialog.conversation, command_id, CommandKind.END, traffic.database, issued_at=at
        )
    first = step == 1
    return Command(
        dialog.conversation,
        command_id,
        CommandKind.SEND,
        traffic.database,
        issued_at=at,
        type=DEFAULT if traffic.contract == DEFAULT else ORDER if first else ORDER_LINE,
        body=order_body(chance, dialog.order) if first else line_body(chance, dialog.order, step),
    )
