"""``hopline import``: convert T-SQL scripts into a topology."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from streams.analysis.check.unenforced import unenforced_of
from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option
from streams.cli.options.connect import connect_option, save, snapshots_of
from streams.cli.options.output_folder import ensure_usable
from streams.cli.text.terminal import show
from streams.cli.unenforced import report_unenforced
from streams.sqlserver import Server
from streams.topology import load_with_notes
from streams.topology.importing import (
    VARIABLE,
    combined,
    imported_instances,
    report_of,
    report_text,
    write_folder,
)


def _variables(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not VARIABLE.fullmatch(name):
            raise click.BadParameter(f"{one!r} is not VARIABLE=VALUE")
        found[name] = value
    return found


def _taken(servers: tuple[Server, ...], folder: Path) -> Iterator[str]:
    """Yield NAME=FILE for each server, as a user who has its snapshot would write it."""
    for server, text in snapshots_of(servers):
        yield f"{server.name}={save(server, text, folder)}"


@click.command("import")
@click.argument(
    "sources",
    nargs=-1,
    metavar="NAME[/DATABASE]=SCRIPT|SNAPSHOT|FOLDER ... | FOLDER ...",
)
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder in which to write the topology.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Write to the folder even if it is not empty; keep what was added to topology.yaml.",
)
@click.option("--database", metavar="NAME", help="Database of scripts that do not begin with USE.")
@click.option(
    "--set",
    "variables",
    multiple=True,
    metavar="VARIABLE=VALUE",
    callback=_variables,
    help="Value of a sqlcmd variable, as with sqlcmd -v; repeatable.",
)
@connect_option
@format_option()
@click.pass_context
def import_(
    ctx: click.Context,
    sources: tuple[str, ...],
    output: Path,
    force: bool,
    database: str | None,
    variables: dict[str, str],
    servers: tuple[Server, ...],
    format_: str,
) -> None:
    """Convert T-SQL scripts into a topology, and report what was understood.

    \b
      hopline import ServerA=desk.sql ServerB=store.sql --output estate
      hopline import --connect ServerA=mssql://hopline@sql01 --output estate

    NAME is the host name of an instance. SCRIPT is one of its T-SQL scripts, SNAPSHOT a snapshot of
    the live server (see `hopline diagnose`), FOLDER a folder of its scripts (.sql). If NAME is
    given several times, its scripts are applied in the order of the arguments. If FOLDER has no
    NAME, each script, snapshot or folder in FOLDER becomes one instance. With NAME/DATABASE, the
    scripts begin in DATABASE, as those of a database project do; $(DatabaseName) is its name.
    `--connect NAME=URL` takes the snapshot of NAME now; without NAME=, NAME is the host of the URL.
    It only reads, and docs/diagnose.md lists the permissions that it needs.

    The scripts are copied unchanged, so findings name their files and lines. Any encoding is
    accepted, and semicolons are optional. Statements that do not concern Service Broker are
    skipped and counted. The exit code is 1 if nothing was understood. It is also 1 if a
    statement that may concern Service Broker was not understood, or depends on values that are
    known only when the script runs, and 3 if a server refuses.
    """
    if not sources and not servers:
        raise click.UsageError("Give NAME=SCRIPT, NAME=SNAPSHOT, a FOLDER, or --connect.")
    imported = imported_instances(sources)
    ensure_usable(output, force=force)
    with TemporaryDirectory() as folder:
        taken = imported_instances(_taken(servers, Path(folder)))
        merged = write_folder(output, combined((*imported, *taken)), database, variables)
    topology, notes = load_with_notes(output, time.time())
    report_unenforced(unenforced_of(topology, time.time()))
    report = report_of(output, topology, notes, merged)
    if format_ == "json":
        click.echo(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    else:
        show(report_text(report))
    ctx.exit(0 if report.good else NOT_OK)
