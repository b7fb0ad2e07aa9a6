"""A cluster as defined in a topology, with credentials from the settings."""

from __future__ import annotations

import os

from streams.errors import UsageError
from streams.kafka.cluster import Cluster
from streams.settings import (
    ADDRESS,
    PREFIX_RULE,
    STATED,
    Credentials,
    decides_trust,
    demand_safe,
    has_credentials,
    is_prefix,
    is_secret,
    variable_of,
)
from streams.topology import Cluster as Stated
from streams.topology import Topology
from streams.wire import Topics

_MOST_ADDRESSES, _LONGEST_ADDRESSES = 20, 4_096
"""The maximum number of a cluster's bootstrap servers, and of characters of their addresses.

The client library starts a thread for each address, and needs 230 kB of memory for it.
"""
_LARGEST_FILE = 16 << 20
"""Maximum bytes of a file with certificates, because the client library reads the whole file."""


def stated_cluster(stated: Stated, home: Topics, credentials: Credentials) -> Cluster:
    """Return a cluster with its address; raise UsageError if there is no address.

    Settings override the topology. If the settings contain credentials, the address to which they
    are sent must also be in the settings. Otherwise any writer of the catalog could obtain a
    password. ``home`` provides the default prefix of the cluster's topics.
    """
    _demand_stateable(stated)
    name = stated.credentials or stated.name
    own = credentials.named(name)
    properties = {**stated.properties, **own}
    if has_credentials(own):
        _demand_said(stated, own)
        properties = {k: v for k, v in properties.items() if k in own or not decides_trust(k)}
    address = properties.pop(ADDRESS, None)
    if address is None:
        raise UsageError(
            f"The cluster {stated.name} has no bootstrap servers.", f"Set {_where(name, ADDRESS)}."
        )
    return Cluster(address, Topics(stated.prefix or home.prefix), properties)


def demand_stateable(topology: Topology) -> None:
    """Raise UsageError for properties that a topology must not set for a cluster.

    Passwords are forbidden because every reader of the catalog would see them. Values that are not
    known to be harmless are forbidden because every worker applies the catalog.
    """
    for cluster in topology.clusters.values():
        _demand_stateable(cluster)


def _demand_stateable(stated: Stated) -> None:
    name = stated.credentials or stated.name
    demand_safe(stated.properties, f"cluster {stated.name}", elsewhere=True)
    if stated.prefix is not None and not is_prefix(stated.prefix):
        raise UsageError(  # librdkafka crashes if a topic's name has more than 512 bytes
            f"The prefix {stated.prefix[:40]!r} of the cluster {stated.name} is invalid.",
            PREFIX_RULE,
        )
    addresses = stated.properties.get(ADDRESS, "")
    if addresses.count(",") >= _MOST_ADDRESSES or len(addresses) > _LONGEST_ADDRESSES:
        raise UsageError(
            f"{ADDRESS} of the cluster {stated.name} names too many brokers.",
            f"Name a few of them, at most {_MOST_ADDRESSES}; Kafka reports the others.",
        )
    for key in stated.properties:
        if is_secret(key):
            raise UsageError(
                f"{key} of the cluster {stated.name} is in the topology, where anybody can read "
                "it.",
                f"Set {_where(name, key)}.",
            )
        if key not in STATED:
            raise UsageError(
                f"{key} of the cluster {stated.name} is not allowed in a topology.",
                f"Set {_where(name, key)}.",
            )
        if key.endswith(".location") and _is_special(stated.properties[key]):
            raise UsageError(
                f"{key} of the cluster {stated.name} is neither a file nor a folder, or the file "
                "is empty or has more than 16 MiB.",
                "Name a regular file or a folder.",
            )


def _is_special(path: str) -> bool:
    """Return whether reading a path could block, or take much memory.

    Files in ``/proc`` are regular files without a size, and reading some of them blocks.
    """
    if not os.path.exists(path) or os.path.isdir(path):
        return False
    return not os.path.isfile(path) or not 0 < os.path.getsize(path) <= _LARGEST_FILE


def _demand_said(stated: Stated, own: dict[str, str]) -> None:
    """Raise UsageError if only the catalog sets a property that decides which server is trusted."""
    name = stated.credentials or stated.name
    said = {key.removesuffix("s") for key in own}  # sasl.mechanisms is an alias of sasl.mechanism
    for key in stated.properties:
        if decides_trust(key) and key.removesuffix("s") not in said:
            raise UsageError(
                f"{key} of the cluster {stated.name} is set in the topology only: any writer of "
                f"the catalog could redirect the credentials that are set for {name}.",
                f"Set {_where(name, key)}.",
            )


def _where(name: str, key: str) -> str:
    return f"{variable_of(name, key)}, or {key} in [clusters.{name}] of hopline.toml"
