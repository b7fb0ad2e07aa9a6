"""How tests are dealt to several processes: by files, and what takes longest first.

``make test`` runs three processes (`pytest -n 3 --dist loadfile`), each with a broker of its own.
The tests of a file share what is dear to make, so they stay together, and so do those of a folder
that share a Spark session, a browser or a guarded broker. A process that begins something long when
the others have nothing left would be waited for: hence the order. `pytest tests/x` knows nothing of
this.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

FOLDERS = ("tests/dashboard/", "tests/monitor/", "tests/security/")
"""Those that stay together."""

LONGEST = (
    "tests/simulator/test_explore.py",
    "tests/mutants/test_mutants.py",
    "tests/monitor/",
    "tests/demo/test_demo.py",
    "tests/parity/test_parity.py",
    "tests/dashboard/",
    "tests/security/",
)
"""What takes longer than a minute, the longest first."""


def share_of(test: str) -> str:
    """Return what a test, given by its node id, stays together with: a file, or a folder."""
    file = test.partition("::")[0]
    return next((folder for folder in FOLDERS if file.startswith(folder)), file)


def rank(test: str) -> int:
    """Return when a test begins: the lower, the earlier."""
    share = share_of(test)
    return LONGEST.index(share) if share in LONGEST else len(LONGEST)


class ByFile(LoadScopeScheduling):
    """Deals files and folders in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid)
