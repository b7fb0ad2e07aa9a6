"""Options that several commands share, and their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from streams.cli.options.settings import (
    config_option,
    properties_option,
    refuse_property,
    replication,
    replication_option,
    setting_option,
    sourced_properties,
)
from streams.kafka import Cluster, KafkaException
from streams.settings import setting_of
from streams.wire import Topics

F = TypeVar("F", bound=Callable[..., Any])

_TOGETHER = ("security.", "sasl.", "ssl.")
DEFAULT_PREFIX = str(setting_of("", "prefix").default)

_bootstrap_option = setting_option("", "bootstrap")
prefix_option = setting_option("", "prefix")


def cluster_options(command: F) -> F:
    """Add ``--bootstrap``, ``--prefix`` and the other options of :func:`cluster_of`."""
    last = replication_option(properties_option(config_option(command)))
    return _bootstrap_option(prefix_option(last))


def cluster_of(bootstrap: str, prefix: str) -> Cluster:
    """Return the cluster of options and settings; raise UsageError if invalid."""
    ctx = click.get_current_context()
    found = sourced_properties(ctx)
    secured = {n: s for n, s in found.items() if n.startswith(_TOGETHER)}
    for name, sourced in found.items():
        if name not in secured:
            with _worded(sourced.source):
                Cluster(bootstrap, properties={name: sourced.value}).admin()
    # Check TLS and SASL settings together, because librdkafka ignores one that is given alone.
    with _worded(", ".join(sorted({s.source for s in secured.values()})) or "[kafka]"):
        properties = {n: s.value for n, s in found.items()}
        cluster = Cluster(bootstrap, Topics(prefix), properties, replication(ctx))
        if found:
            cluster.admin()
    return cluster


@contextmanager
def _worded(source: str) -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        raise refuse_property(str(error.args[0].str()), source) from None
