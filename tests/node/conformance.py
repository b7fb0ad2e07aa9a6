"""The parts of ``docs/conformance.md`` that are made from the tests of forwarding and dialogs."""

from __future__ import annotations

from tests.conformance.evidence import evidence
from tests.conformance.page import table
from tests.services.rulings import SERVICES

from .rulings import DIALOGS, FORWARDING

BLOCKS = {"forwarding": FORWARDING, "dialogs": DIALOGS, "services": SERVICES}
LETTERS = {
    "forwarding": "`F` are the rules of a forwarder.",
    "dialogs": "`D` are the rules of a dialog: 1 reception, 2 transmission, 3 the lock, 4 states, "
    "5 closed endpoints, 6 statements, 7 transactions, 8 what is missing.",
    "services": "`P` are the rules of mirrored pairs and listeners, `N` those of the Broker "
    "Configuration Notice, `S` those of data-dependent routing.",
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
