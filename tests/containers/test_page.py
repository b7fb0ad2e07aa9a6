"""Check what `make faults` writes into docs/faults.md, and that the rest of the page stays."""

from __future__ import annotations

from tests.containers.__main__ import PAGE
from tests.containers.container_faults import GROUPS
from tests.containers.page import BEGIN, faults_of, rewrite
from tests.containers.run import Felt, Outcome
from tests.containers.two_clusters import Border
from tests.faults import page as soak
from tests.faults.verdict import Verdict

ACCOUNT: dict[str, object] = {
    "accepted": 5_400,
    "delivered": 5_399,
    "waiting": {"in a transmission queue": 1},
    "discarded": {},
    "faults": {"lost": 0, "twice": 2},
    "verdict": "2 delivered twice",
}
OUTCOME = Outcome(
    "Every container is killed",
    Verdict(5_400, 200, 0, 0, 0, 0),
    ACCOUNT,
    (Felt(GROUPS[0].faults[0], 12.34), Felt(GROUPS[0].faults[-1], 5.0)),
)


def test_the_tables_say_what_was_seen() -> None:
    page = rewrite(f"before\n{BEGIN}\nold\n<!-- end -->\nafter", [OUTCOME], None)
    assert page.startswith(f"before\n{BEGIN}\n| run |") and page.endswith("\n<!-- end -->\nafter")
    assert "old" not in page
    rows = page.splitlines()
    assert (
        "| Every container is killed | 5,400 | 5,399 | 0 | 2 | 1 | 0 | 2 delivered twice |" in rows
    )
    assert "| kafka | killed with SIGKILL, started after 2 s | 12.3 s |" in rows
    assert "| postgres (figures) | killed with SIGKILL, started after 2 s | 5.0 s |" in rows
    assert faults_of(ACCOUNT) == {"twice": 2}


def test_each_of_the_two_suites_writes_its_own_part_of_the_page() -> None:
    text = PAGE.read_text("utf-8")
    ours = rewrite(text, [OUTCOME], Border(3, 2, 1, 4.5, ACCOUNT))
    assert "cut for 80 s; 3 messages buffered" in ours
    assert ours.partition(BEGIN)[0] == text.partition(BEGIN)[0]
    theirs = soak.rewrite(text, [], soak.Terms(1.0, 1, 1.0))
    assert theirs.partition(BEGIN)[2] == text.partition(BEGIN)[2]
