"""A monitor that is killed between the commit of its stores and Spark's: run as a module."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from pyspark.sql import SparkSession

from streams.monitor import MonitorConfig, open_session
from streams.monitor.queries import queries
from streams.monitor.sink import Target
from streams.store import Row, Store


class Several:
    """Takes rows for several stores; kills its process when a batch of one query is in them."""

    def __init__(self, stores: Sequence[Store], killing: str | None = None) -> None:
        self._stores, self._killing = stores, killing

    def write(self, query: str, run: str, batch_id: int, rows: Iterable[Row]) -> bool:
        found = tuple(rows)
        written = [store.write(query, run, batch_id, found) for store in self._stores]
        if query == self._killing:
            os.kill(os.getpid(), signal.SIGKILL)
        return all(written)


def read_on(spark: SparkSession, config: MonitorConfig, target: Target) -> None:
    """Run all queries to the end of what is there."""
    defined = queries(spark, config, target)
    checkpoint = config.checkpoint.as_uri()
    for running in [query.start(checkpoint, available_now=True) for query in defined]:
        running.awaitTermination()


def main(arguments: str) -> None:
    values = json.loads(arguments)
    killing, urls = values.pop("killing"), values.pop("urls")
    config = MonitorConfig(**{**values, "checkpoint": Path(values["checkpoint"])})
    spark = open_session(master="local[2]", log=config.checkpoint / "spark.log")
    with ExitStack() as stack:
        stores = [stack.enter_context(Store.open(url)) for url in urls]
        read_on(spark, config, Several(stores, killing))


if __name__ == "__main__":
    main(sys.argv[1])
