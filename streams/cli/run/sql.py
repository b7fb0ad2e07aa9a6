"""``hopline sql``: execute T-SQL on a running system."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import click

from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.confirm import Changes, confirm, step, yes_option
from streams.cli.options.parameters import IN_DATABASE
from streams.cli.options.shared import cluster_of, cluster_options
from streams.cli.unenforced import report_unenforced
from streams.errors import UsageError
from streams.kafka import Cluster
from streams.live.admin.statements import (
    Planned,
    Script,
    changed_fields,
    plan_script,
    publish_script,
)
from streams.topology import Finding
from streams.topology.decode import decode


@click.command()
@click.argument("text", required=False)
@click.option(
    "--at",
    required=True,
    type=IN_DATABASE,
    help="Instance or database where the statements are executed.",
)
@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Read the statements from this file.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change and change nothing.")
@yes_option
@timeout_option()
@format_option()
@cluster_options
@click.pass_context
def sql(
    ctx: click.Context,
    text: str | None,
    at: str,
    file: Path | None,
    dry_run: bool,
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """Execute T-SQL, such as 'CREATE ROUTE ...', on the catalog of the running system.

    TEXT contains the statements. Without TEXT, the command reads them from --file or from standard
    input. Either all statements take effect or none: if the engine would refuse a statement
    (TA-20), nothing is changed, and the exit code is 1. At a terminal, the command shows the
    changes and asks for confirmation. Workers use the changes within a second. For SELECT, use
    `hopline query`.
    """
    script = _script(text, at, file)
    cluster = cluster_of(bootstrap, prefix)
    cluster.wait(timeout, lambda line: click.echo(line, err=True))
    planned = plan_script(cluster, script, time.time())
    report_unenforced(planned.unenforced)
    if format_ == "text":
        _show(planned)
    version = planned.change.base
    if not (planned.refused or dry_run):
        confirm(_changes(cluster, planned))
        version = publish_script(cluster, planned)
    if format_ == "json":
        click.echo(json.dumps(_as_json(planned, version), indent=2))
    elif not (planned.refused or dry_run):
        click.echo(f"catalog version {version}")
    if planned.refused:
        ctx.exit(NOT_OK)


def _script(text: str | None, at: str, file: Path | None) -> Script:
    instance, _, database = at.partition("/")
    if text is not None and file is not None:
        raise UsageError("Both statements and --file are given.", "Give one of them.")
    if text is not None:
        return Script(instance, database, text)
    if file is not None:
        return Script(instance, database, decode(file.read_bytes())[0], str(file))
    if sys.stdin.isatty():
        raise UsageError("No statements are given.", "Give them as an argument or with --file.")
    return Script(instance, database, decode(sys.stdin.buffer.read())[0], "<stdin>")


def _show(planned: Planned) -> None:
    for finding in planned.refused:
        click.echo(f"  ! {_finding(finding)}")
    if planned.refused:
        click.echo("nothing was changed")
        return
    for spec in planned.topics:
        click.echo(f"  + topic {spec.name}")
    for key in planned.change.added:
        click.echo(f"  + {key}")
    for key in planned.change.changed:
        click.echo(f"  ~ {key}")
        for name, old, new in changed_fields(planned, key):
            click.echo(f"      {name}: {_value(old)} > {_value(new)}")
    for key in planned.change.removed:
        click.echo(f"  - {key}")
    if planned.left_out:
        click.echo("nothing to do: the catalog keeps no certificates, permissions or procedures")
    elif not planned.change:
        click.echo("nothing to do")


def _changes(cluster: Cluster, planned: Planned) -> Changes:
    change, topics = planned.change, [f"topic {spec.name}" for spec in planned.topics]
    return Changes(
        cluster,
        (
            step("create", [*topics, *change.added]),
            step("change", change.changed),
            step("remove", change.removed),
        ),
    )


def _finding(finding: Finding) -> str:
    where = f"line {finding.line}: " if finding.line else ""
    remedy = f"\n    {finding.remedy}" if finding.remedy else ""
    return f"{finding.code} {where}{finding.message}{remedy}"


def _value(value: object) -> str:
    return "NULL" if value is None else str(value)


def _as_json(planned: Planned, version: int) -> dict[str, object]:
    change = planned.change
    return {
        "version": version,
        "topics": [spec.name for spec in planned.topics],
        "added": list(change.added),
        "changed": {
            key: {name: [old, new] for name, old, new in changed_fields(planned, key)}
            for key in change.changed
        },
        "removed": list(change.removed),
        "findings": [finding.to_json() for finding in planned.refused],
    }
