"""Export a topology and load it again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from streams.topology import Topology, load
from streams.topology.export import explicit_instance, export_folder
from tests.topology.build import NOW


def through_a_folder(topology: Topology) -> Topology:
    """Return what the exported folder loads as."""
    with TemporaryDirectory() as name:
        for file, text in export_folder(topology, NOW).files.items():
            (Path(name) / file).write_bytes(text.encode("utf-8"))
        return load(Path(name), NOW)


def explicit(topology: Topology) -> Topology:
    """Return it as export writes it: endpoints have names and ports, queues are declared."""
    instances = {name: explicit_instance(i) for name, i in topology.instances.items()}
    return replace(topology, instances=instances)
