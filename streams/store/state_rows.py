"""A cluster's state as rows: dialogs, their errors, and samples of all other values.

Times are epoch milliseconds. A sample is a value that was the same at all samplings from ``at`` to
``until``; the newest sample of a subject is its present state.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DialogSide:
    """One side of a dialog, in the state that its endpoint worker wrote last.

    ``instance`` is the instance, or the mirrored pair, after which its topics are named. ``state``
    is SO, SI, CO, DI, DO, ER or CD. Three fields are message numbers: ``sent`` is the next to send,
    ``acknowledged`` the next to be acknowledged, and ``received`` the next expected. ``position``
    is the record's offset in its partition.

    Instants are commit times of states. ``locked_at`` is the time of the first record in which the
    initiator knows the answering broker (``far_broker``), ``error_at`` of the first record in ER.
    ``progress_at`` is the time of the first record with this state and these three numbers.
    ``ended_at``: the endpoint was closed; ``gone_at``: its state was removed.

    ``depth`` messages are in its transmission queue, and ``parked`` fragments wait for a queue that
    is off. ``waiting_since``: the time at which the oldest message became the oldest; it has waited
    at least since then. ``status`` is the number that the transmission queue shows, 0 for none.
    """

    instance: str
    database: str
    conversation: str
    is_initiator: bool
    service: str
    far_service: str
    contract: str
    state: str
    begun_at: int
    expires_at: int
    far_broker: str | None
    locked_at: int | None
    error_at: int | None
    ended_at: int | None
    gone_at: int | None
    progress_at: int
    sent: int
    acknowledged: int
    received: int
    depth: int
    parked: int
    waiting_since: int | None
    attempt: int
    status: int
    status_at: int
    seen_at: int
    position: int


@dataclass(frozen=True, slots=True)
class DialogGone:
    """The endpoint worker has removed a side of a dialog, so its record is a tombstone."""

    instance: str
    database: str
    conversation: str
    is_initiator: bool
    gone_at: int
    position: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """An event with a dialog's error: why the dialog failed (124), or where it is rejected (160).

    ``is_initiator``: whether the endpoint (124) or the sender (160) is the initiator.
    """

    instance: str
    database: str | None
    conversation: str
    is_initiator: bool | None
    event: int
    error: int
    to_service: str | None
    first_at: int
    last_at: int


@dataclass(frozen=True, slots=True)
class QueueSample:
    """The transmission queue of an instance (or pair): its numbers of messages and dialogs.

    ``oldest_at`` is the least ``waiting_since``; ``statuses`` is the number of messages per status.
    """

    instance: str
    at: int
    until: int
    messages: int
    dialogs: int
    parked: int
    oldest_at: int | None
    statuses: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class LagSample:
    """The number of committed records of ``topic`` that a worker has not read.

    ``topic`` is a kind: cmd, in, ack, out, txq, or ingress (summed over all clusters that write to
    it). ``role`` is ``endpoint`` or ``forwarder``.
    """

    instance: str
    role: str
    topic: str
    at: int
    until: int
    records: int


@dataclass(frozen=True, slots=True)
class HeartbeatSample:
    """Whether a forwarder sent heartbeats; ``seen_at`` is Kafka's timestamp of the last one."""

    instance: str
    at: int
    until: int
    up: bool
    seen_at: int


@dataclass(frozen=True, slots=True)
class BufferedSample:
    """The copies, and bytes of bodies, that a forwarder buffers for next hops that are down."""

    instance: str
    at: int
    until: int
    copies: int
    bytes: int


@dataclass(frozen=True, slots=True)
class LinkSample:
    """An instance to which routes of another instance lead."""

    instance: str
    other: str
    at: int
    until: int


Sample = QueueSample | LagSample | HeartbeatSample | BufferedSample | LinkSample
StateRow = DialogSide | DialogGone | Trouble | Sample
