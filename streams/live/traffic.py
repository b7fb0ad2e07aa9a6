"""Open-loop load: statements are due at given times, even if the system is slow.

A closed loop waits for the system, which hides the system's latency. In an open loop, a statement
that is sent after its due time counts as late, and the next statements are not postponed.
"""

from __future__ import annotations

import heapq
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count, cycle

from streams.chance import Chance
from streams.client import Client, Conversation

LATE = 0.01
"""Number of seconds past its due time after which a statement counts as late."""


@dataclass(frozen=True, slots=True)
class Load:
    """The load: dialogs of ``length`` messages each, ``rate`` messages per second in total.

    ``dialogs`` is how many dialogs are open at a time; ``think`` is the minimum number of seconds
    between two messages of a dialog. ``size`` is the range of body sizes in bytes; ``duration`` is
    in seconds. ``texts``, if given, are the bodies, used in turn. Without ``ends``, the other side
    ends the dialogs.
    """

    instance: str
    database: str
    service: str
    to: str
    rate: float
    duration: float
    dialogs: int = 100
    length: int = 10
    think: float = 0.0
    size: tuple[int, int] = (400, 400)
    contract: str | None = None
    type: str | None = None
    seed: int = 1
    texts: tuple[bytes, ...] = ()
    ends: bool = True


@dataclass(slots=True)
class Tally:
    """The number of sent messages, and the lateness of each message in seconds."""

    begun: int = 0
    ended: int = 0
    sent: int = 0
    bytes: int = 0
    seconds: float = 0.0
    lateness: list[float] = field(default_factory=list)

    @property
    def late(self) -> int:
        """Return the number of late messages."""
        return sum(1 for seconds in self.lateness if seconds >= LATE)


@dataclass(order=True, slots=True)
class _Open:
    """A dialog that may send its next message at the time ``at``; ``number`` breaks ties."""

    at: float
    number: int
    handle: Conversation | None = field(default=None, compare=False)
    left: int = field(default=0, compare=False)


def due_times(load: Load) -> Iterator[float]:
    """Yield the due time of each message, in seconds after the start, at even intervals."""
    for number in range(round(load.rate * load.duration)):
        yield number / load.rate


def bodies(load: Load) -> Iterator[bytes]:
    """Yield bodies endlessly: the given texts, or bodies of random sizes drawn with the seed."""
    if load.texts:
        yield from cycle(load.texts)
    chance, (low, high) = Chance(load.seed), load.size
    while True:
        yield b"x" * (low + chance.below(high - low + 1))


def drive(
    load: Load,
    client: Client,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Tally:
    """Send the load; return when all messages are sent and every dialog has ended.

    If all dialogs are pausing, a message waits for the first dialog that may send again, and also
    counts as late. The clock starts when the result of the first message has arrived. Raises
    StatementError if this message is rejected, because all other messages would also be rejected.
    """
    tally, numbers, texts = Tally(), count(), bodies(load)
    idle = [_Open(0.0, next(numbers)) for _ in range(load.dialogs)]
    began: float | None = None
    for due in due_times(load):
        speaker = heapq.heappop(idle)
        if began is not None:
            _until(began + max(due, speaker.at), clock, sleep)
        _speak(load, client, speaker, next(texts), tally, wait=began is None)
        began = clock() if began is None else began
        now = clock() - began
        tally.lateness.append(max(0.0, now - due))
        tally.seconds = now
        heapq.heappush(idle, _Open(now + load.think, next(numbers), speaker.handle, speaker.left))
    for each in idle:
        _end(load, client, each, tally)
    client.flush()
    return tally


def _until(moment: float, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
    left = moment - clock()
    if left > 0:
        sleep(left)


def _speak(
    load: Load, client: Client, speaker: _Open, body: bytes, tally: Tally, *, wait: bool
) -> None:
    if speaker.handle is None:
        speaker.handle = client.begin(
            load.instance,
            load.database,
            load.service,
            load.to,
            contract=load.contract,
            conversation=uuid.uuid4(),
            wait=wait,
        )
        speaker.left = load.length
        tally.begun += 1
    client.send(speaker.handle, body, type=load.type, wait=wait)
    tally.sent += 1
    tally.bytes += len(body)
    speaker.left -= 1
    if not speaker.left:
        _end(load, client, speaker, tally)


def _end(load: Load, client: Client, speaker: _Open, tally: Tally) -> None:
    if speaker.handle is not None and load.ends:
        client.end(speaker.handle)
        tally.ended += 1
    speaker.handle = None


def quantile(values: list[float], share: float) -> float:
    """Return the quantile of ``values`` for a share (0 to 1); 0 if there are no values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
