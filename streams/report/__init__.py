"""The ledger: the outcome of every message, from data read back from Kafka."""

from streams.report.balance import balance
from streams.report.begins import Begins
from streams.report.facts import (
    ALWAYS,
    Accepted,
    Delivered,
    Ending,
    EndpointKey,
    Missing,
    Side,
    Span,
)
from streams.report.gather import Facts
from streams.report.ledger import Fault, Ledger
from streams.report.read import read_facts
from streams.report.reasons import DISCARDED, WAITING, Endings, Fate

__all__ = [
    "ALWAYS",
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
    "Fault",
    "Ledger",
    "Missing",
    "Side",
    "Span",
    "balance",
    "read_facts",
]
