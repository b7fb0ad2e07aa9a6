"""Turn exceptions of Kafka's client into errors with a cause and a remedy."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from streams.errors import SurroundingsError

_SILENT = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._AUTHENTICATION,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._RESOLVE,
        KafkaError._SSL,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._WAIT_COORD,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.REQUEST_TIMED_OUT,
    }
)

_PASSING = _SILENT | {
    KafkaError._PURGE_INFLIGHT,
    KafkaError._PURGE_QUEUE,
    KafkaError._TIMED_OUT_QUEUE,
    KafkaError.KAFKA_STORAGE_ERROR,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.THROTTLING_QUOTA_EXCEEDED,
}
"""Transient errors of a write request."""


NO_LEADER = frozenset(
    {
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    }
)
"""Errors during a leader election, or right after a topic was created or deleted."""


def is_passing(error: KafkaError) -> bool:
    """Return whether another attempt to write a record may succeed, perhaps with a new client.

    Other errors are permanent (11292).
    """
    return error.fatal() or error.retriable() or error.code() in _PASSING


def is_silence(cause: KafkaError) -> bool:
    """Return whether the error means that no broker has responded to the request."""
    return cause.code() in _SILENT


def is_forbidden(cause: KafkaError) -> bool:
    """Return whether the error reports a missing right."""
    return cause.name().endswith("_AUTHORIZATION_FAILED")


def refusal(error: KafkaException, right: str) -> str:
    """Return the reason why Kafka refused a request, including the missing right, if any."""
    cause = error.args[0]
    lacking = f" The permission {right} is required." if is_forbidden(cause) else ""
    return f"{reason_of(cause)}.{lacking}"


def reason_of(cause: KafkaError) -> str:
    """Return the broker's or client's text, without the full stop at its end."""
    return str(cause.str()).rstrip(".")


def worded(
    error: KafkaException, where: str = "Kafka", heard: str = "", waited: str = ""
) -> SurroundingsError:
    """Return the error for a missing right, an unreachable cluster, or any other failure.

    For an unreachable cluster, ``heard`` is the reason, if it is known, and ``waited`` is the
    waiting time as text.
    """
    cause = error.args[0] if error.args else error
    if not isinstance(cause, KafkaError):
        return SurroundingsError(f"{where}: {cause}.")
    reason = reason_of(cause)
    if is_forbidden(cause):
        return SurroundingsError(
            f"{where} denied the request: {reason}.",
            "`hopline acl TOPOLOGY` lists the rights of each role.",
        )
    if cause.retriable() or cause.code() in _SILENT:
        return SurroundingsError(
            f"{where} cannot be reached: {heard or reason}{waited}.",
            "Start it (hopline kafka start), or give another address with --bootstrap.",
        )
    return SurroundingsError(f"{where}: {reason}.", "Restart." if cause.fatal() else "")
