"""At the end of a transaction, dialogs transmit waiting messages in turn.

Messages accepted while the window was full wait in ``cmd``, and only this module transmits them
(docs/decisions/0025).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain, takewhile

from streams.node.endpoint.flows import Destination, destination
from streams.node.endpoint.overlay import Overlay
from streams.protocol import DialogKey, Machine

GAP = 2_000
"""Up to this number of records between two bodies, reading them all is as fast as a seek."""
WORTH = 16
"""Maximum number of records read per body; this takes as long as writing body and dialog."""
FREE = 32_000
"""Number of records that a transaction may read, however few bodies they contain.

Its flows share them evenly, so that no flow waits because the bodies of another are far apart.
"""


def take_turns(tx: Overlay) -> None:
    """Let dialogs transmit, as far as the transaction and their flows have room.

    They get at least a quarter of the transaction, however many of its messages are new. Each
    dialog transmits a window; if there are few dialogs, each transmits an equal share of what its
    flow still allows. A dialog whose bodies are too far ahead of the others' keeps its turn.
    """
    planned = list(_plan(tx))
    found: dict[Destination, list[int]] = defaultdict(list)
    for _, where, positions in planned:
        found[where] += positions
    reach = {where: _reach(at, FREE // len(found)) for where, at in found.items()}
    for key, where, positions in planned:
        count = sum(1 for _ in takewhile(reach[where].__ge__, positions))
        if count:
            _take(tx, key).fill_window(count)
            continue
        kept, waiting = tx.endpoint.dialogs.kept(key), tx.endpoint.flows.towards(where).waiting
        if kept is not None and kept in waiting:
            waiting.put(kept, positions[0])  # unknown after a restart


def _plan(tx: Overlay) -> Iterator[tuple[DialogKey, Destination, list[int]]]:
    """Yield the dialogs that may transmit, their destinations, and the positions of their messages.

    Dialogs to be retried do so at once.
    """
    left = max(tx.most - tx.planned, tx.most // 4, 1)
    waiting = _waiting(tx)
    flows = tx.endpoint.flows
    dialogs = Counter(waiting.values())
    rooms, shares = dict[Destination, int](), dict[Destination, int]()
    for key, where in waiting.items():
        if left <= 0:
            break
        flow = flows.towards(where)
        if where not in rooms:
            rooms[where] = room = flows.room(flow, tx.now)
            count = max(dialogs[where], len(flow.waiting))
            shares[where] = max(tx.endpoint.limits.window, room // count)
            if room > 0:
                tx.turns.added.append(flow)
        if rooms[where] <= 0:
            continue
        dialog = tx.dialog(key)
        assert dialog is not None
        kept = tx.endpoint.dialogs.kept(key)
        if kept in flow.lost and not flow.stalled and dialog.is_retrying:
            used = _retry(tx, key)
        else:
            most = min(left, rooms[where], shares[where])
            found = [position for _, position in dialog.waiting(tx.endpoint.limits, most)]
            used = len(found)
            if found:
                yield key, where, found
            elif kept is not None and key not in tx.machines:  # unknown after a restart
                flows.drop_waiting(kept, where)
        left, rooms[where] = left - used, rooms[where] - used


def _waiting(tx: Overlay) -> dict[DialogKey, Destination]:
    """Return the dialogs that may have a turn, in order, and their destinations."""
    limits = tx.endpoint.limits
    opened = tx.machines.items() if tx.turns.opens else ()
    own = (key for key, machine in opened if machine.dialog.has_room(limits))
    found: dict[DialogKey, Destination] = {}
    for key in chain(tx.turns.room, own):
        dialog = tx.dialog(key)
        if dialog is not None:
            found[key] = destination(dialog)
    return found


def _retry(tx: Overlay, key: DialogKey) -> int:
    """Retry a dialog unless its timer was due; return the number of messages.

    The changes of the transaction are considered: a dialog that was acknowledged or ended has lost
    nothing, and a dialog whose timer was due has already retried.
    """
    committed, machine = tx.endpoint.dialogs.get(key), _take(tx, key)
    if not machine.dialog.is_retrying:
        return 0
    has_retried = key in tx.turns.hurried or (
        committed is not None and committed.attempt < machine.dialog.attempt
    )
    tx.turns.hurried.add(key)
    return 0 if has_retried else machine.retry()


def _take(tx: Overlay, key: DialogKey) -> Machine:
    machine = tx.machine(key)
    assert machine is not None
    tx.heed(machine)
    return machine


def _reach(positions: list[int], free: int) -> int:
    """Return the limit for reading a flow's bodies at these positions of ``cmd``.

    The messages of a dialog may be far apart, and many such dialogs have messages everywhere in the
    log: without a limit, each transaction would read all of it.
    """
    first, *others = sorted(positions)
    reach = first
    for position in others:
        free -= min(position - reach, GAP) - WORTH
        if free < 0:
            break
        reach = position
    return reach
