"""``hopline diagnose``: explain stuck messages on live servers."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from streams.analysis.diagnose import diagnose as diagnose_snapshot
from streams.analysis.diagnose import diagnoses_text, explain_error, explained_text
from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option
from streams.cli.options.connect import connect_option, save, snapshots_of
from streams.cli.options.topology import TopologyArgument
from streams.cli.text.terminal import show
from streams.errors import UsageError
from streams.sqlserver import Server
from streams.topology import Topology
from streams.topology.snapshot import csv_script, json_script, load_snapshot

_SCRIPTS = {"json": json_script, "csv": csv_script}


@click.command()
@click.argument("snapshot", required=False, type=click.Path(path_type=Path))
@format_option()
@connect_option
@click.option(
    "--save",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Keep the snapshots of --connect in this folder, as NAME.json.",
)
@click.option(
    "--topology",
    "around",
    type=TopologyArgument(),
    metavar="TOPOLOGY",
    help="Topology for instances without a snapshot.",
)
@click.option(
    "--script",
    type=click.Choice(list(_SCRIPTS)),
    help="Print the T-SQL that takes a snapshot: one JSON document per instance (SQL Server 2016 "
    "and later), or one CSV file per view.",
)
@click.option(
    "--error",
    metavar="TEXT",
    help="Explain an error number, a transmission_status or a line of the error log instead.",
)
@click.pass_context
def diagnose(
    ctx: click.Context,
    snapshot: Path | None,
    format_: str,
    servers: tuple[Server, ...],
    folder: Path | None,
    around: Topology | None,
    script: str | None,
    error: str | None,
) -> None:
    """Explain why messages are stuck on live servers, and find leaked dialogs.

    SNAPSHOT is the output of the script that `--script json` prints, or a folder of such files
    or of CSV files. `--connect` runs the same script on a server, whose snapshot is then treated
    like a file; it only reads, and docs/diagnose.md lists the permissions that it needs. The exit
    code is 1 if a message is stuck or unread, or a dialog leaks, and 3 if a server refuses.

    \b
    hopline diagnose --error "The target service broker is unreachable."
    hopline diagnose --script json > snapshot.sql
    sqlcmd -S SERVER -E -d master -i snapshot.sql -y 0 -u -o SERVER.json
    hopline diagnose SERVER.json
    hopline diagnose --connect mssql://hopline@sql01 --save taken
    """
    if sum((snapshot is not None or bool(servers), script is not None, error is not None)) != 1:
        raise click.UsageError(
            "Give a SNAPSHOT or --connect, or --error, or print a script with --script."
        )
    if folder is not None and not servers:
        raise click.UsageError("--save needs --connect.")
    if error is not None:
        ctx.exit(_explain(error, format_))
    if script is not None:
        click.echo(_SCRIPTS[script](), nl=False)
        return
    live = load_snapshot(snapshot, _taken(servers, folder))
    found = diagnose_snapshot(live, time.time(), around)
    if format_ == "json":
        click.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
    else:
        show(diagnoses_text(found))
    ctx.exit(0 if found.good else NOT_OK)


def _taken(servers: tuple[Server, ...], folder: Path | None) -> dict[str, str]:
    """Return the servers' snapshots by file name, after writing them if there is a folder."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, str] = {}
    for server, text in snapshots_of(servers):
        file = Path(server.file) if folder is None else save(server, text, folder)
        found[str(file)] = text
    return found


def _explain(error: str, format_: str) -> int:
    """Print the explanation of an error, and return the exit code."""
    found = explain_error(error)
    if found is None:
        raise UsageError(
            "This text contains no error of Service Broker that Hopline knows.",
            "Give its number, or its text in English. For stuck messages, take a snapshot.",
        )
    if format_ == "json":
        click.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
    else:
        show(explained_text(found))
    return 0
