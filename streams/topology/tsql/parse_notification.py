"""CREATE and DROP EVENT NOTIFICATION, for which a database begins dialogs.

Notifications ON SERVER are skipped: they come from msdb, and not from a database's own services.
"""

from __future__ import annotations

from streams.system_names import EVENT_NOTIFICATION_SERVICE, POST_EVENT_NOTIFICATION
from streams.topology.findings import Source
from streams.topology.procedures import BeginDialog
from streams.topology.tsql.boundaries import rest_of_statement
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import CreateNotification, DropObject, Name, Statement


def create_notification(cursor: Cursor, source: Source) -> Statement | None:
    """Parse CREATE EVENT NOTIFICATION after its words."""
    name = cursor.name("the event notification's name")
    on_server, queue = _scope(cursor)
    if on_server:
        return None
    if cursor.accept("WITH"):
        cursor.expect("FAN_IN")
    cursor.expect("FOR")
    events = [cursor.name("an event").upper()]
    while cursor.accept_mark(","):
        events.append(cursor.name("an event").upper())
    cursor.expect("TO", "SERVICE")
    service = cursor.string("the service's name")
    cursor.expect_mark(",")
    broker = cursor.string("the broker id, or 'current database'")
    dialog = BeginDialog(
        EVENT_NOTIFICATION_SERVICE, service, broker, POST_EVENT_NOTIFICATION, source=source
    )
    return CreateNotification(source, name, queue, tuple(events), dialog)


def drop_notification(cursor: Cursor, source: Source) -> Statement | None:
    """Parse DROP EVENT NOTIFICATION after its words."""
    names = cursor.names("the event notification's name")
    on_server, _ = _scope(cursor)
    return None if on_server else DropObject(source, "event notification", names, False)


def _scope(cursor: Cursor) -> tuple[bool, Name | None]:
    """Parse ON; return whether the notification is of the server, and its queue."""
    cursor.expect("ON")
    scope = cursor.choice(("SERVER", "DATABASE", "QUEUE"))
    if scope == "SERVER":
        rest_of_statement(cursor)
    return scope == "SERVER", cursor.dotted("the queue's name") if scope == "QUEUE" else None
