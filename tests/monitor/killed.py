"""A monitor that is killed between the commit of the store and Spark's: run as a module."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

from streams.monitor import MonitorConfig, open_session
from streams.monitor.queries import queries
from streams.store import Row, Store


class Killing:
    """Takes rows, and kills its process once a batch of one query is committed with some."""

    def __init__(self, store: Store, query: str) -> None:
        self._store, self._query = store, query

    def write(self, query: str, run: str, batch_id: int, rows: Iterable[Row]) -> bool:
        found = tuple(rows)
        written = self._store.write(query, run, batch_id, found)
        if query == self._query:
            os.kill(os.getpid(), signal.SIGKILL)
        return written


def main(said: str) -> None:
    values = json.loads(said)
    query, checkpoint = values.pop("query"), Path(values.pop("checkpoint"))
    config = MonitorConfig(**values, checkpoint=checkpoint)
    spark = open_session(master="local[2]", log=checkpoint / "spark.log")
    target = Killing(Store.open(config.store), query)
    defined = queries(spark, config, target)
    for running in [one.start(checkpoint.as_uri(), available_now=True) for one in defined]:
        running.awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1])
