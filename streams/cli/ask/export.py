"""``hopline export``: a topology as T-SQL."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import click

from streams.analysis import find_at
from streams.cli.options.answer import timeout_option
from streams.cli.options.output_folder import output_folder, write_text
from streams.cli.options.settings import config_option, properties_option, setting_option
from streams.cli.options.topology import TopologyArgument
from streams.cli.text.terminal import write
from streams.errors import UsageError
from streams.prose import one_line
from streams.topology import Topology
from streams.topology.export import (
    LeftOut,
    Script,
    database_script,
    export_folder,
    instance_script,
)
from streams.topology.load import FILE
from streams.topology.yaml_file import write_document


@click.command()
@click.argument("topology", type=TopologyArgument(), required=False)
@click.option(
    "--live", is_flag=True, help="Export the catalog of the running system instead of TOPOLOGY."
)
@click.option("--at", metavar="INSTANCE[/DATABASE]", help="Instance or database to print.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Write a folder instead: one script for each instance, and a topology.yaml.",
)
@click.option("--force", is_flag=True, help="Write to the folder even if it is not empty.")
@timeout_option()
@setting_option("", "bootstrap")
@setting_option("", "prefix")
@properties_option
@config_option
def export(
    topology: Topology | None,
    live: bool,
    at: str | None,
    output: Path | None,
    force: bool,
    timeout: float,
    bootstrap: str,
    prefix: str,
) -> None:
    """Print a topology as T-SQL for SQL Server, or for import.

    TOPOLOGY is a folder or the name of a shipped topology. The script for --at DATABASE expects
    the database to exist; the script for --at INSTANCE creates it. LIFETIME is the remaining
    lifetime of a route, and starts when the script runs. Properties that T-SQL cannot express
    (broker ids, addresses, mirrored pairs) become comments and are reported on stderr; --output
    writes them to topology.yaml.

    --live exports the catalog, including changes made by `hopline sql`. Its --output is one
    topology.yaml without scripts, which `hopline apply` considers equal to the catalog. The catalog
    has no clusters, agents, expectations, certificates, permissions or procedures.
    """
    if (topology is None) != live:
        raise UsageError("Give either TOPOLOGY or --live.", "--live needs a running Kafka.")
    topology = topology or _live(bootstrap, prefix, timeout)
    if (at is None) == (output is None):
        raise UsageError(
            "Give either --at or --output.", "--at prints T-SQL, and --output writes it."
        )
    if at is not None:
        script = _script(topology, at)
        write(script.text)
        _report(script.left)
        return
    assert output is not None, "one of them is given"
    if live:
        output_folder(output, force=force)
        write_text(output / FILE, write_document(topology))
        click.echo(f"{output}: {FILE}")
        return
    folder = export_folder(topology, time.time())
    output_folder(output, force=force)
    for name, text in folder.files.items():
        write_text(output / name, text)
    _report(folder.lost)
    scripts = len(topology.instances)
    click.echo(f"{output}: {scripts:,} script{'s' * (scripts != 1)} and topology.yaml")


def _live(bootstrap: str, prefix: str, timeout: float) -> Topology:
    """Return the catalog's topology; import the Kafka client only here."""
    from streams.cli.options.statement import reached
    from streams.kafka import read_catalog
    from streams.live.admin.statements import live_topology

    found = live_topology(read_catalog(reached(bootstrap, prefix, timeout)))
    if found.neighbours or found.ingress:
        raise UsageError(
            "The catalog contains only one cluster's share of a topology of several clusters.",
            "Change the topology's folder, and apply the topology.",
        )
    return found


def _script(topology: Topology, at: str) -> Script:
    instance, database = find_at(topology, at)
    if database is None:
        return instance_script(instance, time.time())
    return database_script(instance, database, time.time())


def _report(left: Iterable[LeftOut]) -> None:
    for one in left:
        click.echo(one_line(f"not in the T-SQL: {one}"), err=True)
