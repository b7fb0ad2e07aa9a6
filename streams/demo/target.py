"""The application behind TargetService: it receives messages and ends dialogs."""

from __future__ import annotations

import threading

from streams.client import Client, Receiver
from streams.kafka import Cluster


class TargetApplication:
    """A thread for one queue: RECEIVE, and END CONVERSATION on every EndDialog."""

    def __init__(self, cluster: Cluster, instance: str, database: str, queue: str) -> None:
        self._cluster = cluster
        self._where = (instance, database, queue)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"target-{instance}", daemon=True)
        self.received = 0

    def __enter__(self) -> TargetApplication:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    def _run(self) -> None:
        with (
            Client(self._cluster, "target") as client,
            Receiver(self._cluster, *self._where, group="demo.target") as queue,
        ):
            while not self._stop.is_set():
                for message in queue.receive(timeout=0.2):
                    self.received += 1
                    if message.ends_dialog:
                        client.end(message.conversation)
                client.flush()
                queue.commit()
