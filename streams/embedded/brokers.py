"""Several brokers with replication, all on this machine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from streams.embedded.broker import STOP_TIMEOUT_S, Broker, new_cluster
from streams.embedded.probe import HOST, free_ports
from streams.embedded.properties import NOTHING, Beside, Node
from streams.embedded.state import DataDir


class Brokers:
    """A cluster of brokers, each in its own folder below ``data``; a context manager.

    Every topic is replicated to all brokers, and a record is acknowledged when all but one of them
    have stored it, so any one of three brokers may be killed. ``brokers`` can be started and
    stopped individually; their ports stay the same. The brokers do not outlive this process.
    """

    def __init__(self, data: Path, count: int = 3, beside: Beside = NOTHING) -> None:
        """Set the data folder and the number of brokers; ``beside`` applies to every broker."""
        ports = free_ports(2 * count)
        controllers = tuple(ports[count:])
        folders = [data / str(number) for number in range(1, count + 1)]
        cluster = DataDir(folders[0].absolute()).cluster() or new_cluster()
        self.brokers = tuple(
            Broker(
                folder, port=port, node=Node(number, controllers), cluster=cluster, beside=beside
            )
            for number, (folder, port) in enumerate(zip(folders, ports, strict=False), 1)
        )

    @property
    def bootstrap(self) -> str:
        """Return the addresses of all brokers, running or not."""
        return ",".join(f"{HOST}:{broker.port}" for broker in self.brokers)

    def start(self) -> None:
        """Start all brokers in parallel; return when all respond.

        They must start in parallel because a single broker would wait for a majority of the
        controllers.
        """
        self._each(lambda broker: broker.start(tied=True))

    def stop(self, timeout: float = STOP_TIMEOUT_S) -> None:
        """Stop all brokers, and kill each broker after ``timeout`` seconds."""
        self._each(lambda broker: broker.stop(timeout))

    def _each(self, act: Callable[[Broker], object]) -> None:
        with ThreadPoolExecutor(len(self.brokers)) as pool:
            list(pool.map(act, self.brokers))

    def __enter__(self) -> Self:
        """Start the brokers; if one of them fails, stop the others."""
        try:
            self.start()
        except BaseException:
            self.stop(5.0)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the brokers; do not wait for the last ones, which no longer have a majority."""
        self.stop(5.0)
