"""What became of every message: the ledger, from data read back from Kafka."""

from streams.report.facts import Accepted, Delivered, Ending, Endpoint, Missing, Side
from streams.report.ledger import Ledger, balance
from streams.report.read import Facts, read_dialogs, read_facts
from streams.report.reasons import DISCARDED, WAITING, Endings, Outcome

__all__ = [
    "DISCARDED",
    "WAITING",
    "Accepted",
    "Delivered",
    "Ending",
    "Endings",
    "Endpoint",
    "Facts",
    "Ledger",
    "Missing",
    "Outcome",
    "Side",
    "balance",
    "read_dialogs",
    "read_facts",
]
