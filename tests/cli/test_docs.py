"""What the documentation shows of a topology is what can be read."""

from __future__ import annotations

import re
from pathlib import Path

from streams.analysis import find_paths, find_sender
from streams.topology import load
from streams.topology.yaml_file.database import DATABASE_KEYS
from streams.topology.yaml_file.document import INSTANCE_KEYS, TOPOLOGY_KEYS

PAGE = Path(__file__).parents[2] / "docs" / "topology.md"


def test_the_example_is_read_and_names_every_key(tmp_path: Path) -> None:
    """And its expectation is true."""
    found = re.search(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    (tmp_path / "topology.yaml").write_text(found[1], encoding="utf-8")
    (tmp_path / "server_a.sql").write_text("USE DatabaseA;\n", encoding="utf-8")
    topology = load(tmp_path, 0.0)
    assert not topology.findings
    named = set(re.findall(r"^ *(\w+):", found[1], re.MULTILINE))
    assert {*TOPOLOGY_KEYS, *INSTANCE_KEYS, *DATABASE_KEYS} <= named
    [expected] = topology.expect
    sender = find_sender(topology, expected.sender, expected.to)
    paths = find_paths(topology, sender, expected.to, 0.0)
    assert paths.verdict.value == expected.verdict
