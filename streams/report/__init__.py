"""What became of every message: the ledger, from data read back from Kafka."""

from streams.report.begins import Begins
from streams.report.facts import Accepted, Delivered, Ending, EndpointKey, Missing, Side
from streams.report.ledger import Ledger, balance
from streams.report.read import Facts, read_dialogs, read_facts
from streams.report.reasons import DISCARDED, WAITING, Endings, Fate

__all__ = [
    "DISCARDED",
    "WAITING",
    "Accepted",
    "Begins",
    "Delivered",
    "Ending",
    "Endings",
    "EndpointKey",
    "Facts",
    "Fate",
    "Ledger",
    "Missing",
    "Side",
    "balance",
    "read_dialogs",
    "read_facts",
]
