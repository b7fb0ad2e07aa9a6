"""``hopline verify``: audit the cluster for lost or duplicated messages, with Spark."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click

from streams.cli.look.verify_text import verified_text
from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.instant import INSTANT
from streams.cli.options.settings import credentials
from streams.cli.options.shared import cluster_of, cluster_options
from streams.cli.options.together import together
from streams.cli.text.values import lines
from streams.errors import SurroundingsError, UsageError
from streams.kafka import Cluster, stated_cluster
from streams.live.verify import Asked, Verified, verify_captures, verify_clusters
from streams.monitor import batch_session, source_options
from streams.report import Span
from streams.report.dialog_filter import LIVE, DialogFilter
from streams.topology import Cluster as Stated
from streams.wire import Topics

_BAD_NEWS = 1
_LOG = Path(".hopline/verify/spark.log")


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """The options of ``hopline verify``."""

    first: int | None
    end: int | None
    job: str | None
    live: bool
    also: tuple[str, ...]
    captures: tuple[Path, ...]
    limit: int
    master: str
    timeout: float
    format_: str
    bootstrap: str
    prefix: str


@click.command()
@click.option(
    "--from",
    "first",
    type=INSTANT,
    metavar="TIME",
    help="Only messages issued at or after this time.",
)
@click.option(
    "--to", "end", type=INSTANT, metavar="TIME", help="Only messages issued before this time."
)
@click.option("--job", metavar="ID", help="Only dialogs of this replay. [default: all]")
@click.option("--live", is_flag=True, help="Only dialogs that no replay has sent.")
@click.option(
    "--also",
    multiple=True,
    metavar="NAME|HOST:PORT",
    help="Another cluster, where dialogs cross: of [clusters.NAME], or in plain text. Repeatable.",
)
@click.option(
    "--capture",
    "captures",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Verify captures of all topics, and no cluster. May be repeated.",
)
@click.option(
    "--limit",
    default=10_000,
    show_default=True,
    metavar="N",
    type=click.IntRange(min=1),
    help="Maximum number of exceptions to list; all are counted.",
)
@click.option(
    "--master", default="local[*]", show_default=True, metavar="URL", help="Spark master URL."
)
@timeout_option()
@format_option()
@cluster_options
@click.pass_context
@together(VerifyOptions)
def verify(
    ctx: click.Context,
    given: VerifyOptions,
) -> None:
    """Audit the cluster for lost or duplicated messages.

    Compares the statements of applications with queues, endpoint state and events, message by
    message, and lists each exception: lost, delivered twice, out of order, changed, never sent.
    Workers may run meanwhile. Needs Java 17 or newer.

    \b
    hopline verify --bootstrap localhost:9092
    hopline verify --from 2026-11-03T12:00 --to 2026-11-03T13:00 --format json

    The exit code is 1 if there is any exception, and 3 if a hung transaction hides the newest
    events: the ledger then covers everything that can be read. docs/verify.md describes the
    method and its limits.
    """
    if given.live and given.job:
        raise UsageError("--job and --live exclude each other.", "Give one of them.")
    asked = Asked(
        Span(given.first, given.end), given.limit, DialogFilter(LIVE if given.live else given.job)
    )
    if given.captures and given.also:
        raise UsageError("--capture and --also exclude each other.", "Leave one out.")
    if given.captures:
        with batch_session(master=given.master, log=_LOG, name="hopline verify") as spark:
            verified = verify_captures(spark, given.captures, asked)
    else:
        verified = _clusters(
            (given.bootstrap, *given.also), given.prefix, given.timeout, given.master, asked
        )
    if given.format_ == "json":
        hung = [each._asdict() for each in verified.hung]
        answer = {**verified.account.to_json(), "hung": hung, "notes": list(verified.notes)}
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        click.echo(lines(verified_text(verified)))
    for each in verified.hung:
        click.echo(f"hopline: {each}\n  {each.remedy}", err=True)
    if not verified.account.ledger.balanced:
        ctx.exit(_BAD_NEWS)
    ctx.exit(SurroundingsError.exit_code if verified.hung else 0)


def _clusters(
    addresses: tuple[str, ...], prefix: str, timeout: float, master: str, asked: Asked
) -> Verified:
    own, *others = addresses
    clusters = [cluster_of(own, prefix), *(_other(name, Topics(prefix)) for name in others)]
    for cluster in clusters:  # before Spark starts, which takes longer
        source_options(cluster)
        cluster.wait(timeout, lambda text: click.echo(text, err=True))
    with batch_session(master=master, log=_LOG, name="hopline verify") as spark:
        return verify_clusters(spark, clusters, asked)


def _other(named: str, home: Topics) -> Cluster:
    """Return another cluster: by its name in the settings, or by address without credentials.

    [kafka] applies to the own cluster, and is never sent to another one.
    """
    found = credentials(click.get_current_context())
    return (
        stated_cluster(Stated(named), home, found) if found.named(named) else Cluster(named, home)
    )
