"""Whatever a fuzzer once found in YAML files stays mended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.topology import Topology
from tests.fuzz.yaml_files import CORPUS, try_scenario, try_topology
from tests.topology.build import shipped


@pytest.fixture(scope="module")
def combined() -> Topology:
    return shipped("combined")


@pytest.mark.parametrize("file", sorted(CORPUS.iterdir()), ids=lambda file: file.name)
def test_a_broken_file_is_read_or_refused(file: Path, combined: Topology) -> None:
    """As a topology and as a scenario: an answer, or an error with its place."""
    text = file.read_bytes().decode("utf-8", "replace")
    try_topology(text)
    try_scenario(text, combined)


def test_what_the_fuzzer_grew_is_read_or_refused(combined: Topology) -> None:
    """Small inputs that each reached code of their own, as they were when fuzzing ended."""
    for text in json.loads(Path(__file__).with_name("yaml_corpus.json").read_text("utf-8")):
        try_topology(text)
        try_scenario(text, combined)
