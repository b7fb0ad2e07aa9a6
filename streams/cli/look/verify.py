"""``hopline verify``: audit the cluster for lost or duplicated messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from streams.cli.exit_codes import NOT_OK
from streams.cli.look.verify_text import WORDS, verified_text
from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.instant import INSTANT
from streams.cli.options.renamed import since_option, until_option
from streams.cli.options.settings import credentials
from streams.cli.options.shared import cluster_of, cluster_options
from streams.cli.options.together import together
from streams.cli.text.terminal import show
from streams.errors import SurroundingsError, UsageError
from streams.kafka import Cluster, stated_cluster
from streams.live.engines import Engine, LocalEngine
from streams.live.verify import Asked, Verified, verify_captures, verify_clusters
from streams.prose import counted, lines
from streams.report import Span
from streams.report.dialog_filter import LIVE, DialogFilter
from streams.topology import Cluster as Stated
from streams.wire import Topics

_LOG = Path(".hopline/verify/spark.log")
_MOST_LOCAL = 200_000
"""The number of records that one process audits in about the time that Spark needs to start."""


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
    engine: str
    master: str
    timeout: float
    format_: str
    bootstrap: str
    prefix: str


@click.command()
@since_option(
    "first",
    type=INSTANT,
    metavar="TIME",
    help="Only messages issued at or after this time.",
)
@until_option(
    "end",
    type=INSTANT,
    metavar="TIME",
    help="Only messages issued before this time.",
)
@click.option("--job", metavar="ID", help="Only dialogs of this replay. [default: all]")
@click.option("--live", is_flag=True, help="Only dialogs that no replay has sent.")
@click.option(
    "--also",
    multiple=True,
    metavar="NAME|HOST:PORT",
    help="Another cluster that these dialogs use: [clusters.NAME], or HOST:PORT without TLS. "
    "May be repeated.",
)
@click.option(
    "--capture",
    "captures",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Verify captures of all topics instead of a cluster. May be repeated.",
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
    "--engine",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "local", "spark"]),
    help=f"Engine: this process, Spark, or (auto) Spark for more than {_MOST_LOCAL:,} records.",
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

    Compare the statements of applications with queues, endpoint state and events, message by
    message, and list each exception: lost, delivered twice, out of order, changed, never sent.
    Refused statements are counted by error number. Workers can keep running during the audit. This
    process reads up to 200,000 records; for more records, Spark is used, which needs Java 17 or
    newer (--engine).

    \b
    hopline verify --bootstrap localhost:9092
    hopline verify --since 2026-11-03T12:00 --until 2026-11-03T13:00

    The exit code is 1 if there is any exception, and 3 if a hung transaction hides the newest
    events: the ledger then covers all records that can be read. docs/verify.md describes the method
    and its limits.
    """
    if given.live and given.job:
        raise UsageError("--job and --live cannot be combined.", "Give one of them.")
    asked = Asked(
        Span(given.first, given.end), given.limit, DialogFilter(LIVE if given.live else given.job)
    )
    if given.captures and given.also:
        raise UsageError("--capture and --also cannot be combined.", "Leave one out.")
    if given.captures:
        verified = verify_captures(_Choice(given), given.captures, asked)
    else:
        verified = _clusters(given, asked)
    if given.format_ == "json":
        hung = [each._asdict() for each in verified.hung]
        answer = {
            **verified.account.to_json(),
            "hung": hung,
            "notes": list(verified.notes),
            "engine": verified.engine,
        }
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        show(lines(verified_text(verified)), WORDS)
    for each in verified.hung:
        click.echo(f"hopline: {each}\n  {each.remedy}", err=True)
    if not verified.account.ledger.balanced:
        ctx.exit(NOT_OK)
    ctx.exit(SurroundingsError.exit_code if verified.hung else 0)


def _clusters(given: VerifyOptions, asked: Asked) -> Verified:
    home = Topics(given.prefix)
    clusters = [
        cluster_of(given.bootstrap, given.prefix),
        *(_other(name, home) for name in given.also),
    ]
    choice = _Choice(given, clusters)
    choice.refuse()
    for cluster in clusters:
        cluster.wait(given.timeout, lambda text: click.echo(text, err=True))
    return verify_clusters(choice, clusters, asked)


@dataclass(frozen=True, slots=True)
class _Choice:
    """Choose the engine, from the options and the number of records."""

    given: VerifyOptions
    clusters: Sequence[Cluster] = ()

    def refuse(self) -> None:
        """Raise UsageError if Spark is requested but could not reach a cluster."""
        if self.given.engine == "spark":
            from streams.live.engines.spark import demand_reachable

            demand_reachable(self.clusters)

    @contextmanager
    def __call__(self, records: int | None) -> Iterator[Engine]:
        """Start the engine for ``records`` records."""
        engine = self.given.engine
        few = records is not None and records <= _MOST_LOCAL
        if engine == "local" or (engine == "auto" and few):
            yield LocalEngine()
            return
        if engine == "auto":
            many = "an unknown number of records" if records is None else counted(records, "record")
            click.echo(f"Reading {many} with Spark; --engine local avoids that.", err=True)
        from streams.live.engines.spark import spark_engine  # Spark is an extra

        with spark_engine(self.given.master, _LOG, self.clusters) as spark:
            yield spark


def _other(named: str, home: Topics) -> Cluster:
    """Return another cluster, by its name in the settings or by an address without credentials.

    [kafka] applies to the command's own cluster and is never sent to another one.
    """
    found = credentials(click.get_current_context())
    return (
        stated_cluster(Stated(named), home, found) if found.named(named) else Cluster(named, home)
    )
