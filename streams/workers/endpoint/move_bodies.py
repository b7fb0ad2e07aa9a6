"""Copy bodies that pin too much of a log to the ends of their topics (docs/kafka_mapping.md, 5)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from streams.node import TrimPoint, moves_of
from streams.workers.endpoint.partition import Partition
from streams.workers.endpoint.transactions import Part, Transactions
from streams.workers.record_errors import is_caused_by_record

log = logging.getLogger("hopline.endpoint")


def move_bodies(
    owned: Partition,
    young: Mapping[tuple[str, int], int],
    transactions: Transactions,
    member: Any,
    now: int,
) -> bool:
    """Move bodies, if worthwhile, in a separate transaction; return ``False`` if it was aborted.

    ``young``: the offset in each input from which records are too recent to trim, if known.
    Bodies are copied, and their new offsets are written to the state; readers skip the copies.
    Bodies beyond the limit are moved next time.
    """
    ends = owned.positions.items()
    old = TrimPoint(*(min(end, young.get((topic, owned.number), 0)) for topic, end in ends))
    if owned.trim_point is None:
        return True
    moves = moves_of(owned.endpoint, owned.trim_point, old, is_lost=owned.bodies.is_lost)
    if moves is None:
        return True
    tx = owned.endpoint.begin(owned.bodies, now, timers=False, opens=False)
    committed, positions = None, owned.positions
    try:
        for key in moves.dialogs:
            tx.machine(key)
        tx.close()
        bodies = owned.bodies.to_move(moves)
        if not bodies:
            owned.endpoint.abandon(tx)
            return True
        committed = transactions.commit([Part(tx, owned.number, positions, bodies)], member)
    except Exception as error:
        if not is_caused_by_record(error):
            raise
        # Nothing is lost, because the bodies stay where they are.
        log.exception("%s: bodies cannot be moved", ", ".join(positions))
    if committed is None:
        owned.endpoint.abandon(tx)
        return False
    owned.merge(tx, committed[owned.number], positions)
    log.info("%s: moved %d bodies", ", ".join(positions), len(bodies))
    return True
