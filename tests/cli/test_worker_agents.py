"""`hopline worker agents`: wrong use is reported before Kafka is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import main

NOTICE = ("--service", "configuration-notice")
ROUTING = ("--service", "data-dependent-routing")


def agents(*words: str) -> Result:
    return CliRunner(env={"HOPLINE_DIRECTORY": None}).invoke(
        main, ["worker", "agents", "--instance", "ServerA", *words]
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Give --topology TOPOLOGY, or --service data-dependent-routing or"),
        (NOTICE, "no directory is set"),
        (
            (*NOTICE, "--directory", "d.yaml", "--redirect", "T"),
            "Leave out the options of the other service.",
        ),
        ((*ROUTING, "--directory", "d.yaml"), "Leave out the options of the other service."),
        ((*NOTICE, "--directory", "no.yaml"), "no.yaml cannot be read: No such file"),
        ((*NOTICE, "--directory", "mysql://host/db"), "mysql is not supported as a store"),
        ((*ROUTING, "--from", "end", "--from", "0:1"), "give beginning, end or OFFSET once"),
    ],
)
def test_wrong_use(words: tuple[str, ...], message: str) -> None:
    done = agents(*words)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split()), done.output


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (
            "routes:\n  - {service_name: S, address: ServerB}",
            ":2:5:",
            "'ServerB' is not a valid address",
        ),
        ("routes:\n  - service_name: S\n    adress: x", ":3:5:", "Did you mean 'address'"),
        ("routes:\n  - a: b: c", ":2:9:", "invalid YAML"),
    ],
)
def test_a_mistake_in_the_directory(tmp_path: Path, text: str, place: str, message: str) -> None:
    path = tmp_path / "directory.yaml"
    path.write_text(text)
    done = agents(*NOTICE, "--directory", str(path))
    output = " ".join(done.output.split())
    assert done.exit_code == 2
    assert f"{path}{place}" in output and message in output, done.output
