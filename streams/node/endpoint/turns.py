"""Let dialogs transmit waiting messages in turn, at the end of a transaction.

Messages accepted while the window was full wait in ``cmd``, and only this module transmits them
(docs/decisions/0025).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import chain, islice, takewhile
from math import isqrt

from streams.node.endpoint.dialogs import Destination
from streams.node.endpoint.flows import destination
from streams.node.endpoint.overlay import Overlay
from streams.protocol import DialogKey, Machine

GAP = 2_000
"""Maximum number of records to read between two bodies; beyond that, a seek is faster."""
WORTH = 16
"""Maximum number of records to read per body; reading them takes as long as writing the body."""
FREE = 32_000
"""Number of records that a transaction may read even if they contain few bodies.

The transaction's flows share these records evenly, so that no flow waits because the bodies of
another flow are far apart.
"""
DIALOG_READS = 36
"""Number of records that can be read in the time that an additional dialog takes in a
transaction."""


def take_turns(tx: Overlay) -> None:
    """Let dialogs transmit while the transaction and their flows have room.

    Waiting messages get at least a quarter of the transaction, regardless of the number of new
    messages. Flows take turns, and each flow continues with its oldest message. A dialog whose
    bodies are too far ahead in the log keeps its turn for the next transaction.
    """
    planned = _plan(tx)
    found: dict[Destination, list[int]] = defaultdict(list)
    for where, positions in planned.values():
        found[where] += positions
    reach = {where: _reach(at, FREE // len(found)) for where, at in found.items()}
    for key, (where, positions) in planned.items():
        count = sum(1 for _ in takewhile(reach[where].__ge__, positions))
        if count:
            _take(tx, key).fill_window(count)
            continue
        kept, waiting = tx.endpoint.dialogs.kept(key), tx.endpoint.flows.towards(where).waiting
        if kept is not None and kept in waiting:
            waiting.put(kept, positions[0])  # the position is unknown after a restart


Planned = dict[DialogKey, tuple[Destination, list[int]]]
"""Dialogs that may transmit, their destinations, and the positions of their messages in ``cmd``."""


def _plan(tx: Overlay) -> Planned:
    """Return which messages each dialog may transmit; immediately send retries that are due."""
    left = max(tx.most - tx.planned, tx.most // 4, 1)
    keys: dict[Destination, deque[DialogKey]] = defaultdict(deque)
    for key, where in _waiting(tx).items():
        keys[where].append(key)
    planned: Planned = {}
    turns = deque(_FlowTurns(tx, at, of, planned, left // len(keys)) for at, of in keys.items())
    while turns and left > 0:
        flow = turns.popleft()
        used = flow.next(left)
        if used is not None:
            left -= used
            turns.append(flow)
    return planned


class _FlowTurns:
    """The turns of a flow's dialogs in a transaction; plans about ``fair`` messages of the flow.

    The dialog with the oldest message is next, and plans a few messages. Suppose that D dialogs
    wait, their messages are interleaved evenly in ``cmd``, and each turn plans m messages of one
    dialog. A transaction of T messages then serves T/m dialogs and reads m·D records. This is
    fastest with m² = DIALOG_READS·T/D. If D is larger than GAP, GAP is used instead, because a seek
    skips the remaining records. If a thousand dialogs waited and each planned its whole window,
    each message would be read 20 times.

    A dialog's last m/2 messages are planned together with the preceding ones, because this takes
    less time than another turn. In total, each dialog plans a window of messages, or an equal share
    of the flow's room if that share is larger.
    """

    def __init__(
        self,
        tx: Overlay,
        where: Destination,
        keys: deque[DialogKey],
        planned: Planned,
        fair: int,
    ) -> None:
        self._tx, self._where, self._keys, self._planned = tx, where, keys, planned
        self._flow = tx.endpoint.flows.towards(where)
        self._room = tx.endpoint.flows.room(self._flow, tx.now)
        if self._room > 0:
            tx.turns.added.append(self._flow)
        count = max(len(keys), len(self._flow.waiting))
        self._share = max(tx.endpoint.limits.window, self._room // count)
        self._few = max(1, isqrt(DIALOG_READS * fair // min(count, GAP)))
        self._started: list[tuple[int, DialogKey, Iterator[int]]] = []
        """A heap of dialogs with more messages: the next position, and the later positions."""

    def next(self, most: int) -> int | None:
        """Plan up to ``most`` messages and return their number; ``None`` after the last message."""
        if self._room <= 0:
            return None
        used = 0
        if self._keys and not (self._started and self._started[0][0] < self._position()):
            key = self._keys.popleft()
            dialog = self._tx.dialog(key)
            assert dialog is not None
            kept = self._tx.endpoint.dialogs.kept(key)
            if kept in self._flow.lost and dialog.is_retrying:
                # in a stalled flow, only the timer of the dialog causes a retry
                used = 0 if self._flow.stalled else _retry(self._tx, key)
            else:
                waiting = dialog.waiting(self._tx.endpoint.limits, self._share)
                used = self._continue(key, (position for _, position in waiting), most)
                if not used and kept is not None and key not in self._tx.machines:
                    self._tx.endpoint.flows.drop_waiting(kept, self._where)  # after a restart
        elif self._started:
            position, key, positions = heappop(self._started)
            used = self._continue(key, chain((position,), positions), most)
        else:
            return None
        self._room -= used
        return used

    def _position(self) -> int:
        """Return the next position of the first dialog that has not started yet; -1 if unknown."""
        kept = self._tx.endpoint.dialogs.kept(self._keys[0])
        return kept.position if kept is not None and kept in self._flow.waiting else -1

    def _continue(self, key: DialogKey, positions: Iterator[int], most: int) -> int:
        most, last = min(most, self._room), self._few + self._few // 2
        found = list(islice(positions, last + 1))
        if len(found) > min(most, last):
            count = min(most, self._few)
            heappush(self._started, (found[count], key, chain(found[count + 1 :], positions)))
            del found[count:]
        if found:
            self._planned.setdefault(key, (self._where, []))[1].extend(found)
        return len(found)


def _waiting(tx: Overlay) -> dict[DialogKey, Destination]:
    """Return the dialogs that may have a turn, in order, and their destinations.

    Thousands of dialogs may have a turn, so dialogs that the transaction has not used are not
    decoded.
    """
    limits, kept = tx.endpoint.limits, tx.endpoint.dialogs.kept
    opened = tx.machines.items() if tx.turns.opens else ()
    own = (key for key, machine in opened if machine.dialog.has_room(limits))
    found: dict[DialogKey, Destination] = {}
    for key in chain(tx.turns.room, own):
        if (machine := tx.machines.get(key)) is not None:
            found[key] = destination(machine.dialog)
        elif (known := kept(key)) is not None and known.where is not None:
            found[key] = known.where
    return found


def _retry(tx: Overlay, key: DialogKey) -> int:
    """Retry a dialog unless its timer has already done so; return the number of messages.

    A dialog that the transaction has acknowledged or ended has lost nothing, and does not retry.
    """
    machine = _take(tx, key)
    if not machine.dialog.is_retrying:
        return 0
    tx.turns.hurried.add(key)
    return machine.retry()


def _take(tx: Overlay, key: DialogKey) -> Machine:
    machine = tx.machine(key)
    assert machine is not None
    tx.heed(machine)
    return machine


def _reach(positions: list[int], free: int) -> int:
    """Return the last of these positions of ``cmd`` at which a flow's bodies are read.

    The messages of one dialog may be far apart, and the messages of many dialogs are spread over
    the whole log. Without a limit, each transaction would read the whole log.
    """
    first, *others = sorted(positions)
    reach = first
    for position in others:
        free -= min(position - reach, GAP) - WORTH
        if free < 0:
            break
        reach = position
    return reach
