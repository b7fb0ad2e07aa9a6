"""Generate the read-only T-SQL that takes a snapshot, from the table of views."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill, indent

from streams.topology.snapshot.json_file import MARK
from streams.topology.snapshot.rows import DATABASE
from streams.topology.snapshot.views import VIEWS, Scope, View

ROWS = 10_000
"""Default maximum number of rows of a large view per database; it can be edited in the script."""
RIGHTS = ("VIEW SERVER STATE", "VIEW ANY DEFINITION", "CONNECT ANY DATABASE")
"""Permissions on the server with which the script reads everything; sysadmin implies them."""
_LARGE = {"transmission_queue": "enqueue_time", "conversation_endpoints": "lifetime"}
_COUNTED = """\
(SELECT c.view_name, c.row_count
 FROM (SELECT 'transmission_queue' AS view_name, COUNT_BIG(*) AS row_count
       FROM sys.transmission_queue
       UNION ALL
       SELECT 'conversation_endpoints', COUNT_BIG(*) FROM sys.conversation_endpoints) AS c
 WHERE c.row_count > @rows
 FOR JSON PATH) AS row_counts"""

_JSON = """\
/*
  Hopline: a snapshot of Service Broker on one instance, SQL Server 2016 and later.

  Reads catalog views and DMVs; changes nothing, creates nothing, takes no message body and no key.
  Needs VIEW SERVER STATE and VIEW ANY DEFINITION, and access to the databases; sysadmin has all.

  sqlcmd:  sqlcmd -S SERVER -E -d master -i snapshot.sql -y 0 -u -o SERVER.json
  SSMS:    run it with results to grid, click the single cell, save the document as SERVER.json
  Then:    hopline diagnose SERVER.json          (or a folder with the files of several instances)
*/
SET NOCOUNT ON;
SET LOCK_TIMEOUT 10000;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;  -- queues are busy: take no locks

DECLARE @rows bigint = {rows};  -- of the large views, from each database; all rows are counted

-- Runs once in each database, as its own sys.sp_executesql.
DECLARE @query nvarchar(max) = N'
SET @json = (SELECT
    DB_NAME() AS database_name,
{inside}
  FOR JSON PATH, INCLUDE_NULL_VALUES);';

DECLARE @name sysname = N'', @execute nvarchar(300), @json nvarchar(max), @inside nvarchar(max);
WHILE 1 = 1
BEGIN
  SET @name = (SELECT MIN(d.name) FROM sys.databases AS d
               WHERE d.name > @name AND d.state = 0 AND d.name NOT IN (N'model', N'tempdb')
                 AND HAS_DBACCESS(d.name) = 1);
  IF @name IS NULL BREAK;
  SET @execute = QUOTENAME(@name) + N'.sys.sp_executesql';
  BEGIN TRY
    EXEC @execute @query, N'@rows bigint, @json nvarchar(max) OUTPUT', @rows, @json OUTPUT;
  END TRY
  BEGIN CATCH  -- such as a secondary that is not readable
    SET @json = (SELECT @name AS database_name, ERROR_MESSAGE() AS error FOR JSON PATH);
  END CATCH;
  SET @inside = ISNULL(@inside + N',', N'') + SUBSTRING(@json, 2, LEN(@json) - 2);
END;

DECLARE @document nvarchar(max) = (SELECT
    1 AS {mark},
{server},
    JSON_QUERY(N'[' + ISNULL(@inside, N'') + N']') AS in_database
  FOR JSON PATH, INCLUDE_NULL_VALUES, WITHOUT_ARRAY_WRAPPER);

-- As XML, because SSMS displays and saves an XML cell in full.
SELECT (SELECT REPLACE(@document, N'?>', N'?\\u003e') AS [processing-instruction(hopline)]
        FOR XML PATH(N''), TYPE) AS snapshot;
"""

_CSV = """\
/*
  Hopline: a snapshot of Service Broker as CSV, one file per view, for any version of SQL Server.

  Reads only. Run it with sqlcmd once in each database with broker objects, and in msdb:

    md SERVER
    sqlcmd -S SERVER -E -d DATABASE -i snapshot.csv.sql -W -s "<tab>" -u -v prefix=SERVER/DATABASE.

  where <tab> is the tab character. A view that the server does not have (availability groups
  before 2012) is an error in sqlcmd and an empty file.
  From SSMS: run one SELECT, save its grid as CSV with headers, named after the view: routes.csv.
*/
SET NOCOUNT ON;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
GO
"""


def json_script() -> str:
    """Return the script that produces one JSON document per instance."""
    server = _subqueries(Scope.INSTANCE)
    inside = [*_subqueries(Scope.DATABASE), _COUNTED]
    return _JSON.format(
        rows=ROWS,
        mark=MARK,
        server=_listed(server),
        inside=_listed(inside).replace("'", "''"),
    )


def csv_script() -> str:
    """Return the script for sqlcmd that writes one CSV file per view."""
    views = [view for view in VIEWS.values() if view.name != "row_counts"]
    return _CSV + "".join(f":OUT $(prefix){v.name}.csv\n{_plain(v)};\nGO\n" for v in views)


def _listed(subqueries: Iterable[str]) -> str:
    return indent(",\n".join(subqueries), "    ")


def _subqueries(scope: Scope) -> list[str]:
    views = (v for v in VIEWS.values() if v.scope is scope and v.name != "row_counts")
    return [f"({_select(view)}\n FOR JSON PATH) AS {view.name}" for view in views]


def _select(view: View) -> str:
    order = _LARGE.get(view.name)
    top, sorted_ = ("TOP (@rows) ", f" ORDER BY {order}") if order else ("", "")
    columns = ", ".join(_column(view, name) for name in view.columns)
    chosen = fill(f"SELECT {_distinct(view)}{top}{columns}", 90, subsequent_indent="   ")
    return f"{chosen}\n{_from(view)}{sorted_}".rstrip()


def _plain(view: View) -> str:
    """Return a query that names no columns if possible, because older servers lack some of them."""
    database = "" if view.scope is Scope.INSTANCE else f"DB_NAME() AS {DATABASE}, "
    explicit = view.expressions or _distinct(view)
    columns = ", ".join(_column(view, name) for name in view.columns) if explicit else "*"
    return f"SELECT {_distinct(view)}{database}{columns}{_from(view)}"


def _distinct(view: View) -> str:
    return "DISTINCT " if view.name == "dm_exec_connections" else ""


def _column(view: View, name: str) -> str:
    expression = (view.expressions or {}).get(name)
    return name if expression is None else f"{expression} AS {name}"


def _from(view: View) -> str:
    source = f" FROM {view.source}" if view.source else ""
    return source + (f"\n WHERE {fill(view.where, 90)}" if view.where else "")
