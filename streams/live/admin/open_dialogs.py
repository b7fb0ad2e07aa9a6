"""Find the open dialogs that a catalog change would break, with the reasons."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from streams.analysis.diff import Change as Fate
from streams.analysis.diff import Dialogs, Direction
from streams.analysis.estate import Estate
from streams.kafka import CatalogState, Change, Cluster, read_catalog
from streams.live.views.dialogs import dialogs_of
from streams.protocol import Dialog, State
from streams.routing import broker_key
from streams.topology import (
    Database,
    Instance,
    Topology,
    contract_of,
    flatten,
    home_of,
    unflatten,
    with_history,
)

_OVER = (State.ER, State.CD)


@dataclass(frozen=True, slots=True)
class Broken:
    """One side of an open dialog that would break, with the reason."""

    instance: str
    database: str
    service: str
    conversation: uuid.UUID
    is_initiator: bool
    why: str


def find_broken(
    cluster: Cluster,
    topology: Topology,
    change: Change,
    now: float,
    whole: Topology | None = None,
) -> Iterator[Broken]:
    """Yield the open dialogs that would break if a plan were applied.

    ``now`` is in epoch seconds. If the plan only adds objects, which breaks nothing, no state is
    read. If the plan is for one cluster's share, ``whole`` is the whole topology, whose other parts
    do not change.
    """
    if not (change.changed or change.removed):
        return
    state = read_catalog(cluster)
    live = state.topology
    if live is None:
        return
    after = _after(state, with_history(topology, live), change)
    known = whole.instances if whole else {}
    beyond = {name: i for name, i in known.items() if name not in topology.instances}
    fates = Dialogs(Estate(_with(live, beyond), now), Estate(_with(after, beyond), now))
    for instance in live.instances.values():
        for dialog, _ in dialogs_of(cluster, instance, tuple(instance.databases.values())):
            if dialog.state not in _OVER and _is_alive(instance, dialog):
                why = _gone(after, instance, dialog) or _astray(fates, instance, dialog)
                if why:
                    yield Broken(
                        instance.name,
                        dialog.database,
                        dialog.service,
                        dialog.conversation,
                        dialog.is_initiator,
                        why,
                    )


def _with(topology: Topology, beyond: Mapping[str, Instance]) -> Topology:
    return replace(topology, instances={**beyond, **topology.instances})


def _is_alive(instance: Instance, dialog: Dialog) -> bool:
    """Return whether a dialog has its database's current broker id; NEW_BROKER ends all others."""
    database = instance.database(dialog.database)
    return database is not None and _same_broker(database, dialog)


def _same_broker(database: Database, dialog: Dialog) -> bool:
    return broker_key(database.broker_id) == broker_key(dialog.broker_id)


def _after(state: CatalogState, wanted: Topology, change: Change) -> Topology:
    """Return the topology that the catalog will have; without pruning, a superset of the plan's."""
    assert state.topology is not None
    objects, new = flatten(state.topology), flatten(wanted)
    for key in (*change.added, *change.changed):
        if key in new:  # any other object is a schema
            objects[key] = new[key]
    for key in change.removed:
        objects.pop(key, None)
    return unflatten(objects)


def _gone(after: Topology, instance: Instance, dialog: Dialog) -> str:
    """Return the reason why the dialog's own side would break, or ``None``."""
    here = after.instance(instance.name)
    database = here.database(dialog.database) if here else None
    if here is None:
        return "its instance would be removed"
    if database is None:
        return "its database would be removed"
    return _ended(database, dialog)


def _ended(database: Database, dialog: Dialog) -> str:
    if not _same_broker(database, dialog):
        return "its database would have another broker id"
    if database.error_epoch > dialog.error_epoch:
        return "its database would end its conversations with an error"
    if dialog.service not in database.services:
        return "its service would be removed"
    if contract_of(database, dialog.contract) is None:
        return f"its contract {dialog.contract} would be removed"
    return ""


def _astray(fates: Dialogs, instance: Instance, dialog: Dialog) -> str:
    """Return the reason why messages would no longer reach the dialog's other side, if any.

    The other side's endpoint is part of one instance's state, and does not move with a broker id.
    An initiator that is not locked to a target yet needs no particular endpoint.
    """
    direction = Direction(
        instance.name,
        dialog.database,
        dialog.service,
        dialog.far_service,
        dialog.far_broker,
        dialog.is_initiator,
    )
    fate = fates.fate(direction, dialog.conversation)
    if fate.change is Fate.STOPS:
        return f"{dialog.far_service} would be unreachable"
    if fate.change is not Fate.MOVES or (dialog.is_initiator and not dialog.locked):
        return ""
    known = {_owner(fates.old, at) for at in fate.before}
    other = [at for at in fate.after if _owner(fates.new, at) not in known]
    if not other:
        return ""
    before = ", ".join(fate.before)
    return f"its messages would go to {other[0]}, but its other side is at {before}"


def _owner(estate: Estate, at: str) -> str:
    """Return ``OWNER/DATABASE`` for ``INSTANCE/DATABASE``; the owner may be a mirrored pair."""
    name, _, database = at.partition("/")
    return f"{home_of(name, estate.topology.instances[name].databases[database])}/{database}"
