"""State of a live topology that no folder contains and that must survive the next ``apply``."""

from __future__ import annotations

from dataclasses import replace

from streams.topology.model import Instance, Topology, default_broker_id
from streams.topology.objects import Database


def with_history(wanted: Topology, live: Topology) -> Topology:
    """Return a topology with the live topology's epochs, if higher, and its broker ids.

    Statements and failovers raise epochs in the catalog, and NEW_BROKER changes a broker id; a
    folder does not contain these values. If the values were lost, conversations would end with
    errors again, and a pair would fail back under an outdated epoch. An explicit broker id in the
    folder takes precedence.
    """
    instances = {
        name: _instance(instance, live.instances.get(name))
        for name, instance in wanted.instances.items()
    }
    return replace(wanted, instances=instances)


def _instance(wanted: Instance, live: Instance | None) -> Instance:
    if live is None:
        return wanted
    name = wanted.name
    databases = {n: _database(name, d, live.databases.get(n)) for n, d in wanted.databases.items()}
    return replace(wanted, msdb=_database(name, wanted.msdb, live.msdb), databases=databases)


def _database(instance: str, wanted: Database, live: Database | None) -> Database:
    if live is None:
        return wanted
    stated = wanted.broker_id != default_broker_id(instance, wanted.name)
    mirror, now = wanted.mirror, live.mirror
    if mirror is not None and now is not None and mirror.pair == now.pair:
        mirror = max(mirror, now, key=lambda m: m.epoch)
    epoch = max(wanted.error_epoch, live.error_epoch)
    broker_id = wanted.broker_id if stated else live.broker_id
    return replace(wanted, broker_id=broker_id, mirror=mirror, error_epoch=epoch)
