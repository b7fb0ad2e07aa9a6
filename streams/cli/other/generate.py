"""``hopline generate``: synthetic topologies and traffic."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

import click

from streams.analysis.estate import Estate
from streams.analysis.flows.flows import flows_of
from streams.cli.group import SuggestingGroup
from streams.cli.options.answer import format_option
from streams.cli.options.duration import DURATION
from streams.cli.options.output_folder import output_folder, write_text
from streams.cli.options.parameters import SENDING_SERVICE, SERVICE, TOPIC_PREFIX
from streams.cli.options.together import together
from streams.prose import counted
from streams.topology import FILE
from streams.topology.generate import Defect, GeneratedEstate, Wish, generate_estate
from streams.topology.records import encode
from streams.topology.yaml_file import write_document

DEFECTS = "DEFECTS.json"


@click.group(cls=SuggestingGroup)
def generate() -> None:
    """Generate synthetic topologies and traffic, reproducible by seed."""


@dataclass(frozen=True, slots=True)
class MadeUpTrafficOptions:
    """The options of ``hopline generate traffic``."""

    output: Path
    dialogs: int
    messages: int
    seed: int
    origin: str
    to: str
    contract: str
    duration: int
    prefix: str
    topology: str
    format_: str


@generate.command("traffic", short_help="A capture of applications that place orders.")
@click.option("--output", "-o", required=True, type=click.Path(path_type=Path), help="Output file.")
@click.option("--dialogs", default=2_000, show_default=True, help="Exact number of dialogs.")
@click.option("--messages", default=20_000, show_default=True, help="Exact number of SENDs.")
@click.option("--seed", default=1, show_default=True, help="The same seed gives the same bytes.")
@click.option(
    "--from",
    "origin",
    default="ServerA/DatabaseA/InitiatorService",
    show_default=True,
    type=SENDING_SERVICE,
    help="Initiator service of the dialogs.",
)
@click.option(
    "--to", default="TargetService", show_default=True, type=SERVICE, help="Target service."
)
@click.option(
    "--contract",
    default="//hopline/OrderContract",
    show_default=True,
    help="Contract of the dialogs. It must let the initiator send //hopline/Order and "
    "//hopline/OrderLine; under DEFAULT, all messages have the type DEFAULT.",
)
@click.option(
    "--duration",
    default="60s",
    show_default=True,
    type=DURATION,
    help="Time from the first to the last command.",
)
@click.option(
    "--prefix", default="ssb.", show_default=True, type=TOPIC_PREFIX, help="Prefix of the topics."
)
@click.option(
    "--topology",
    default="combined",
    show_default=True,
    help="Name of the topology for which the capture is intended.",
)
@format_option()
@together(MadeUpTrafficOptions)
def traffic(
    given: MadeUpTrafficOptions,
) -> None:
    """Generate a capture of applications that place orders, as input for `hopline replay`."""
    from streams.capture.generate import Traffic, write_traffic  # `estate` needs no extra

    instance, database, service = given.origin.split("/", 2)
    wanted = Traffic(
        instance=instance,
        database=database,
        from_service=service,
        to_service=given.to,
        contract=given.contract,
        dialogs=given.dialogs,
        messages=given.messages,
        duration=given.duration,
        seed=given.seed,
        prefix=given.prefix,
        topology=given.topology,
    )
    counts = write_traffic(given.output, wanted)
    size = given.output.stat().st_size
    if given.format_ == "json":
        result = {
            "file": str(given.output),
            "size": size,
            "dialogs": given.dialogs,
            "messages": given.messages,
            "records": counts.records,
            "body_bytes": counts.body_bytes,
            "seed": given.seed,
        }
        click.echo(json.dumps(result))
        return
    click.echo(
        f"{given.output}: {counted(given.messages, 'message')} in "
        f"{counted(given.dialogs, 'dialog')}, {counted(counts.records, 'record')}, "
        f"{size / 1e6:.1f} MB"
    )


@generate.command("estate", short_help="A topology of a fictional company.")
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder in which to write the topology.",
)
@click.option("--instances", default=500, show_default=True, help="Exact number of instances.")
@click.option(
    "--routes",
    default=5_000,
    show_default=True,
    help="Exact number of routes, not counting AutoCreatedLocal.",
)
@click.option("--seed", default=1, show_default=True, help="The same seed gives the same bytes.")
@click.option(
    "--defects",
    default=0,
    show_default=True,
    help="Number of planted defects, listed in DEFECTS.json.",
)
@click.option("--force", is_flag=True, help="Write to the folder even if it is not empty.")
@format_option()
def estate(
    output: Path, instances: int, routes: int, seed: int, defects: int, force: bool, format_: str
) -> None:
    """Generate a topology with gateways, hubs, balanced services and return routes.

    The topology has no errors except those that --defects plants: stale broker ids, missing
    return routes, loops, wrong ports and so on. DEFECTS.json lists each defect with the finding
    that `hopline check` must report.
    """
    made = generate_estate(Wish(instances, routes, seed, defects))
    output_folder(output, force=force)
    write_text(output / FILE, write_document(made.topology))
    (output / DEFECTS).unlink(missing_ok=True)
    if made.defects:
        text = json.dumps([_defect(d) for d in made.defects], indent=2, ensure_ascii=False)
        write_text(output / DEFECTS, text + "\n")
    if format_ == "json":
        click.echo(json.dumps({"output": str(output), "seed": seed, **_counts(made, routes)}))
        return
    counts = (counted(number, what[:-1]) for what, number in _counts(made, routes).items())
    click.echo(f"{output}: {', '.join(counts)}")


def _counts(made: GeneratedEstate, routes: int) -> dict[str, int]:
    # The number drawn may be larger: flows within one instance that need no route are not written.
    flows = flows_of(Estate(made.topology, time.time()))
    return {
        "instances": len(made.topology.instances),
        "routes": routes,
        "flows": len(flows),
        "defects": len(made.defects),
    }


def _defect(defect: Defect) -> dict[str, object]:
    record = encode(defect)
    return {"from" if key == "sender" else key: value for key, value in record.items()}
