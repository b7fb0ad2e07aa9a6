"""Lives of dialogs, read in the background: a page shows what is known, and never waits for Kafka.

The last few are kept, fewer where they are long. A dialog that somebody looks at is read again
after a pause that grows with how long reading takes: looking costs Kafka a tenth of the time.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from streams.dashboard.figures import Trouble
from streams.errors import HoplineError
from streams.kafka import Cluster
from streams.live.life import Bounds, Life, read_life

KEPT = 16
MOST_STEPS = 60_000
"""So many steps are kept of all lives together, but always the last life: a step takes 3 kB."""
_BOUNDS = Bounds(records=30_000)
_PAUSE, _SHARE = 3_000, 10


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of a dialog.

    ``as_of`` is from when it is (epoch milliseconds), ``took`` how long reading took, ``looked_at``
    when somebody last tried. ``trouble`` says why it could not be read again.
    """

    life: Life | None = None
    as_of: int | None = None
    took: int = 0
    looked_at: int | None = None
    reading: bool = False
    trouble: Trouble | None = None

    def is_old(self, now: int) -> bool:
        """Tell whether it is time to read again."""
        if self.reading or self.looked_at is None:
            return not self.reading
        return now - self.looked_at >= max(_PAUSE, _SHARE * self.took)


class Lives:
    """Reads lives by ``read``; ``now`` returns epoch milliseconds. Safe to use from many threads.

    ``start`` runs what takes long elsewhere.
    """

    def __init__(
        self,
        read: Callable[[uuid.UUID], Life],
        now: Callable[[], int],
        start: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self._read, self._now = read, now
        self._start = start or _in_a_thread
        self._known: OrderedDict[uuid.UUID, Look] = OrderedDict()
        self._lock = threading.Lock()

    def look(self, conversation: uuid.UUID) -> Look:
        """Return what is known now, and begin to read where that is nothing, or old."""
        with self._lock:
            look = self._known.setdefault(conversation, Look())
            self._known.move_to_end(conversation)
            self._forget()
            wanted = look.is_old(self._now())
            if wanted:
                look = self._known[conversation] = replace(look, reading=True)
        if wanted:
            self._start(lambda: self._fetch(conversation))
            with self._lock:
                look = self._known.get(conversation, look)
        return look

    def _forget(self) -> None:
        def steps() -> int:
            return sum(len(look.life.steps) for look in self._known.values() if look.life)

        while len(self._known) > KEPT or (len(self._known) > 1 and steps() > MOST_STEPS):
            self._known.popitem(last=False)

    def _fetch(self, conversation: uuid.UUID) -> None:
        began = self._now()
        try:
            life = self._read(conversation)
            found = Look(life, began, self._now() - began, began)
        except HoplineError as error:
            found = self._failed(conversation, error.message)
        except Exception as error:  # an error of ours must not leave the page waiting for ever
            found = self._failed(conversation, f"{type(error).__name__}: {error}")
        with self._lock:
            if conversation in self._known:
                self._known[conversation] = found

    def _failed(self, conversation: uuid.UUID, message: str) -> Look:
        with self._lock:
            before = self._known.get(conversation, Look())
        now = self._now()
        since = before.trouble.since if before.trouble else now
        return replace(before, reading=False, looked_at=now, trouble=Trouble(since, message))


def lives_of(cluster: Cluster | None, now: Callable[[], int]) -> Lives | None:
    """Return what reads dialogs from a cluster; ``None`` where there is none."""
    if cluster is None:
        return None
    return Lives(lambda conversation: read_life(cluster, conversation, _BOUNDS), now)


def _in_a_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="life", daemon=True).start()
