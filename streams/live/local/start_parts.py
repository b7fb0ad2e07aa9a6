"""Start a topology on this machine, on a broker for each of its clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streams.errors import UsageError
from streams.live.local.folder import UpFolder
from streams.live.local.start import Reporter, Started, Wish, start, start_broker
from streams.live.parts import parts_of
from streams.settings import ADDRESS
from streams.topology import Cluster, Topology, share_of


def start_parts(folder: UpFolder, wish: Wish, report: Reporter) -> dict[str, Started]:
    """Start each cluster like :func:`start`; return the systems by name, a single system under "".

    Each cluster is a separate system with its own broker, workers and folder. All brokers are
    started first, because the workers of each cluster need the addresses of the other clusters.
    """
    names = [part.name for part in parts_of(wish.topology)]
    _refuse_other_shape(folder, names)
    if names == [""]:
        return {"": start(folder, wish, report)}
    if wish.bootstrap is not None:
        raise UsageError(
            f"The topology has {len(names)} clusters, but --bootstrap gives only one.",
            "Omit --bootstrap to start a broker for each, or use `hopline apply` and "
            "`hopline worker`.",
        )
    ports = {name: wish.port and wish.port + n for n, name in enumerate(names)}
    with folder.alone():
        addresses = {
            name: start_broker(folder.part(name), port, lambda text: None)
            for name, port in ports.items()
        }
        here = _here(wish.topology, addresses)
        started = {}
        for name, port in ports.items():
            report(f"Cluster {name} at {addresses[name]}")
            own = replace(wish, topology=share_of(here, name), port=port, whole=here)
            started[name] = start(folder.part(name), own, report)
        return started


def _refuse_other_shape(folder: UpFolder, names: list[str]) -> None:
    """Raise UsageError if the folder's system runs on clusters other than these."""
    running = [name for name, part in folder.parts().items() if _runs(part)]
    if _runs(folder):
        running.append("")
    if not set(running) <= set(names):
        raise UsageError(
            f"The system in {folder.path} is already running on other clusters.",
            "Stop it with `hopline down`, or choose another folder with --data.",
        )


def _runs(folder: UpFolder) -> bool:
    system = folder.system()
    return system is not None and folder.keeps(system)


def _here(topology: Topology, addresses: Mapping[str, str]) -> Topology:
    """Return the topology with the brokers of this machine, which need no credentials."""
    stated = topology.clusters
    clusters = {
        name: Cluster(
            name,
            {ADDRESS: address},
            credentials=f"up {name}",
            claims=stated[name].claims if name in stated else None,
        )
        for name, address in addresses.items()
    }
    return replace(topology, clusters=clusters)
