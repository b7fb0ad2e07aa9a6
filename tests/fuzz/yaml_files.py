"""Feed broken YAML to everything that reads it: :mod:`tests.fuzz.fuzz_yaml` makes the inputs."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

from streams.analysis import find_paths, find_sender, path_mermaid, path_text
from streams.errors import InputError, UsageError
from streams.simulator.read import parse_scenario
from streams.topology import Topology, routing_instances
from streams.topology.yaml_file import read_document

ROOT = Path(__file__).parents[2]
TOPOLOGIES = ROOT / "topologies"
CORPUS = Path(__file__).parent / "yaml"
FEW = 3


def try_topology(text: str) -> None:
    """Read a topology.yaml and ask for paths; an error must have its place."""
    try:
        read = read_document(text, "topology.yaml", 1.0)
    except InputError as error:
        assert error.message and error.file
        return
    topology = Topology(read.instances, read.clusters, read.expect)
    routing_instances(topology)
    for sender, to in islice(_dialogs(topology), FEW):
        try:
            place = find_sender(topology, sender, to)
        except UsageError:
            continue
        paths = find_paths(topology, place, to, 1.0, limit=FEW)
        json.dumps(paths.to_json()), path_text(paths).encode(), path_mermaid(paths).encode()


def _dialogs(topology: Topology) -> list[tuple[str, str]]:
    services = [
        (f"{i.name}/{d.name}/{s}", s)
        for i in topology.instances.values()
        for d in i.databases.values()
        for s in d.services
    ]
    return [(sender, to) for sender, _ in services[:FEW] for _, to in services[:FEW]]


def try_scenario(text: str, topology: Topology) -> None:
    """Read a scenario's file."""
    try:
        parse_scenario(text, TOPOLOGIES / "combined" / "scenario.yaml", topology)
    except (InputError, UsageError) as error:
        assert error.message
