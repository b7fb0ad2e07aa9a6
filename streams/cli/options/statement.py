"""Statements of an application: their options, their place, and their result."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from streams.analysis import find_at
from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.parameters import IN_DATABASE
from streams.cli.options.shared import cluster_of, cluster_options
from streams.cli.options.topology import ConversationId, doubt_service
from streams.client import StatementError
from streams.errors import UsageError
from streams.kafka import Cluster, read_catalog
from streams.live.admin.statements import live_topology
from streams.topology import Database, Instance, Topology, home_of

F = TypeVar("F", bound=Callable[..., Any])

at_option = click.option(
    "--at", required=True, type=IN_DATABASE, help="Instance and database of the application."
)
conversation_option = click.option(
    "--conversation",
    required=True,
    type=ConversationId(),
    help="Conversation id, as printed by begin.",
)
target_option = click.option(
    "--target", is_flag=True, help="Act for the target's side of the dialog."
)


def common_options(command: F) -> F:
    """Add the options that all statements share."""
    format_ = format_option()
    timeout = timeout_option(help="Seconds to wait for Kafka and for the result.")
    return timeout(format_(cluster_options(command)))


def reached(bootstrap: str, prefix: str, timeout: float) -> Cluster:
    """Return the cluster once it responds; report the wait on stderr."""
    cluster = cluster_of(bootstrap, prefix)
    cluster.wait(timeout, lambda text: click.echo(text, err=True))
    return cluster


def database_at(cluster: Cluster, at: str) -> tuple[Instance, Database]:
    """Find the database in the catalog, so that a wrong name fails immediately, without a wait."""
    return _database_in(live_topology(read_catalog(cluster)), at)


def _database_in(topology: Topology, at: str) -> tuple[Instance, Database]:
    instance, database = find_at(topology, at)
    if database is None:
        raise UsageError(
            f"'{at}' does not name a database.",
            f"Write {instance.name}/DATABASE; it has: {', '.join(sorted(instance.databases))}.",
        )
    return instance, database


def home_at(cluster: Cluster, at: str, to: str | None = None) -> tuple[str, str]:
    """Return the home of a statement (the instance or its mirrored pair), and the database.

    Warns if the catalog does not have the service ``to``, because BEGIN DIALOG accepts any name.
    """
    topology = live_topology(read_catalog(cluster))
    instance, database = _database_in(topology, at)
    if to is not None:
        doubt_service(topology, to, live=True)
    return home_of(instance.name, database), database.name


@contextmanager
def answered(format_: str, conversation: uuid.UUID) -> Iterator[dict[str, Any]]:
    """Print the result as JSON if requested, even if the statement is rejected."""
    answer: dict[str, Any] = {"conversation": str(conversation), "number": 0, "text": ""}
    try:
        yield answer
    except StatementError as error:
        answer["number"], answer["text"] = error.number, error.detail
        if format_ == "json":
            click.echo(json.dumps(answer, ensure_ascii=False))
        raise
    if format_ == "json":
        click.echo(json.dumps(answer, ensure_ascii=False))
