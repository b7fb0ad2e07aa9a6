"""A Spark session that reads Kafka and Avro, quiet and on this machine's loopback only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from streams.embedded import find_java, spark_jars
from streams.errors import SurroundingsError
from streams.private import make_folder, open_private

_STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_UNTRUSTED: Mapping[str, int] = {"string": 65_536, "bytes": 65_536, "collectionItems": 256}
"""The maximum lengths that Avro may decode in headers, in bytes and items.

Avro reserves memory for the length that a prefix claims, and an OutOfMemoryError ends the query. A
path has at most 65 visits, a name at most 256 bytes.
"""
_OURS = {"string": 64 << 20, "bytes": 64 << 20, "collectionItems": 1 << 20}
"""The limits for captures, which Hopline wrote: they allow any record's body and headers."""
_LEAVE_S = 20.0
_GONE = (Py4JError, ConnectionRefusedError)
"""Errors that calls to Spark's process raise after the process has exited."""

SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",  # this is fixed in a checkpoint at its first start
    "spark.sql.streaming.stateStore.providerClass": _STATE_STORE,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Counting the rows of the state would need a read before every write.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # All queries use update mode, in which a batch without data would only clean up.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # A query without new data reports this once per second, which keeps its figures current.
    "spark.sql.streaming.noDataProgressEventInterval": "1000",
    # Passwords and keys are redacted in the options in Spark's plans and logs.
    "spark.redaction.regex": "(?i)secret|password|token|jaas|keystore|url",
    "spark.sql.redaction.options.regex": "(?i)secret|password|token|jaas|keystore|url",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def open_session(
    *,
    master: str,
    log: Path,
    name: str = "hopline monitor",
    limits: Mapping[str, int] = _UNTRUSTED,
) -> SparkSession:
    """Start Spark; its Java process logs to the file ``log``.

    ``limits`` are the maximum lengths that Avro may decode. Raises SurroundingsError if Java is
    missing or too old, or if Spark does not start.
    """
    find_java()
    conf = SparkConf().setMaster(master).setAppName(name)
    for key, value in _settings(master, limits).items():
        conf.set(key, value)
    make_folder(log.parent)
    try:
        with open_private(log, "ab") as output, _signals_kept():
            # A separate session, because a signal to our process group must not reach the JVM.
            streams: dict[str, Any] = {"stdout": output, "stderr": output}
            own = {"start_new_session": os.name == "posix"}
            gateway = launch_gateway(conf, streams | own)  # type: ignore[no-untyped-call]
            context = SparkContext(conf=conf, gateway=gateway)
    except (PySparkException, Py4JError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise SurroundingsError(f"Spark did not start: {reason}", f"See {log}.") from error
    context.setLogLevel("ERROR")
    # Only spark-submit reads this from settings; otherwise, executors would use any python3.
    context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
    return SparkSession(context)


@contextmanager
def batch_session(*, master: str, log: Path, name: str) -> Iterator[SparkSession]:
    """Start Spark for a batch with records of any size, and stop it at the end.

    Raises SurroundingsError if Spark fails.
    """
    spark = open_session(master=master, log=log, name=name, limits=_OURS)
    try:
        yield spark
    except (PySparkException, *_GONE) as error:
        raise SurroundingsError(f"Spark failed: {cause_of(error)}", f"See {log}.") from error
    finally:
        close_session(spark)


def cause_of(error: Exception) -> str:
    """Return the most specific line of Spark's error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    return (causes or lines or [type(error).__name__])[-1].removeprefix("Caused by: ")


def close_session(spark: SparkSession) -> None:
    """Stop Spark and wait for its Java process, so that another session can be opened."""
    gateway = SparkContext._gateway
    with suppress(*_GONE):
        spark.stop()
    if gateway is None:
        return
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    process: subprocess.Popen[bytes] = gateway.proc
    if process.stdin is not None:
        process.stdin.close()  # makes the JVM exit
    try:
        process.wait(_LEAVE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Restore the handler of Ctrl-C; a new Spark context sets one that cancels jobs."""
    kept = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, kept)


def _settings(master: str, limits: Mapping[str, int]) -> dict[str, str]:
    lengths = (f"-Dorg.apache.avro.limits.{kind}.maxLength={n}" for kind, n in limits.items())
    options = " ".join(lengths)
    settings = SETTINGS | {
        "spark.jars": ",".join(str(jar) for jar in spark_jars()),
        "spark.driver.extraJavaOptions": options,
        "spark.executor.extraJavaOptions": options,
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
    }
    if master.startswith("local"):
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return settings
