"""The properties of librdkafka that may be set, and the properties that must not be set."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from streams.errors import UsageError
from streams.settings.model import settings_of

_VARIABLE = "HOPLINE_KAFKA_"
_COMPOSED = frozenset(_VARIABLE + name for name in ("HEAP", "IMAGE", "PORT"))
"""Variables of docker-compose.yml, which are meant for Kafka's container."""
_ELSEWHERE = "HOPLINE_CLUSTERS__"
_OTHERS = (
    "HOPLINE_CACHE",
    "HOPLINE_CONFIG",
    "HOPLINE_DASHBOARD_TOKEN",
    "HOPLINE_DIRECTORY",
    "HOPLINE_MAVEN",
    "HOPLINE_OUTBOX",
    "HOPLINE_TRACEBACK",
)
_SECRET = re.compile(r"password|secret|private\.key|\.pem$|^sasl\.oauthbearer\.config$")


@dataclass(frozen=True, slots=True)
class Sourced:
    """A value and its source: a flag, a variable, `file:line`, or the default."""

    value: Any
    source: str


_REPEATS = "without it, a retry of the producer could duplicate or reorder records."
_OFFSETS = "an offset must not be committed before the record has taken effect."
_REPORTED = "each client sets its own, and an early timeout would change the order of its records."
_SHARE = (
    "workers rely on their own assignment strategy to drain partitions before they are revoked."
)
_OWN = "each client sets its own; clients that share one would fence each other."
_MOVED = "all clients must map a key to the same partition, which holds its dialog."
_CODE = "the writer of a file or a topology could run code in every client."
_START = "readers start at their own position; a reset would lose or repeat records."

REFUSED: Mapping[str, str] = {
    "enable.idempotence": _REPEATS,
    "acks": "a confirmed record must be on all in-sync replicas, or a broker failure loses it.",
    "request.required.acks": "it is an alias of acks, and a confirmed record must not be lost.",
    "retries": _REPEATS,
    "message.send.max.retries": _REPEATS,
    "max.in.flight": _REPEATS,
    "max.in.flight.requests.per.connection": _REPEATS,
    "enable.gapless.guarantee": _REPEATS,
    "message.timeout.ms": _REPORTED,
    "delivery.timeout.ms": _REPORTED,
    "delivery.report.only.error": "workers need every delivery report.",
    "transactional.id": _OWN,
    "transaction.timeout.ms": "it bounds how long a dead worker's transaction blocks readers.",
    "partitioner": _MOVED,
    "isolation.level": "records of aborted transactions must not be read.",
    "enable.auto.commit": _OFFSETS,
    "auto.commit.enable": _OFFSETS,
    "enable.auto.offset.store": _OFFSETS,
    "auto.offset.reset": _START,
    "enable.partition.eof": "workers need it to detect the end of a partition.",
    "allow.auto.create.topics": "only `hopline apply` creates topics, with the required settings.",
    "topic.blacklist": "a hidden topic would not be read.",
    "group.id": _OWN,
    "group.instance.id": _OWN,
    "group.protocol": _SHARE,
    "group.remote.assignor": _SHARE,
    "partition.assignment.strategy": _SHARE,
    "bootstrap.servers": "use the setting `bootstrap` instead.",
    "metadata.broker.list": "use the setting `bootstrap` instead.",
    "metadata.recovery.strategy": "workers could not commit after an outage of all brokers.",
    "statistics.interval.ms": "use the setting `worker.http` instead.",
    "plugin.library.paths": _CODE,
    "ssl.engine.location": _CODE,
    "ssl.engine.id": _CODE,
    "ssl.providers": _CODE,
    "sasl.kerberos.kinit.cmd": _CODE,
    "test.mock.num.brokers": "records would go to a broker that does not exist.",
}
"""Properties that cannot be set, with the reason: lost or misplaced messages, or executed code."""
_LOADING = ("plugin.", "ssl.engine.", "ssl_engine")
_IN_A_SHELL = re.compile(r"sasl\.kerberos\.(principal|keytab|service\.name)")
"""The properties that librdkafka puts into the shell command that gets a Kerberos ticket."""
_PLAIN = re.compile(r"[\w@./:+-]*")

