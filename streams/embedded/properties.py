"""The embedded broker's ``server.properties``."""

from __future__ import annotations

from pathlib import Path

from streams.embedded.probe import HOST
from streams.errors import UsageError

_FIXED = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    # Only `apply` creates topics; a misspelt name must not become one.
    "auto.create.topics.enable": "false",
    # One broker: its internal topics cannot be replicated.
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "4",
    # An open transaction blocks every read_committed reader: end a dead worker's soon.
    "transaction.max.timeout.ms": "15000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    # A laptop waits for nobody.
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    # After a kill the controller waits this long for the broker's former life: 9 s by default.
    "broker.session.timeout.ms": "4000",
    # 128 MB of heap by default, for logs that are small here.
    "log.cleaner.dedupe.buffer.size": "16777216",
}


def server_properties(log_dir: Path, port: int, controller_port: int) -> str:
    """Return the file's text. Loopback only; ``log_dir`` is where Kafka keeps its data.

    The quorum's voters are static: their address is then configuration, and a data folder can be
    started again on other ports. With a dynamic quorum the first port stays in the data for ever.
    """
    if "," in str(log_dir):
        raise UsageError(
            f"The data folder {log_dir} has a comma in its path, which Kafka cannot use.",
            "Choose another folder with --data.",
        )
    settings = {
        **_FIXED,
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "log.dir": log_dir.as_posix(),
    }
    return "".join(f"{name}={_escape(value)}\n" for name, value in settings.items())


def _escape(value: str) -> str:
    """Write what Java's properties format cannot hold as it is: backslashes, non-Latin-1."""
    value = value.replace("\\", "\\\\")
    units = value.encode("utf-16-be")
    codes = (int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2))
    return "".join(chr(code) if code < 127 else f"\\u{code:04x}" for code in codes)
