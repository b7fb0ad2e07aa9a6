"""`hopline worker agents --http`: when they are ready, and what their process costs."""

from __future__ import annotations

import re
from pathlib import Path

from streams.resources import topologies_dir
from tests.agents.rig import worker
from tests.health import get
from tests.running import eventually, running
from tests.workers.rig import pause

DIRECTORY = topologies_dir() / "dynamic_routing" / "directory.yaml"


def test_agents_say_when_they_are_ready(kafka: str, unique: str, tmp_path: Path) -> None:
    how = ("--service", "configuration-notice", "--directory", str(DIRECTORY), "--http", "0")
    log, seen = tmp_path / "agents.log", set[tuple[int, str]]()

    def ready() -> bool:
        seen.add(get(port, "/readyz"))
        return (200, "ok\n") in seen or pause()

    with (
        running(kafka, unique, "dynamic_routing", start=False) as system,
        worker(system, tmp_path, *how),
    ):
        said = eventually(
            lambda: re.search(r"on port (\d+)", log.read_text()) or pause(), "it says its port"
        )
        assert said is not None
        port = said[1]
        eventually(ready, "they are ready")
        assert get(port, "/healthz") == (200, "ok\n")
        assert "process_cpu_seconds_total" in get(port, "/metrics")[1]
    assert seen <= {(503, "The agents have not started yet.\n"), (200, "ok\n")}
