"""The embedded broker's ``server.properties``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from streams.embedded.probe import HOST
from streams.errors import UsageError

_FIXED = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    # Only `apply` creates topics; a misspelt name must not create a topic.
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    # An open transaction blocks read_committed consumers, so a dead worker's transaction must be
    # aborted soon.
    "transaction.max.timeout.ms": "15000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    # A rebalance delay is unnecessary on one machine.
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    # The default is 2 s. A shorter interval helps because a late heartbeat can end a session.
    "broker.heartbeat.interval.ms": "500",
    # The default is 128 MB of heap, which is not needed for small logs.
    "log.cleaner.dedupe.buffer.size": "16777216",
}

# If a broker's session expires, its partitions get other leaders, which should happen soon. A
# single broker has no replacement: for a moment, it reports that the cluster has no brokers, after
# which librdkafka never connects again (issue 5301). A busy or virtual machine may stop Java for
# ten seconds, so the session of a single broker is longer. However, a killed broker starts only
# after its former session has expired.
_SESSION_OF_SEVERAL, _SESSION_ALONE = "4000", "15000"

_COPIES = ("default", "offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
_IN_SYNC = (
    "min.insync.replicas",
    "transaction.state.log.min.isr",
    "share.coordinator.state.topic.min.isr",
)


@dataclass(frozen=True, slots=True)
class Node:
    """One of several brokers: its ``number``, from 1, and the ports of all controllers."""

    number: int
    controllers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """Additions to a broker's plaintext listener, which remains for administration.

    ``listeners``: additional ports, by security protocol; ``properties``: Kafka properties that
    override ours; ``java``: JVM options.
    """

    listeners: Mapping[str, int] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)  # with passwords
    java: tuple[str, ...] = ()


NOTHING = Beside()


def server_properties(log_dir: Path, port: int, node: Node, beside: Beside = NOTHING) -> str:
    """Return the contents of ``server.properties`` for a broker that listens only on loopback.

    ``log_dir`` is Kafka's data directory.

    The quorum's voters are static: their addresses are part of the configuration, so a broker can
    be restarted on other ports. With a dynamic quorum, the data would contain the first port
    forever. Topics are replicated to all brokers, and writes need all but one of them.
    """
    if "," in str(log_dir):
        raise UsageError(
            f"The data folder {log_dir} has a comma in its path, which Kafka cannot use.",
            "Choose another folder with --data.",
        )
    count, own = len(node.controllers), node.controllers[node.number - 1]
    voters = (f"{n}@{HOST}:{p}" for n, p in enumerate(node.controllers, 1))
    listeners = {"PLAINTEXT": port, "CONTROLLER": own, **beside.listeners}
    settings = {
        **_FIXED,
        **threads(os.cpu_count() or 1),
        "node.id": str(node.number),
        **{f"{topic}.replication.factor": str(count) for topic in _COPIES},
        **{name: str(max(1, count - 1)) for name in _IN_SYNC},
        "broker.session.timeout.ms": _SESSION_ALONE if count == 1 else _SESSION_OF_SEVERAL,
        "listeners": ",".join(f"{name}://{HOST}:{at}" for name, at in listeners.items()),
        "listener.security.protocol.map": ",".join(
            f"{name}:{'PLAINTEXT' if name == 'CONTROLLER' else name}" for name in listeners
        ),
        "controller.quorum.voters": ",".join(voters),
        "log.dir": log_dir.as_posix(),
        **beside.properties,
    }
    return "".join(f"{name}={_escape(value)}\n" for name, value in settings.items())


def threads(cores: int) -> dict[str, str]:
    """Return the numbers of network and request threads; Kafka's defaults are for servers.

    The defaults are 3 and 8. Threads pass each request on to other threads, which must be woken on
    a machine with few cores. With 1 and 3 threads, a broker on two cores uses 5 to 10 % less CPU
    (docs/internals.md).
    """
    network, workers = max(1, min(3, cores // 2)), max(3, min(8, cores + 1))
    return {"num.network.threads": str(network), "num.io.threads": str(workers)}


def _escape(value: str) -> str:
    """Escape what Java's properties format cannot represent: backslashes, non-Latin-1."""
    value = value.replace("\\", "\\\\")
    units = value.encode("utf-16-be")
    codes = (int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2))
    return "".join(chr(code) if code < 127 else f"\\u{code:04x}" for code in codes)
