"""The page about the simulator matches its output."""

from __future__ import annotations

import re
from pathlib import Path

from streams.diagram import mermaid_text
from streams.resources import topologies_dir
from streams.simulator import Simulation, parse_scenario, read_scenario, result_text
from streams.simulator.diagram import diagram_of
from tests.simulator.build import SHIPPED, path_of, shipped

PAGE = (Path(__file__).parent.parent.parent / "docs" / "simulator.md").read_text(encoding="utf-8")


def test_every_shipped_scenario_is_listed_with_its_examples() -> None:
    rows = dict(re.findall(r"^\| `(\S+/\S+)` \| (EX-.*) \|$", PAGE, re.M))
    texts = {f"{p.parent.parent.name}/{p.stem}": p.read_text(encoding="utf-8") for p in SHIPPED}
    assert rows.keys() == texts.keys()
    for name, examples in rows.items():
        assert all(example in texts[name] for example in examples.split(", ")), name


def test_the_scenario_on_the_page_can_be_read() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    text = text.replace("../../load_balanced", "load_balanced")
    _, scenario = parse_scenario(text, topologies_dir() / "s.yaml")
    assert len(scenario.steps) == 6


def test_the_output_on_the_page_is_real() -> None:
    (output,) = re.findall(r"two_targets\n(.*?)```", PAGE, re.S)
    assert output == result_text(shipped("several_targets/two_targets"))


def test_the_diagram_on_the_page_is_real() -> None:
    (drawn,) = re.findall(r"```mermaid\n(.*?)```", PAGE, re.S)
    run = Simulation(*read_scenario(path_of("several_targets", "two_targets")))
    run.play()
    assert drawn == mermaid_text(diagram_of(run))
