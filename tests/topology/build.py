"""Write a topology in short form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import dedent

from streams.resources import topologies_dir
from streams.topology import Database, Topology, load

NOW = 1_000_000.0
SHIPPED = sorted(path.name for path in topologies_dir().iterdir() if path.is_dir())


def shipped(name: str) -> Topology:
    """Load a shipped topology."""
    return load(topologies_dir() / name, NOW)


def hidden(topology: Topology, *gateways: str) -> Topology:
    """Return the topology with ``hide_path`` at these instances, by default at all."""
    instances = {
        name: replace(i, endpoint=replace(i.endpoint, hide_path=not gateways or name in gateways))
        for name, i in topology.instances.items()
    }
    return replace(topology, instances=instances)


def write(folder: Path, yaml: str = "", **scripts: str) -> Path:
    """Write a folder: topology.yaml if there is one, and ``name.sql`` for each script."""
    if yaml:
        (folder / "topology.yaml").write_text(dedent(yaml), encoding="utf-8")
    for name, text in scripts.items():
        (folder / f"{name}.sql").write_text(dedent(text), encoding="utf-8")
    return folder


def from_sql(folder: Path, text: str) -> tuple[Topology, Database]:
    """Load one script at instance I1 in database DB."""
    topology = load(write(folder, I1="USE DB;\n" + dedent(text)), NOW)
    return topology, topology.instances["I1"].databases["DB"]


def from_yaml(folder: Path, database: str) -> tuple[Topology, Database]:
    """Load database DB of instance I1, its settings given as flow YAML."""
    yaml = f"instances: {{I1: {{databases: {{DB: {database}}}}}}}\n"
    topology = load(write(folder, yaml), NOW)
    return topology, topology.instances["I1"].databases["DB"]
