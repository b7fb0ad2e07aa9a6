"""``hopline topics``: the topics of a topology on a Kafka cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import click

from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.parts import clusters_of_parts, part_option
from streams.cli.options.settings import replication
from streams.cli.options.shared import cluster_options
from streams.cli.options.topology import TopologyArgument
from streams.kafka import Cluster, durable_config, specs_of
from streams.live.admin.topics import Comparison, compare_topics
from streams.live.parts import Part, parts_of
from streams.prose import counted, wrapped
from streams.settings import Replicas, Replication
from streams.topology import Topology
from streams.wire import Topics
from streams.wire.specs import TopicSpec

_DAY_MS = 24 * 3600 * 1000
_HOUR_MS = 3600 * 1000


@click.command()
@click.argument("topology", type=TopologyArgument())
@part_option
@click.option("--check", is_flag=True, help="Compare with the cluster; exit code 1 if it differs.")
@timeout_option()
@format_option()
@cluster_options
@click.pass_context
def topics(
    ctx: click.Context,
    topology: Topology,
    chosen: str | None,
    check: bool,
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """Print the topics that TOPOLOGY needs: name, partitions, cleanup policy, retention.

    Without --check the command does not connect to Kafka. Only `hopline apply` creates and
    corrects topics. If other tools manage your topics, use --format json, which prints every
    required setting. If the instances name different clusters, each cluster has its own topics.
    """
    if check:
        found = [
            _compared(part, cluster, timeout)
            for part, cluster in clusters_of_parts(topology, chosen, bootstrap, prefix)
        ]
    else:
        needed = replication(ctx)
        found = [_needed(part, prefix, needed) for part in parts_of(topology, chosen)]
    if format_ == "json":
        click.echo(json.dumps(_as_json(found), indent=2))
    else:
        for each in found:
            for line in _lines(each):
                click.echo(line)
    if any(each.comparison and each.comparison.mismatches for each in found):
        ctx.exit(NOT_OK)


@dataclass(frozen=True, slots=True)
class _Found:
    """The topics of one cluster, compared with it if requested."""

    name: str
    specs: list[TopicSpec]
    replication: Replication
    comparison: Comparison | None = None

    @property
    def replicas(self) -> Replicas | None:
        """Return the required replicas; without a cluster, those for three brokers."""
        return self.replication.wanted(self.comparison.brokers if self.comparison else 3)

    @property
    def condition(self) -> str:
        """Return the condition for the number of replicas, if it depends on an unknown cluster."""
        depends = self.comparison is None and self.replication.depends_on_brokers
        return "on three or more brokers, " if depends else ""


def _needed(part: Part, prefix: str, replication: Replication) -> _Found:
    specs = specs_of(part.topology, Topics(part.stated.prefix or prefix))
    return _Found(part.name, specs, replication)


def _compared(part: Part, cluster: Cluster, timeout: float) -> _Found:
    cluster.wait(timeout, lambda text: click.echo(text, err=True))
    specs = specs_of(part.topology, cluster.topics)
    return _Found(part.name, specs, cluster.replication, compare_topics(cluster, specs))


def _lines(each: _Found) -> Iterator[str]:
    if each.name:
        yield f"cluster {each.name}"
    found = each.comparison
    yield from _difference(each.specs, found) if found else _table(each)


def _table(each: _Found) -> Iterator[str]:
    specs = each.specs
    width = max(len(spec.name) for spec in specs)
    wide = max(len(spec.config["cleanup.policy"]) for spec in specs)
    yield f"{'topic':<{width}} partitions  {'cleanup':<{wide}}  retention"
    for spec in specs:
        policy = spec.config["cleanup.policy"]
        yield f"{spec.name:<{width}} {spec.partitions:>10}  {policy:<{wide}}  {_retention(spec)}"
    yield f"{len(specs)} topics"
    if each.replicas is not None:
        config = ", ".join(f"{k}={value}" for k, value in durable_config(each.replicas).items())
        count = counted(each.replicas.count, "replica")
        yield from wrapped(f"{each.condition}each with {count}, {config}", "", "  ")


def _retention(spec: TopicSpec) -> str:
    if spec.config["cleanup.policy"] == "compact":
        return "latest"
    ms = int(spec.config["retention.ms"])
    if ms < 0:
        return "forever"
    return counted(ms // _DAY_MS, "day") if ms >= _DAY_MS else f"{ms // _HOUR_MS} h"


def _difference(specs: list[TopicSpec], found: Comparison) -> Iterator[str]:
    for mismatch in found.mismatches:
        yield f"  {'+' if mismatch.missing else '~'} {mismatch.topic} {mismatch.what}"
    for name in found.spare:
        yield f"  ? {name} does not belong to the topology"
    yield from (f"  ! {finding}" for finding in found.findings)
    right = len(specs) - len({m.topic for m in found.mismatches})
    yield f"{right} of {len(specs)} topics match"


def _as_json(found: list[_Found]) -> dict[str, object]:
    """Return the result of one cluster, or of several by name."""
    if not found[0].name:
        return _one_as_json(found[0])
    return {"clusters": {each.name: _one_as_json(each) for each in found}}


def _one_as_json(each: _Found) -> dict[str, object]:
    found, replicas = each.comparison, each.replicas
    needed = {"count": replicas and replicas.count, "config": durable_config(replicas)}
    rows = [
        {"name": s.name, "kind": s.kind, "partitions": s.partitions, "config": dict(s.config)}
        for s in each.specs
    ]
    if found is None:
        return {"topics": rows, "replicas": needed}
    wrong = [{"topic": m.topic, "what": m.what, "missing": m.missing} for m in found.mismatches]
    return {
        "topics": rows,
        "replicas": needed,
        "mismatches": wrong,
        "spare": list(found.spare),
        "findings": list(found.findings),
    }
