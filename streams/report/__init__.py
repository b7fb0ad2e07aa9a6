"""What became of every message: the ledger, from data read back from Kafka."""

from streams.report.ledger import Accepted, Delivered, Ledger, Missing, Side, balance
from streams.report.read import Facts, read_dialogs, read_facts

__all__ = [
    "Accepted",
    "Delivered",
    "Facts",
    "Ledger",
    "Missing",
    "Side",
    "balance",
    "read_dialogs",
    "read_facts",
]
