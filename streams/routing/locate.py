"""Find the database of an instance for a message (R7).

There is one function for each of the three questions of R7. :mod:`streams.routing.rules.locate`
uses these functions for a plan, and :func:`locate` uses them for an arrived frame with a known
conversation.
"""

from __future__ import annotations

import uuid

from streams.routing.hashing import order_databases
from streams.routing.model import Database, Instance


def with_broker(here: Instance, broker: str) -> Database | None:
    """Return the database that has a broker id, if delivery is on (R7.1)."""
    database = here.with_broker_id(broker)
    return database if database is not None and database.enabled else None


def with_service(here: Instance, broker: str, service: str) -> Database | None:
    """Return the database that has a broker id, if it also has the service (R7.1)."""
    database = with_broker(here, broker)
    return database if database is not None and service in database.services else None


def at_home(here: Instance, home: str | None, service: str) -> str | None:
    """Return the database that has the conversation, if it has the service (R7.2a)."""
    database = here.databases.get(home or "")
    if database is None or not database.enabled or service not in database.services:
        return None
    return database.name


def locate(
    here: Instance, service: str, broker: str | None, home: str | None, conversation: uuid.UUID
) -> str | None:
    """Return the database for a conversation's frame; of several, the id selects one (R7.2, U-13).

    A database with the broker id is returned even if it lacks the service, because the database
    itself reports a missing service.
    """
    if broker is not None:
        known = with_broker(here, broker)
        return None if known is None else known.name
    found = at_home(here, home, service)
    if found is not None:
        return found
    ordered = order_databases(here.hosting(service), conversation)
    return ordered[0] if ordered else None
