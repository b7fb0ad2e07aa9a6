"""``hopline trace``: send a probe through the live workers."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator
from statistics import median
from typing import Any

import click

from streams.analysis import find_sender
from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.parameters import BROKER_ID, SENDER, SERVICE
from streams.cli.options.shared import cluster_of, cluster_options
from streams.cli.options.topology import hash_option
from streams.cli.text.terminal import BAD, CARE, show
from streams.kafka import read_catalog
from streams.live.admin.statements import live_topology
from streams.live.trace import Leg, Probe, Tracer, Verdict, walk_all
from streams.prose import counted, one_line

_WORDS = {r"(?<=\d )lost$": BAD, r"(?<=\d )by another path\b": CARE}


@click.command()
@click.option(
    "--from",
    "sender",
    required=True,
    type=SENDER,
    help="Service that sends the probe.",
)
@click.option("--to", required=True, type=SERVICE, help="Target service.")
@click.option("--broker", type=BROKER_ID, help="Broker id that BEGIN DIALOG would specify.")
@hash_option(default="random")
@click.option(
    "--count",
    metavar="N",
    default=5,
    show_default=True,
    type=click.IntRange(min=1),
    help="Number of probes.",
)
@timeout_option(10.0, "Seconds to wait for Kafka and for a probe.")
@format_option()
@cluster_options
@click.pass_context
def trace(
    ctx: click.Context,
    sender: str,
    to: str,
    broker: str | None,
    conversation: uuid.UUID | None,
    count: int,
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """Send probes through the live workers and back, and measure each hop.

    Applications do not see probes: a probe is an acknowledgement of a dialog that does not
    exist. Forwarders route it like a message, and endpoint workers ignore it. The command
    compares the path of each probe with `hopline path` for the same conversation id. The exit
    code is 1 if a probe was lost or took another path.
    """
    cluster = cluster_of(bootstrap, prefix)
    cluster.wait(timeout, lambda text: click.echo(text, err=True))
    topology = live_topology(read_catalog(cluster))
    place = find_sender(topology, sender, to)
    with Tracer(cluster, topology, place, to, timeout) as tracer:
        if conversation is not None:
            probes = [tracer.walk(conversation, broker) for _ in range(count)]
        else:
            probes = list(walk_all(tracer, count, broker))
    if format_ == "json":
        click.echo(json.dumps({"from": str(place), "to": to, "probes": [*map(_json, probes)]}))
    else:
        show(f"{place} -> {to}: {_summary(probes)}", _WORDS)
        for line in _lines(probes):
            show(one_line(line))
    if any(probe.verdict is not Verdict.OK for probe in probes):
        ctx.exit(NOT_OK)


def _summary(probes: list[Probe]) -> str:
    found = Counter(probe.verdict for probe in probes)
    words = {
        Verdict.OK: "as predicted by path",
        Verdict.DIFFERS: "by another path",
        Verdict.LOST: "lost",
    }
    counts = [f"{found[v]} {words[v]}" for v in Verdict if found[v]]
    return f"{counted(len(probes), 'probe')}, {', '.join(counts)}"


def _lines(probes: list[Probe]) -> Iterator[str]:
    """Yield each path taken, with the median of every hop, then the lost probes."""
    for name, legs in (
        ("there", [p.there for p in probes]),
        ("back", [p.back for p in probes if p.back is not None]),
    ):
        paths = Counter(leg.instances for leg in legs if leg.arrived is not None)
        for path, count in paths.most_common():
            same = [leg for leg in legs if leg.arrived is not None and leg.instances == path]
            yield ""
            yield f"{name}, {counted(count, 'probe')}, median of each step:"
            yield from _steps(same)
        for leg in legs:
            if leg.arrived is None:
                yield f"{name}: {leg.error}"


def _steps(legs: list[Leg]) -> Iterator[str]:
    names = legs[0].instances
    times = [[0, *(at for _, at in leg.visits), leg.arrived or 0] for leg in legs]
    for number, name in enumerate([*names, "read"]):
        step = median(row[number + 1] - row[number] for row in times)
        yield f"  {step:7.0f} ms  {name}"
    yield f"  {median(row[-1] for row in times):7.0f} ms  total"


def _json(probe: Probe) -> dict[str, Any]:
    return {
        "conversation": str(probe.conversation),
        "verdict": probe.verdict.value,
        "expected": [list(path) for path in probe.expected],
        "there": _leg_json(probe.there),
        "back": None if probe.back is None else _leg_json(probe.back),
    }


def _leg_json(leg: Leg) -> dict[str, Any]:
    return {
        "arrived": leg.arrived is not None,
        "ms": leg.arrived,
        "hops": [{"instance": instance, "at_ms": at} for instance, at in leg.visits],
        "error": leg.error or None,
    }
