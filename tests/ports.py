"""Reserve ports, so that no other process gets them while a test needs them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_HOST = "127.0.0.1"


@contextmanager
def reserved(count: int) -> Iterator[list[int]]:
    """Yield loopback ports that are bound until the block ends.

    Connections are refused until a server listens. A server may do so if it sets SO_REUSEADDR,
    as Java and asyncio do.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind((_HOST, 0))
        yield [int(each.getsockname()[1]) for each in sockets]
