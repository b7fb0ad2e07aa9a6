"""Prometheus metrics, read from the workers on request.

A metric is named after Service Broker's performance counter if there is one (*Broker Statistics*,
*Broker/DBM Transport*). Each label has a bounded set of values: roles, instances, topics or error
numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from streams.errors import EventKind
from streams.telemetry import Samples, Series
from streams.workers.endpoint import EndpointWorker
from streams.workers.forwarder import ForwarderWorker
from streams.workers.process import Process, Worker

LABELS = ("worker", "server")
"""Labels that precede the other labels of a worker's metric."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric; ``mirrors`` names the corresponding Service Broker counter, if any.

    ``read`` returns None for a worker without this metric. A name that ends in ``_total`` is a
    counter.
    """

    name: str
    says: str
    mirrors: str
    read: Callable[[Worker], Samples]
    labels: tuple[str, ...] = ()


def _forwarder(read: Callable[[ForwarderWorker], float]) -> Callable[[Worker], Samples]:
    return lambda worker: [((), read(worker))] if isinstance(worker, ForwarderWorker) else []


def _endpoint(read: Callable[[EndpointWorker], float]) -> Callable[[Worker], Samples]:
    return lambda worker: [((), read(worker))] if isinstance(worker, EndpointWorker) else []


def _either(read: Callable[[Worker], float]) -> Callable[[Worker], Samples]:
    return lambda worker: [((), read(worker))]


def _event_samples(worker: Worker, kind: EventKind) -> Samples:
    return [
        ((str(number),), count) for number, count in sorted(worker.event_counts.of(kind).items())
    ]


def _events(worker: Worker) -> Samples:
    counts = sorted(worker.event_counts.counts.items())
    return [((str(kind), str(number)), count) for (kind, number), count in counts]


def _lag(worker: Worker) -> Samples:
    return [((topic,), lag) for topic, lag in worker.traffic.lag.items()]


STATISTICS, TRANSPORT = "Broker Statistics: ", "Broker/DBM Transport: "

FIGURES = (
    Figure(
        "hopline_statements_total",
        "Statements of applications that were read from cmd: BEGIN, SEND, END, MOVE and so on.",
        STATISTICS + "SQL SEND Total",
        _endpoint(lambda w: w.counts.statements),
    ),
    Figure(
        "hopline_repeated_statements_total",
        "Repeated statements that were skipped.",
        "",
        _endpoint(lambda w: w.counts.repeated),
    ),
    Figure(
        "hopline_enqueued_messages_total",
        "Messages put into queues.",
        STATISTICS + "Enqueued Messages Total",
        _endpoint(lambda w: w.counts.queued),
    ),
    Figure(
        "hopline_enqueued_transmissionq_messages_total",
        "Frames sent to the instance's forwarder: messages, retries and acknowledgements.",
        STATISTICS + "Enqueued TransmissionQ Msgs/sec",
        _endpoint(lambda w: w.counts.frames),
    ),
    Figure(
        "hopline_dropped_messages_total",
        "Messages that arrived but were not delivered (event 160), by error number.",
        STATISTICS + "Dropped Messages Total",
        lambda w: _event_samples(w, EventKind.MESSAGE_UNDELIVERABLE),
        ("number",),
    ),
    Figure(
        "hopline_corrupted_messages_total",
        "Records that could not be decoded (event 161), by error number.",
        STATISTICS + "Corrupted Messages Total",
        lambda w: _event_samples(w, EventKind.CORRUPTED_MESSAGE),
        ("number",),
    ),
    Figure(
        "hopline_broker_transaction_rollbacks_total",
        "Transactions that were aborted; their records are read again.",
        STATISTICS + "Broker Transaction Rollbacks",
        _endpoint(lambda w: w.counts.rolled_back),
    ),
    Figure(
        "hopline_transactions_total",
        "Committed transactions.",
        "",
        _endpoint(lambda w: w.counts.transactions),
    ),
    Figure(
        "hopline_longest_transaction_seconds",
        "Duration of the longest committed transaction since the worker started.",
        "",
        _endpoint(lambda w: w.counts.longest),
    ),
    Figure(
        "hopline_held_back_partitions",
        "Partitions of cmd that are blocked by a statement in an unknown schema.",
        "",
        _endpoint(lambda w: w.held_back),
    ),
    Figure(
        "hopline_dialogs",
        "Conversation endpoints in the partitions of the worker.",
        "",
        _endpoint(lambda w: w.assignment.dialogs),
    ),
    Figure(
        "hopline_forwarded_messages_total",
        "Frames that were read from the transmission queues and routed.",
        STATISTICS + "Forwarded Messages Total",
        _forwarder(lambda w: w.decided),
    ),
    Figure(
        "hopline_forwarded_message_bytes_total",
        "Bytes of keys and bodies that were written to Kafka, without headers.",
        STATISTICS + "Forwarded Msg Byte Total",
        _forwarder(lambda w: w.traffic.messages_sent),
    ),
    Figure(
        "hopline_forwarded_messages_discarded_total",
        "Frames that were dropped (event 140), by error number; the sender keeps its message.",
        STATISTICS + "Forwarded Msg Discarded Total",
        lambda w: _event_samples(w, EventKind.FORWARDED_MESSAGE_DROPPED),
        ("number",),
    ),
    Figure(
        "hopline_forwarded_pending_messages",
        "Frames buffered in memory because the next hop sends no heartbeats.",
        STATISTICS + "Forwarded Pending Msg Count",
        _forwarder(lambda w: w.pending[0]),
    ),
    Figure(
        "hopline_forwarded_pending_message_bytes",
        "Bytes of the frames buffered in memory; limited by MESSAGE_FORWARD_SIZE.",
        STATISTICS + "Forwarded Pending Msg Bytes",
        _forwarder(lambda w: w.pending[1]),
    ),
    Figure(
        "hopline_trace_events_total",
        "Events written to the event topic, by SQL Trace event class and error number.",
        "",
        _events,
        ("event", "number"),
    ),
    Figure(
        "hopline_open_connections",
        "Open connections to brokers, of the consumers and producers of the worker.",
        TRANSPORT + "Open Connection Count",
        _either(lambda w: w.traffic.connections),
    ),
    Figure(
        "hopline_receive_io_bytes_total",
        "Bytes that the worker's main consumer has read from Kafka.",
        TRANSPORT + "Receive I/O Bytes/sec",
        _either(lambda w: w.traffic.received),
    ),
    Figure(
        "hopline_send_io_bytes_total",
        "Bytes written to Kafka by a forwarder.",
        TRANSPORT + "Send I/O Bytes/sec",
        _forwarder(lambda w: w.traffic.sent),
    ),
    Figure(
        "hopline_pending_bytes_for_send_io",
        "Bytes of records in a forwarder's producer that Kafka has not confirmed.",
        TRANSPORT + "Pending Bytes for Send I/O",
        _forwarder(lambda w: w.traffic.pending),
    ),
    Figure(
        "hopline_lag_records",
        "Consumer lag in the partitions of the worker, in offsets.",
        "",
        _lag,
        ("topic",),
    ),
    Figure(
        "hopline_worker_ready",
        "1 if the worker's partitions are assigned and their state is restored, otherwise 0.",
        "",
        _either(lambda w: w.assigned),
    ),
)


def figures_of(process: Process) -> Iterator[Series]:
    """Yield the metrics of a process, with one sample for each worker that has the metric."""
    yield Series(
        "hopline_catalog_version",
        "The version of the catalog that the workers use.",
        [((), process.catalog_version)],
    )
    yield Series(
        "hopline_cluster_clock_ahead_seconds",
        "How far another cluster's clock is ahead of the local cluster's.",
        [((cluster,), seconds) for cluster, seconds in process.differences()],
        ("cluster",),
    )
    for figure in FIGURES:
        samples = (
            ((worker.role, str(worker.ownership), *labels), value)
            for worker in process.workers
            for labels, value in figure.read(worker)
        )
        yield Series(figure.name, figure.says, samples, (*LABELS, *figure.labels))
