"""``hopline query``: system views, computed from the topics."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.parameters import PlaceText
from streams.cli.options.shared import cluster_of, cluster_options
from streams.cli.text.table import table
from streams.cli.text.terminal import show, table_width
from streams.cli.text.values import instant
from streams.kafka import read_catalog
from streams.live.admin.statements import live_topology
from streams.live.views.places import Asked, Row, View, places_of
from streams.live.views.select import answer, is_select
from streams.live.views.table import TIMES, VIEWS
from streams.wire.plain import body_of


class _Question(click.ParamType):
    """The name of a view, in any case, or a SELECT."""

    name = "view"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the placeholder for ``--help``."""
        return "VIEW|SELECT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Accept a SELECT unchanged."""
        if is_select(str(value)):
            return str(value)
        return str(click.Choice(list(VIEWS), case_sensitive=False).convert(value, param, ctx))


@click.command(epilog=f"Views: {', '.join(VIEWS)}.")
@click.argument("question", type=_Question(), metavar="VIEW|SELECT")
@click.option(
    "--at",
    type=PlaceText("INSTANCE[/DATABASE]"),
    help="Only this instance or database. [default: all]",
)
@timeout_option()
@format_option()
@cluster_options
def query(
    question: str, at: str | None, timeout: float, format_: str, bootstrap: str, prefix: str
) -> None:
    """Print a system view, or the result of a SELECT over views and queues.

    Each row begins with its instance and database; the other columns are those of SQL Server's
    documentation. The views show committed state; workers need not run. The table shows only the
    columns that fit; JSON contains all columns.

    \b
    hopline query sys.routes --at ServerA
    hopline query "SELECT state_desc, COUNT(*) FROM sys.conversation_endpoints \\
        GROUP BY state_desc"
    hopline query --at ServerB/DatabaseB "SELECT TOP 5 * FROM dbo.TargetQueue"

    SQLite runs a SELECT on copies of the views, so the SELECT cannot change anything. A queue shows
    the messages that its consumer group has not received, or all messages if the topology does not
    name a group.
    """
    cluster = cluster_of(bootstrap, prefix)
    cluster.wait(timeout, lambda text: click.echo(text, err=True))
    topology = live_topology(read_catalog(cluster))
    asked = Asked(cluster, topology, places_of(topology, at), time.time_ns() // 1_000_000)
    if is_select(question):
        with answer(asked, question, instant) as found:
            _print(found.rows, found.columns, format_)
    else:
        view = VIEWS[question]
        _print(_view(asked, view), _columns(view, at), format_)


def _view(asked: Asked, view: View) -> Iterator[Row]:
    for row in view.rows(asked):
        for name in TIMES & row.keys():
            row[name] = instant(row[name])
        yield row


# --- printing ------------------------------------------------------------------------------------


def _print(rows: Iterable[Row], columns: Sequence[str], format_: str) -> None:
    """Print rows; do not keep their bodies in memory, which can be gigabytes."""
    if format_ == "json":
        _print_json(rows)
        return
    *lines, count = table(rows, columns, table_width())
    for line in lines:
        click.echo(line)
    show(count)


def _print_json(rows: Iterable[Row]) -> None:
    """Print rows one by one, with the same text as ``json.dumps`` for the whole list."""
    before = "[\n  "
    for row in rows:
        text = json.dumps(row, indent=2, ensure_ascii=False, default=_body)
        click.echo(before + text.replace("\n", "\n  "), nl=False)
        before = ",\n  "
    click.echo("[]" if before.startswith("[") else "\n]")


def _columns(view: View, at: str | None) -> tuple[str, ...]:
    """Return the columns for the table; those fixed by --at are left out."""
    where = () if at and "/" in at else ("database",) if at else ("instance", "database")
    return (*(c for c in where if view.databases or c == "instance"), *view.shown)


def _body(value: object) -> object:
    if isinstance(value, bytes):
        return body_of(value)
    raise TypeError(f"{type(value).__name__} cannot be converted to JSON")
