"""The page and its example are what the code says."""

from __future__ import annotations

import json

from streams.analysis.diagnose import diagnose
from streams.topology.snapshot import load_snapshot
from tests.analysis.diagnose.example import FOLDER, example, written
from tests.analysis.diagnose.page import BLOCKS, PAGE
from tests.conformance.page import stale
from tests.snapshots import NOW

AGAIN = "python -m tests.analysis.diagnose"


def test_the_page_is_made_of_the_tables_that_run() -> None:
    assert not stale(PAGE.read_text(encoding="utf-8"), BLOCKS), AGAIN


def test_the_example_is_made_by_code() -> None:
    for name, document in example().items():
        text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
        assert text == written(document), AGAIN
        assert json.loads(text)["hopline_snapshot"] == 1
    assert {path.stem for path in FOLDER.iterdir()} == set(example())


def test_the_example_has_the_diagnoses_of_its_page() -> None:
    found = diagnose(load_snapshot(FOLDER), NOW).found
    assert [(d.cause.code, d.count) for d in found] == [
        ("stale-broker-id", 12), ("queue-off", 5), ("service-not-here", 1),
        ("not-ended-here", 24), ("in-flight", 1),
    ]  # fmt: skip
