"""Valid prefixes of topic names: one rule for options, files and topologies."""

from __future__ import annotations

import re

_PREFIX = re.compile(r"[A-Za-z0-9._-]{0,200}")  # leaves room for the topic's kind
PREFIX_RULE = "Kafka allows letters, digits, '.', '_' and '-', and Hopline up to 200 characters."


def is_prefix(text: str) -> bool:
    """Return whether a topic's name can begin with a string."""
    return _PREFIX.fullmatch(text) is not None
