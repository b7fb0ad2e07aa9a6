"""Build an instance's live state from the rows of its DMVs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from streams.topology.findings import Severity
from streams.topology.model import Instance
from streams.topology.snapshot.names import Names, names_of
from streams.topology.snapshot.rows import DATABASE, Rows, ViewRow
from streams.topology.snapshot.state import (
    Connection,
    ConversationEndpoint,
    DialogState,
    ForwardedMessage,
    LiveInstance,
    LiveQueue,
    QueuedMessage,
    QueueMonitor,
)
from streams.topology.snapshot.views import OPTIONAL, VIEWS

_STATES = {state.value: state for state in DialogState}
_ONLINE, _MULTI_USER = 0, 0
_TIMES = (
    ("transmission_queue", "enqueue_time"),
    ("dm_broker_connections", "last_activity_time"),
    ("dm_broker_queue_monitors", "last_activated_time"),
)


def build_live(rows: Rows, instance: Instance) -> LiveInstance:
    """Return an instance's live state."""
    names = {d: names_of(rows, d) for d in (*instance.databases, instance.msdb.name)}
    by_fold = {name.casefold(): found for name, found in names.items()}
    monitors, depths = tuple(_monitors(rows, by_fold)), dict(_depths(rows, by_fold))
    return LiveInstance(
        instance.name,
        _taken_at(rows),
        tuple(_message(row) for row in rows.of("transmission_queue")),
        tuple(_endpoints(rows, by_fold)),
        tuple(_forwarded(row) for row in rows.of("dm_broker_forwarded_messages")),
        tuple(_connection(row) for row in rows.of("dm_broker_connections")),
        monitors,
        tuple(_queues(rows, by_fold, monitors, depths)),
        depths,
        _texts(rows),
        {(str(r[DATABASE]), r["view_name"]): r["row_count"] for r in rows.of("row_counts")},
        dict(_closed(rows)),
        tuple(v for v in VIEWS if v not in rows.present and v not in OPTIONAL),
        dict(rows.unread),
        {view: len(rows.of(view)) for view in VIEWS if rows.of(view)},
    )


def _taken_at(rows: Rows) -> float | None:
    """Return the time that the server reports, or else the latest time of any row."""
    reported = [row["taken_at"] for row in rows.of("server") if row["taken_at"] is not None]
    seen = [row[column] for view, column in _TIMES for row in rows.of(view)]
    times = reported or [time for time in seen if time is not None]
    return max(times, default=None)


def _message(row: ViewRow) -> QueuedMessage:
    return QueuedMessage(
        str(row[DATABASE]), row["conversation_handle"], row["to_service_name"],
        row["to_broker_instance"], row["from_service_name"], row["service_contract_name"],
        row["enqueue_time"], row["transmission_status"], row["message_sequence_number"], row.source,
    )  # fmt: skip


def _endpoints(rows: Rows, names: Mapping[str, Names]) -> Iterator[ConversationEndpoint]:
    for row in rows.of("conversation_endpoints"):
        state = _STATES.get(row["state"].strip().upper())
        if state is None:
            rows.note(
                f"conversation_endpoints.state: '{row['state']}' is not a dialog state",
                f"Valid states: {', '.join(_STATES)}.", row.source, Severity.WARNING,
            )  # fmt: skip
            continue
        inside = names.get(str(row[DATABASE]).casefold(), Names())
        yield ConversationEndpoint(
            str(row[DATABASE]), row["conversation_handle"], row["conversation_id"],
            row["is_initiator"] is not False, state, inside.service(row["service_id"]),
            inside.contract(row["service_contract_id"]), row["conversation_group_id"],
            row["lifetime"], row["far_service"], row["far_broker_instance"],
            row["security_timestamp"], row["send_sequence"], row["receive_sequence"],
            bool(row["is_system"]), row.source,
        )  # fmt: skip


def _forwarded(row: ViewRow) -> ForwardedMessage:
    return ForwardedMessage(
        row["conversation_id"], row["is_initiator"] is not False, row["to_service_name"],
        row["to_broker_instance"], row["from_service_name"], row["adjacent_broker_address"],
        row["hops_remaining"], row["time_to_live"], row["time_consumed"], row.source,
    )  # fmt: skip


def _connection(row: ViewRow) -> Connection:
    return Connection(row["state"], row["login_state"], row.source)


def _monitors(rows: Rows, names: Mapping[str, Names]) -> Iterator[QueueMonitor]:
    databases = {r["database_id"]: str(r["name"]) for r in rows.of("databases")}
    for row in rows.of("dm_broker_queue_monitors"):
        database = databases.get(row["database_id"])
        if database is None:
            continue
        queue = names.get(database.casefold(), Names()).queues.get(row["queue_id"])
        if queue is not None:
            yield QueueMonitor(
                database, queue, row["state"], row["last_activated_time"], row["tasks_waiting"],
                row.source,
            )  # fmt: skip


def _depths(rows: Rows, names: Mapping[str, Names]) -> Iterator[tuple[tuple[str, str], int]]:
    for row in rows.of("queue_depths"):
        database = str(row[DATABASE])
        queue = names.get(database.casefold(), Names()).queues.get(row["object_id"])
        if queue is not None:
            yield (database, queue), row["messages"]


def _queues(
    rows: Rows,
    names: Mapping[str, Names],
    monitors: Iterable[QueueMonitor],
    depths: Mapping[tuple[str, str], int],
) -> Iterator[LiveQueue]:
    by_queue = {(monitor.database, monitor.queue): monitor for monitor in monitors}
    for row in rows.of("service_queues"):
        database = str(row[DATABASE])
        name = names.get(database.casefold(), Names()).queues.get(row["object_id"])
        if name is not None:
            yield LiveQueue(
                database, name, row["is_receive_enabled"] is not False,
                bool(row["is_retention_enabled"]), row["activation_procedure"] or None,
                bool(row["is_activation_enabled"]), row["max_readers"],
                depths.get((database, name), 0), by_queue.get((database, name)), row.source,
            )  # fmt: skip


def _texts(rows: Rows) -> dict[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    for row in rows.of("messages"):
        found.setdefault(row["message_id"], []).append(row["text"])
    return {number: tuple(texts) for number, texts in found.items()}


def _closed(rows: Rows) -> Iterator[tuple[str, str]]:
    """Yield databases whose broker is enabled but cannot work (28012 to 28018)."""
    for row in rows.of("databases"):
        if row["state"] not in (None, _ONLINE):
            yield str(row["name"]), "not online"
        elif row["is_read_only"]:
            yield str(row["name"]), "read-only"
        elif row["user_access"] not in (None, _MULTI_USER):
            yield str(row["name"]), "in single-user or restricted mode"
