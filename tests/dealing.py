"""How tests are dealt to several processes: by files, and what takes longest first.

``make test`` runs two processes (`pytest -n 2 --dist loadfile`), each with a broker of its own. The
tests of a file share what is dear to make, so they stay together; so does all that shares a Spark
session. A process that begins something long when the other one has nothing left would be waited
for: hence the order. `pytest tests/x` knows nothing of this.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

LONGEST = (
    "tests/simulator/test_explore.py",
    "tests/mutants/test_mutants.py",
    "tests/demo/test_demo.py",
    "tests/parity/test_parity.py",
    "tests/monitor/",
)
"""Files, or folders that stay together, that take more than 30 seconds; the longest first."""


def share_of(test: str) -> str:
    """Return what a test, given by its node id, stays together with: a file, or a folder."""
    file = test.partition("::")[0]
    return next((f for f in LONGEST if f.endswith("/") and file.startswith(f)), file)


def rank(test: str) -> int:
    """Return when a test begins: a lower rank is earlier."""
    share = share_of(test)
    return LONGEST.index(share) if share in LONGEST else len(LONGEST)


class ByFile(LoadScopeScheduling):
    """Deals the files in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid)
