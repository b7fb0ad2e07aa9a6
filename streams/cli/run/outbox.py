"""``hopline outbox``: statements from an application's database to Kafka."""

from __future__ import annotations

import logging
import threading

import click

from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import timeout_option
from streams.cli.options.parameters import SECONDS
from streams.cli.options.shared import cluster_of, cluster_options
from streams.cli.options.shown import refuse_store_password
from streams.cli.run.log import log_to_stderr
from streams.errors import UsageError
from streams.outbox.ddl import ddl
from streams.outbox.relay import Relay
from streams.outbox.table import OutboxTable
from streams.prose import counted
from streams.signals import call_on_stop


@click.command()
@click.option(
    "--store",
    metavar="URL",
    envvar="HOPLINE_OUTBOX",
    callback=refuse_store_password,
    help="The application's database: postgresql+psycopg://..., sqlite:///FILE. "
    "Also HOPLINE_OUTBOX.",
)
@click.option("--once", is_flag=True, help="Relay the waiting statements, then stop.")
@click.option(
    "--poll",
    default=0.1,
    show_default=True,
    type=SECONDS,
    help="Seconds between polls of an empty outbox.",
)
@timeout_option(30.0, "Seconds to wait for Kafka in each attempt.")
@click.option(
    "--ddl",
    "dialect",
    type=click.Choice(["postgresql", "sqlite"]),
    help="Print the DDL of the outbox and inbox tables, and do nothing else.",
)
@cluster_options
def outbox(
    store: str | None,
    once: bool,
    poll: float,
    timeout: float,
    dialect: str | None,
    bootstrap: str,
    prefix: str,
) -> None:
    """Relay committed statements from an application's outbox tables to Kafka.

    Runs until SIGTERM. Run one relay for each outbox; a second relay would take over. If a relay
    is killed, nothing is lost or repeated: just start it again. docs/client.md describes the
    application's side.
    """
    if dialect is not None:
        click.echo(ddl(dialect))
        return
    if store is None:
        raise UsageError("Give the application's database.", "Give --store URL.")
    log_to_stderr()
    logging.getLogger("hopline.ready").setLevel(logging.INFO)
    cluster = cluster_of(bootstrap, prefix)
    cluster.wait(timeout, lambda text: click.echo(text, err=True))
    table = OutboxTable.open(store)
    relay = Relay(cluster, table, poll=poll, timeout=timeout)
    try:
        logging.getLogger("hopline.ready").info("Relaying the outbox in %s.", table.address)
        if once:
            while relay.turn():
                pass
        else:
            relay.run(_until_signalled())
    finally:
        relay.close()
        table.close()
    click.echo(f"{counted(relay.relayed, 'statement was', 'statements were')} relayed.", err=True)
    if relay.absent:
        click.echo(
            f"Statements for {', '.join(relay.absent)} are waiting, because the catalog does not "
            "have these instances. Run hopline apply.",
            err=True,
        )
        raise SystemExit(NOT_OK)


def _until_signalled() -> threading.Event:
    stop = threading.Event()
    call_on_stop(stop.set)
    return stop
