"""Run the snapshot script on a SQL Server; the text that is sent is the one that users can print.

The script only reads, and it needs no transaction. The driver commits each statement by itself,
pools no connection, and waits a limited time for the server.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Protocol

from streams.sqlserver.refusals import cannot_connect, cannot_read, no_document
from streams.sqlserver.url import Server
from streams.topology.snapshot import MARK, json_script

LOGIN_S = 15
"""Seconds to wait for a connection and its login."""
QUERY_S = 300
"""Seconds to wait for the script; it reads at most 10,000 rows of a large view per database."""


class Driver(Protocol):
    """The part of DB-API that is used; a test passes a driver that needs no server."""

    def connect(self, *, autocommit: bool, timeout: int, **keywords: Any) -> Any:
        """Connect; ``timeout`` is the login's, in seconds."""


def load_driver() -> Driver:
    """Return Microsoft's driver; raises ModuleNotFoundError without the extra ``sqlserver``."""
    import mssql_python  # only here, because `import` and `diagnose` of files do without

    mssql_python.pooling(enabled=False)  # otherwise a closed connection would stay open
    driver: Driver = mssql_python
    return driver


def take_snapshot(server: Server, password: str | None, driver: Driver) -> str:
    """Return the document of one server, as the script's only cell contains it.

    Raises SurroundingsError if the server cannot be reached, refuses, or returns no document.
    """
    try:
        connection = driver.connect(autocommit=True, timeout=LOGIN_S, **server.keywords(password))
    except Exception as error:  # the driver raises ValueError and RuntimeError, too
        raise cannot_connect(server, error, password) from None
    try:
        connection.timeout = QUERY_S
        text = _only_cell(connection.cursor())
    except Exception as error:
        raise cannot_read(server, error, password) from None
    finally:
        with suppress(Exception):  # a broken connection is closed already
            connection.close()
    if text is None or MARK not in text:
        raise no_document(server)
    return text


def _only_cell(cursor: Any) -> str | None:
    cursor.execute(json_script())
    while cursor.description is None:  # statements before the SELECT have no rows
        if not cursor.nextset():
            return None
    row = cursor.fetchone()
    return None if row is None or row[0] is None else str(row[0])
