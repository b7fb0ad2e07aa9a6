"""A cluster as a topology states it, with the credentials that the settings have for it."""

from __future__ import annotations

from streams.errors import UsageError
from streams.kafka.cluster import Cluster
from streams.settings import ADDRESS, Credentials, demand_safe, is_secret, variable_of
from streams.topology import Cluster as Stated
from streams.topology import Topology
from streams.wire import Topics


def stated_cluster(stated: Stated, home: Topics, credentials: Credentials) -> Cluster:
    """Return a cluster by its address; raises UsageError where nothing says it.

    What the settings say wins. ``home`` has the prefix of its topics, unless one is stated.
    """
    demand_safe(stated.properties, f"cluster {stated.name}", elsewhere=True)
    name = stated.credentials or stated.name
    properties = {**stated.properties, **credentials.named(name)}
    address = properties.pop(ADDRESS, None)
    if address is None:
        raise UsageError(
            f"Nothing says where the cluster {stated.name} is.",
            f"Set {ADDRESS} in [clusters.{name}] of hopline.toml, or {variable_of(name, ADDRESS)}.",
        )
    return Cluster(address, Topics(stated.prefix or home.prefix), properties)


def refuse_secrets(topology: Topology) -> None:
    """Raise UsageError for a password in a topology: whoever reads the catalog would know it."""
    for cluster in topology.clusters.values():
        for name in cluster.properties:
            if is_secret(name):
                credentials = cluster.credentials or cluster.name
                raise UsageError(
                    f"{name} of the cluster {cluster.name} stands in the topology, for everybody.",
                    f"Set {variable_of(credentials, name)}, or write it into "
                    f"[clusters.{credentials}] of hopline.toml.",
                )
