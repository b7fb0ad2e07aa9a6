"""A cluster as a topology states it, with the credentials that the settings have for it."""

from __future__ import annotations

from streams.errors import UsageError
from streams.kafka.cluster import Cluster
from streams.settings import (
    ADDRESS,
    STATED,
    Credentials,
    decides_trust,
    demand_safe,
    has_credentials,
    is_secret,
    variable_of,
)
from streams.topology import Cluster as Stated
from streams.topology import Topology
from streams.wire import Topics


def stated_cluster(stated: Stated, home: Topics, credentials: Credentials) -> Cluster:
    """Return a cluster by its address; raises UsageError where nothing says it.

    What the settings say wins. Where they hold credentials, they alone say who gets these: else
    whoever writes the catalog could send for a password. ``home`` has the prefix of its topics,
    unless one is stated.
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
    """Raise UsageError for what a topology must not state of a cluster.

    A password: whoever reads the catalog would know it. And what is not known to be harmless:
    every worker does what the catalog says.
    """
    for cluster in topology.clusters.values():
        _demand_stateable(cluster)


def _demand_stateable(stated: Stated) -> None:
    name = stated.credentials or stated.name
    demand_safe(stated.properties, f"cluster {stated.name}", elsewhere=True)
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


def _demand_said(stated: Stated, own: dict[str, str]) -> None:
    """Raise UsageError for what the catalog alone says of a cluster that gets credentials."""
    name = stated.credentials or stated.name
    said = {key.removesuffix("s") for key in own}  # sasl.mechanisms is sasl.mechanism, too
    for key in stated.properties:
        if decides_trust(key) and key.removesuffix("s") not in said:
            raise UsageError(
                f"{key} of the cluster {stated.name} is set in the topology only: any writer of "
                f"the catalog could redirect the credentials that are set for {name}.",
                f"Set {_where(name, key)}.",
            )


def _where(name: str, key: str) -> str:
    return f"{variable_of(name, key)}, or {key} in [clusters.{name}] of hopline.toml"
