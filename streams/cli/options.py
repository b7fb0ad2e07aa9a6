"""Options that several commands share, and what they make of them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from streams.kafka import Cluster
from streams.wire import Topics

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
DEFAULT_PREFIX = "ssb."

prefix_option = click.option(
    "--prefix",
    default=DEFAULT_PREFIX,
    show_default=True,
    help="What every topic name begins with.",
)


def cluster_options(command: F) -> F:
    """Add ``--bootstrap`` and ``--prefix``; :func:`cluster_of` makes a cluster of them."""
    bootstrap = click.option(
        "--bootstrap",
        default=DEFAULT_BOOTSTRAP,
        show_default=True,
        envvar="HOPLINE_BOOTSTRAP",
        metavar="HOST:PORT",
        help="The Kafka cluster. Also HOPLINE_BOOTSTRAP.",
    )
    return bootstrap(prefix_option(command))


def cluster_of(bootstrap: str, prefix: str) -> Cluster:
    """Return the cluster that the options name."""
    return Cluster(bootstrap, Topics(prefix))


def log_to_stderr(*, verbose: bool = False) -> None:
    """Send the log to stderr, where progress belongs; stdout is for results."""
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    logging.getLogger("hopline.librdkafka").setLevel(logging.ERROR)
