"""``hopline topics``: what a topology needs of a Kafka cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from streams.cli.answer_options import format_option, timeout_option
from streams.cli.options import cluster_of, cluster_options
from streams.cli.topology_argument import TopologyArgument
from streams.kafka import specs_of
from streams.live.topics import Comparison, compare_topics
from streams.topology import Topology
from streams.wire import Topics
from streams.wire.specs import TopicSpec

_BAD_NEWS = 1
_DAY_MS = 24 * 3600 * 1000
_HOUR_MS = 3600 * 1000


@click.command()
@click.argument("topology", type=TopologyArgument())
@click.option("--check", is_flag=True, help="Compare with the cluster; exit code 1 if it differs.")
@timeout_option()
@format_option()
@cluster_options
@click.pass_context
def topics(
    ctx: click.Context,
    topology: Topology,
    check: bool,
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """Print the topics that TOPOLOGY needs: name, partitions, clean-up policy, retention.

    Without --check no Kafka is asked. `hopline apply` creates and corrects them, and nothing else
    does; for whoever may not let it, --format json has every setting that must hold.
    """
    specs = specs_of(topology, Topics(prefix))
    found: Comparison | None = None
    if check:
        cluster = cluster_of(bootstrap, prefix)
        cluster.wait(timeout, lambda text: click.echo(text, err=True))
        found = compare_topics(cluster, specs)
    if format_ == "json":
        click.echo(json.dumps(_as_json(specs, found), indent=2))
    else:
        for line in _difference(specs, found) if found else _table(specs):
            click.echo(line)
    if found and found.mismatches:
        ctx.exit(_BAD_NEWS)


def _table(specs: list[TopicSpec]) -> Iterator[str]:
    width = max(len(spec.name) for spec in specs)
    yield f"{'topic':<{width}}  partitions  clean-up  retention"
    for spec in specs:
        policy = spec.config["cleanup.policy"]
        yield f"{spec.name:<{width}}  {spec.partitions:>10}  {policy:<8}  {_retention(spec)}"
    yield f"{len(specs)} topics"


def _retention(spec: TopicSpec) -> str:
    if spec.config["cleanup.policy"] == "compact":
        return "latest of each key"
    ms = int(spec.config["retention.ms"])
    if ms < 0:
        return "for ever"
    return f"{ms // _DAY_MS} days" if ms >= _DAY_MS else f"{ms // _HOUR_MS} h"


def _difference(specs: list[TopicSpec], found: Comparison) -> Iterator[str]:
    for mismatch in found.mismatches:
        yield f"  {'+' if mismatch.missing else '~'} {mismatch.topic} {mismatch.what}"
    for name in found.spare:
        yield f"  ? {name} belongs to nothing in the topology"
    right = len(specs) - len({m.topic for m in found.mismatches})
    yield f"{right} of {len(specs)} topics are as they must be"


def _as_json(specs: list[TopicSpec], found: Comparison | None) -> dict[str, object]:
    rows = [
        {"name": s.name, "kind": s.kind, "partitions": s.partitions, "config": dict(s.config)}
        for s in specs
    ]
    if found is None:
        return {"topics": rows}
    wrong = [{"topic": m.topic, "what": m.what, "missing": m.missing} for m in found.mismatches]
    return {"topics": rows, "mismatches": wrong, "spare": list(found.spare)}
