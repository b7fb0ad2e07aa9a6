"""Open-loop load: statements are due at given times, whatever the system makes of them.

A closed loop waits for the system and so hides how slow it is. Here a statement that could not be
handed over when it was due counts as late, by so much, and the ones behind it are not put off.
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
"""A statement that is handed over as many seconds after it was due, or more, counts as late."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked for: dialogs of ``length`` messages each, ``rate`` messages a second in all.

    ``dialogs`` are open at a time; ``think`` seconds lie at least between two messages of one.
    ``size`` is of a body, from and to, in bytes; ``duration`` in seconds. Where there are ``texts``
    they are the bodies, in turn. Without ``ends`` it is the other side that ends the dialogs.
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
    """What was handed over, and by how much each message was late, in seconds."""

    begun: int = 0
    ended: int = 0
    sent: int = 0
    bytes: int = 0
    seconds: float = 0.0
    lateness: list[float] = field(default_factory=list)

    @property
    def late(self) -> int:
        """Return how many messages were late."""
        return sum(1 for seconds in self.lateness if seconds >= LATE)


@dataclass(order=True, slots=True)
class _Open:
    """A dialog that may speak again ``at``; ``number`` keeps the order among equals."""

    at: float
    number: int
    handle: Conversation | None = field(default=None, compare=False)
    left: int = field(default=0, compare=False)


def due_times(load: Load) -> Iterator[float]:
    """Yield when each message is due, in seconds after the start: evenly, none is skipped."""
    for number in range(round(load.rate * load.duration)):
        yield number / load.rate


def bodies(load: Load) -> Iterator[bytes]:
    """Yield bodies without end: the texts, else of evenly drawn sizes, the same for a seed."""
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
    """Send the load; returns when everything is handed over and every dialog has ended.

    Where all dialogs still think, a message waits for the first of them: that counts as late too.
    The first message waits for its answer, and time begins after it; raises StatementError where it
    is refused, as all others would be.
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
    """Return the value below which a share of the values lies; 0 where there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
