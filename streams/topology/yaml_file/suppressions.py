"""A suppressions file: a list of {code, subject, reason, until}."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from streams.topology.suppressions import Suppression
from streams.topology.yaml_file.nodes import Node, optional, parse_file

_KEYS = ("code", "subject", "reason", "until")


def load_suppressions(path: Path) -> tuple[Suppression, ...]:
    """Read a suppressions file; raise InputError if its structure is wrong."""
    root = parse_file(path)
    return () if root is None else tuple(_suppression(n) for n in root.items("suppressions"))


def _suppression(node: Node) -> Suppression:
    given = node.fields("a suppression", _KEYS)
    for key in ("code", "reason"):
        if key not in given or given[key].is_null:
            raise node.error(f"a suppression without {key}", f"Add {key}: to it.")
    reason = given["reason"].text("a reason").strip()
    if not reason:
        given["reason"].fail("a reason", "State why the finding is acceptable.")
    subject = optional(given, "subject")
    until = _day(given["until"]) if "until" in given and not given["until"].is_null else None
    return Suppression(given["code"].text("code"), reason, subject or "*", until, node.source)


def _day(node: Node) -> date:
    try:
        return date.fromisoformat(str(node.raw.value))
    except ValueError:
        node.fail("until: the last day, such as 2031-01-31")
