"""``python -m tests.containers.smoke``: a smoke test of the default system in containers.

It runs ``docker compose up --wait`` and a load whose verification must report ``nothing lost``, and
compares the dashboard's number of messages. ``.ci/run`` runs it if Docker responds.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable

from tests.containers.compose import Compose, composed, run
from tests.containers.images import image, refuse_left_overs

LOAD = "--from ServerA/DatabaseA/InitiatorService --to TargetService --rate 50 --duration 8s"
WANTED = tuple(
    image(f"HOPLINE_{name}_IMAGE") for name in ("PYTHON", "KAFKA", "POSTGRES", "PROMETHEUS")
)

_SCRAPED = {"hopline-workers": 3, "hopline-monitor": 1, "hopline-dashboard": 1}
_PATIENCE = 60.0


def main() -> int:
    """Return 0 if all checks succeed, or if an image cannot be pulled."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # end all processes that were started
    missing = next((name for name in WANTED if not _is_there(name)), None)
    if missing is not None:
        print(f"containers: not tried, because {missing} cannot be pulled")
        return 0
    began = time.monotonic()
    with composed("hopline-smoke", HOPLINE_LOAD_OPTIONS=LOAD) as compose:
        try:
            _look(compose)
        except BaseException:
            print(compose.logs())
            raise
    print(f"containers: up, loaded, verified and shown in {time.monotonic() - began:.0f} s")
    return 0


def _look(compose: Compose) -> None:
    compose.do("build", "apply", "monitor", timeout=1200)
    for target in ("worker", "spark"):
        refuse_left_overs(f"hopline/{target}:local")
    compose.up()
    said = compose.do("run", "--rm", "load")
    print(said)
    assert said.split()[-2:] == ["nothing", "lost"], said
    verified = re.search(r"^delivered +([\d,]+)", said, re.M)
    assert verified is not None
    wanted = int(verified[1].replace(",", ""))
    _await(lambda: delivered(compose), wanted, "messages in the store")
    _await(lambda: _scraped(compose), _SCRAPED, "processes that Prometheus sees")
    with urllib.request.urlopen(f"http://{compose.address('HOPLINE_DASHBOARD_PORT')}/") as page:
        assert b"Hopline" in page.read()


def delivered(compose: Compose) -> int:
    """Return how many delivered messages the monitor has counted, as the dashboard shows."""
    question = "SELECT COALESCE(SUM(count), 0) FROM latency_windows WHERE leg = 0"
    words = ("exec", "-T", "postgres", "psql", "-U", "hopline", "-Atc", question)
    return int(compose.do(*words))


def _scraped(compose: Compose) -> dict[str, int]:
    """Return for how many processes of each job Prometheus has metrics."""
    question = "query?query=sum%20by%20(job)%20(up)"
    address = f"http://{compose.address('HOPLINE_PROMETHEUS_PORT')}/api/v1/{question}"
    with urllib.request.urlopen(address) as answer:
        rows = json.load(answer)["data"]["result"]
    return {row["metric"]["job"]: int(row["value"][1]) for row in rows}


def _await(look: Callable[[], object], wanted: object, what: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while (seen := look()) != wanted:
        assert time.monotonic() < deadline, f"{what}: {seen}, and not {wanted}"
        time.sleep(1)


def _is_there(name: str) -> bool:
    found = subprocess.run(["docker", "image", "inspect", name], capture_output=True, check=False)
    if found.returncode == 0:
        return True
    try:
        run("docker", "pull", "--quiet", name, timeout=300)
    except (AssertionError, subprocess.TimeoutExpired):
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
