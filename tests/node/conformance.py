"""The parts of ``docs/conformance.md`` that are made from the tests of forwarding and dialogs."""

from __future__ import annotations

from tests.conformance.evidence import evidence
from tests.conformance.page import table
from tests.services.rulings import SERVICES
from tests.topology.rulings import DDL, RESTORE

from .codes import CODES
from .rulings import DIALOGS, FORWARDING

BLOCKS = {
    "forwarding": FORWARDING,
    "dialogs": DIALOGS,
    "codes": CODES,
    "ddl": DDL,
    "restore": RESTORE,
    "services": SERVICES,
}
LETTERS = {
    "forwarding": "`F`: rules of a forwarder.",
    "dialogs": "`D`: rules of a dialog: 1 reception, 2 transmission, 3 the lock, 4 states, "
    "5 closed endpoints, 6 statements, 7 transactions, 8 other features.",
    "codes": "Codes of Error messages: minus the number in `sys.messages`, or positive codes of "
    "applications.",
    "ddl": "`L`: DDL that SQL Server refuses. `import`, `check`, `apply` and `sql` report it with "
    "the number in `sys.messages` (TA-20, TA-31).",
    "restore": "`T`: RESTORE, attached databases, and ALTER DATABASE.",
    "services": "`P`: rules of mirrored pairs and listeners. `N`: rules of the Broker "
    "Configuration Notice. `S`: rules of data-dependent routing.",
}


def generated(name: str) -> str:
    """Return one block of the page."""
    rules = table(
        ("rule", "in words", "verdict", "sources", "shown by"),
        (
            (r.id, r.words, r.verdict, r.sources, "<br>".join(evidence().get(r.id, ())))
            for r in BLOCKS[name]
        ),
    )
    return f"{LETTERS[name]}\n\n{rules}"
