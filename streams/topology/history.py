"""What a live topology has been through and no folder says: it outlives the next ``apply``."""

from __future__ import annotations

from dataclasses import replace

from streams.topology.model import Instance, Topology
from streams.topology.objects import Database


def with_history(wanted: Topology, live: Topology) -> Topology:
    """Return a topology with the epochs of a live one, where those are higher.

    Statements and failovers raise epochs in the catalog; a folder that is applied again knows
    nothing of them. Without this, conversations would end with errors once more, and a pair would
    fail back under an epoch that nobody believes.
    """
    instances = {
        name: _instance(instance, live.instances.get(name))
        for name, instance in wanted.instances.items()
    }
    return replace(wanted, instances=instances)


def _instance(wanted: Instance, live: Instance | None) -> Instance:
    if live is None:
        return wanted
    databases = {n: _database(d, live.databases.get(n)) for n, d in wanted.databases.items()}
    return replace(wanted, msdb=_database(wanted.msdb, live.msdb), databases=databases)


def _database(wanted: Database, live: Database | None) -> Database:
    if live is None:
        return wanted
    mirror, now = wanted.mirror, live.mirror
    if mirror is not None and now is not None and mirror.pair == now.pair:
        mirror = max(mirror, now, key=lambda m: m.epoch)
    epoch = max(wanted.error_epoch, live.error_epoch)
    return replace(wanted, mirror=mirror, error_epoch=epoch)
