"""Text for users has the terms of Kafka and Service Broker, not the terms that these replaced.

The test checks pages, alerts, Grafana's dashboard, schemas, Hopline's own dashboard, and every
sentence among the strings of the package: help, messages, log lines, metrics, findings and
docstrings. Names in backticks are published and stay.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
INSTEAD = {
    r"signs? of life": "heartbeat",
    r"ways?": "path; route only for CREATE ROUTE",
    r"superfluous": "duplicate, retry or redelivery",
    r"under way": "delivery attempt, in flight",
    r"keepers?": "supervisor",
    r"tenures?|tenants?": "pair ownership, slot owner",
    r"said|speaks|spoken|heard": "received, read",
    r"told": "reported, issued",
    r"foretells?|foretelling|foretold": "predict",
    r"who is the principal": "which partner is the principal",
    r"held": "buffered in memory",
    r"dealt|gives? away|given away|lets? go": "assigned, revoked",
    r"stranded": "has lost all brokers",
    r"nobody|somebody|whoever": "the actor: a worker, any consumer",
    r"(?:copy|message) costs": "CPU per message, µs",
    r"machine's minute|busy hour": "a loaded machine",
    r"stands|lies": "is stored, is",
    r"begun here": "sent from this instance",
    r"what became of": "message audit",
    r"where it may be": "nothing lost or duplicated",
    r"amiss|shows what is": "ok, no findings",
}
"""Former words, as regular expressions, and what to write instead.

Two more are too common for a test, *goes* and *comes* of data; *slot* is the name of an option.
"""

ALLOWED = {
    "two-way": "an exchange in both directions",
    "three-way": "a handshake of three messages",
    "(?:both|this|three|two|four|other) ways?": "a manner or a direction, not a path",
    "(?:the )?same way": "a manner, not a path",
    "by way of": "by means of",
    "held back": "the published state of statements behind one that no worker can read",
    r"\*held\*": "the glossary names the word of the code",
    "notifies nobody": "the meaning of WITH CLEANUP",
    "stands (?:for|by)": "represents; is a standby",
    "speaks another protocol": "two sides speak a protocol",
}
"""Phrases in which a former word is right, and why."""

PAGES = ("*.md", "docs/**/*.md", "topologies/**/*.md", "streams/**/*.md", ".github/**/*.md")
SETTINGS = ("deploy/**/*.yml", "deploy/**/*.json", "docker-compose.yml", ".env")
TEMPLATES = "streams/dashboard/templates/**/*.html"
_CODE = re.compile(r"``[^`]+``|`[^`]+`|\]\([^)\s]*")
"""Code within a sentence, and the target of a link."""
_MARKUP = re.compile(r"\{[{%#].*?[}%#]\}|<[^>]*>", re.DOTALL)
_ANY = re.compile(rf"(?<![\w-])(?:{'|'.join(INSTEAD)})(?![\w-])", re.IGNORECASE)
_SQL = re.compile(r"\s*(?:SELECT|INSERT|CREATE|WITH|CASE|PRAGMA)\b")


def sentences() -> Iterator[tuple[str, str]]:
    """Yield place and text."""
    for pattern in (*PAGES, *SETTINGS):
        for path in sorted(ROOT.glob(pattern)):
            yield f"{path.relative_to(ROOT)}", path.read_text(encoding="utf-8")
    for path in sorted(ROOT.glob(TEMPLATES)):
        yield f"{path.relative_to(ROOT)}", _MARKUP.sub(" ", path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "schemas").glob("*.avsc")):
        for text in documented(json.loads(path.read_text(encoding="utf-8"))):
            yield f"{path.relative_to(ROOT)}", text
    for path in sorted((ROOT / "streams").rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for node in (each for each in nodes if isinstance(each, ast.Constant)):
            value = node.value
            if isinstance(value, str) and " " in value.strip() and not _SQL.match(value):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", value


def documented(schema: Any) -> Iterator[str]:
    """Yield the sentences of a schema."""
    if isinstance(schema, dict):
        yield from (text for text in (schema.get("doc"),) if text)
        schema = list(schema.values())
    if isinstance(schema, list):
        for each in schema:
            yield from documented(each)


def prose(text: str) -> str:
    """Return a text without its code, as one line."""
    kept = []
    fenced = indented = False
    before = ""
    for line in cleandoc(text).splitlines():
        is_fence = line.lstrip().startswith("```")
        fenced ^= is_fence
        indented = line.startswith("    ") and (indented or not before.strip())
        if not (fenced or indented or is_fence):
            kept.append(line)
        before = line
    return _CODE.sub(" ", " ".join(kept))


@cache
def all_prose() -> tuple[tuple[str, str], ...]:
    """Return place and prose of every text: all modules are parsed for it, once."""
    return tuple((where, prose(text)) for where, text in sentences())


def former(plain: str, where: str = "") -> list[str]:
    """Return the former words of prose, each with its place and what to write."""
    if not _ANY.search(plain):
        return []
    for phrase in ALLOWED:
        plain = re.sub(rf"(?<!\w)(?:{phrase})(?!\w)", "", plain, flags=re.IGNORECASE)
    return [
        f"{where} {plain[max(0, found.start() - 40) : found.end() + 20]!r}: write {instead}"
        for word, instead in INSTEAD.items()
        for found in re.finditer(rf"(?<![\w-])(?:{word})(?![\w-])", plain, re.IGNORECASE)
    ]


def test_no_text_uses_a_former_word() -> None:
    assert [found for where, plain in all_prose() for found in former(plain, where)] == []


def test_every_allowed_phrase_occurs() -> None:
    text = " ".join(plain for _, plain in all_prose())
    assert [phrase for phrase in ALLOWED if not re.search(phrase, text, re.IGNORECASE)] == []


@pytest.mark.parametrize("text", ["A sign\nof life", "its way there", "is *held* and held"])
def test_a_former_word_is_found(text: str) -> None:
    assert len(former(prose(text))) == 1


@pytest.mark.parametrize(
    "text", ["`keeper.log`", "```\nway\n```\n", "x\n\n    its way\n\ny", "a way-up"]
)
def test_code_and_compounds_are_no_text(text: str) -> None:
    assert former(prose(text)) == []