ADDRESS = "bootstrap.servers"
"""The property with a cluster's address."""
STATED = frozenset(
    {
        ADDRESS, "security.protocol", "enable.ssl.certificate.verification",
        "sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.kerberos.service.name",
        "ssl.ca.location", "ssl.endpoint.identification.algorithm",
        "broker.address.family", "broker.address.ttl", "client.dns.lookup",
        "socket.keepalive.enable", "socket.nagle.disable", "socket.timeout.ms",
        "socket.connection.setup.timeout.ms", "connections.max.idle.ms",
        "reconnect.backoff.ms", "reconnect.backoff.max.ms", "retry.backoff.ms",
        "compression.type", "compression.codec", "compression.level",
        "linger.ms", "queue.buffering.max.ms", "batch.size", "message.max.bytes",
    }
)  # fmt: skip
"""Properties allowed in a topology, which is read from the catalog."""
_TRUST = re.compile(
    r"bootstrap\.servers|security\.protocol|enable\.ssl\..*|sasl\.(?!username$).*|ssl\..*"
)
_CREDENTIAL = re.compile(r"sasl\..*|ssl\.(key|certificate).*")


def refusal_of(name: str, value: str = "") -> str | None:
    """Return why a property cannot be set (to this value); ``None`` if it can be set."""
    if name.endswith("_cb") or name in ("logger", "on_delivery", "opaque", "default_topic_conf"):
        return "it is not a string."
    if _IN_A_SHELL.fullmatch(name) and not _PLAIN.fullmatch(value):
        return "a shell evaluates it; only letters, digits and @ . / : + - _ are allowed."
    return _CODE if name.startswith(_LOADING) else REFUSED.get(name)


def demand_safe(properties: Iterable[str], source: str = "", *, elsewhere: bool = False) -> None:
    """Raise UsageError for the first property that cannot be set.

    ``elsewhere``: the properties are for another cluster, and may also set the address.
    """
    place = f"{source}: " if source else ""
    for name in properties:
        value = properties[name] if isinstance(properties, Mapping) else ""
        why = None if elsewhere and name == ADDRESS else refusal_of(name, value)
        if why is not None:
            raise UsageError(f"{place}{name} cannot be set: {why}", "Leave it out.")


def decides_trust(name: str) -> bool:
    """Return whether a property affects which server is trusted."""
    return _TRUST.fullmatch(name) is not None


def has_credentials(properties: Iterable[str]) -> bool:
    """Return whether properties contain credentials."""
    return any(map(_CREDENTIAL.fullmatch, properties))


def is_secret(name: str) -> bool:
    """Return whether a property's value must not be shown."""
    return _SECRET.search(name) is not None


def property_variables(environment: Mapping[str, str]) -> Iterator[tuple[str, Sourced]]:
    """Yield the properties that variables set; HOPLINE_KAFKA_SASL_PASSWORD is sasl.password."""
    for variable, value in sorted(environment.items()):
        if variable.startswith(_VARIABLE) and variable not in _COMPOSED:
            yield _property_of(variable.removeprefix(_VARIABLE)), Sourced(value, variable)


def cluster_variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str, Sourced]]:
    """Yield properties of other clusters; HOPLINE_CLUSTERS__DMZ__SASL_PASSWORD belongs to DMZ."""
    for variable, value in sorted(environment.items()):
        cluster, _, name = variable.removeprefix(_ELSEWHERE).partition("__")
        if variable.startswith(_ELSEWHERE) and cluster and name:
            yield cluster, _property_of(name), Sourced(value, variable)


def property_variable(name: str) -> str:
    """Return the variable that sets a property of the command's cluster."""
    return f"{_VARIABLE}{name.upper().replace('.', '_')}"


def variable_of(cluster: str, name: str) -> str:
    """Return the variable that sets a property of another cluster."""
    return f"{_ELSEWHERE}{folded(cluster)}__{name.upper().replace('.', '_')}"


def folded(cluster: str) -> str:
    """Return a cluster's name in variables, which allow only letters, digits and _."""
    return re.sub(r"[^A-Z0-9]+", "_", cluster.upper())


def _property_of(name: str) -> str:
    key = name.lower().replace("_", ".")
    return {"log.level": "log_level"}.get(key, key)


def unknown_variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield unknown variables that look like settings, each with the nearest known name or ""."""
    known = [*(s.variable for s in settings_of()), *_OTHERS]
    for variable in sorted(environment):
        properties = variable.startswith((_VARIABLE, _ELSEWHERE))
        ours = variable.startswith("HOPLINE_") and not properties
        if ours and variable not in known:
            yield variable, next(iter(difflib.get_close_matches(variable, known, 1, 0.8)), "")
