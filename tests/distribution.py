"""Distribute tests to several processes by file, the slowest files first.

``make test`` runs three processes (`pytest -n 3 --dist loadfile`), each with its own broker. The
tests of a file share expensive fixtures, so they run in one process. The same applies to the
folders whose tests share a Spark session, a browser or a secured broker. The slowest files start
first, because the whole run would wait for a slow file that starts last. `pytest tests/x` runs in a
single process and ignores this order.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

FOLDERS = ("tests/dashboard/", "tests/monitor/", "tests/security/")
"""Those that stay together."""

LONGEST = (
    "tests/faults/test_soak.py",
    "tests/monitor/",
    "tests/security/",
    "tests/workers/test_hostile.py",
    "tests/dashboard/",
    "tests/workers/test_repartition.py",
    "tests/demo/test_demo.py",
    "tests/mutants/test_mutants.py",
    "tests/faults/test_applications.py",
    "tests/simulator/test_explore.py",
    "tests/faults/test_hostile.py",
    "tests/client/test_begin.py",
    "tests/live/test_tutorial.py",
    "tests/test_leftovers.py",
)
"""What takes longer than half a minute beside two others, long tests or not; long files first."""


def scope_of(test: str) -> str:
    """Return what a test, given by its node id, stays together with: a file, or a folder."""
    file = test.partition("::")[0]
    return next((folder for folder in FOLDERS if file.startswith(folder)), file)


def rank(test: str) -> int:
    """Return when a test begins: the lower, the earlier."""
    scope = scope_of(test)
    return LONGEST.index(scope) if scope in LONGEST else len(LONGEST)


class ByFile(LoadScopeScheduling):
    """Distributes files and folders in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)
