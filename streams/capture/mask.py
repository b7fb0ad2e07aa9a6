"""Rules by which bodies are masked, so that personal data need not travel to a test system.

A value keeps its shape: letters become ``x`` or ``X``, digits ``0``, everything else stays. So what
is well-formed stays well-formed, and a test still sees a name where a name was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from streams.errors import UsageError

ALL = "*"
"""Instead of a message type: every one."""
_TYPED = re.compile(r"(?P<type>.+?)=(?P<rule>[$/~].*)", re.DOTALL)
_STEP = re.compile(r"(\.\.|\.)([^.\[\]]+)|\[(\*|\d+)\]")
_ATTRIBUTE = re.compile(r"(.*)/@([\w{}*:.-]+)")
_MARKS = (b"\xff\xfe", b"\xfe\xff")
_FORM = "Write [TYPE=]$.json.path, [TYPE=]/xpath or [TYPE=]~regular expression."


@dataclass(frozen=True, slots=True)
class Rule:
    """Masks bodies of one message type, or of ``*``.

    ``apply`` raises ValueError for a body that it cannot read.
    """

    type: str
    text: str
    apply: Callable[[bytes], bytes]


def rule_of(text: str) -> Rule:
    """Read ``[TYPE=]RULE``; raises UsageError for what is none."""
    typed = None if text[:1] in "$~" else _TYPED.fullmatch(text)
    type_, rule = (typed["type"], typed["rule"]) if typed else (ALL, text)
    if rule.startswith("~"):
        return Rule(type_, text, _regex(rule[1:]))
    if rule.startswith("$"):
        return Rule(type_, text, _json(rule))
    if rule.startswith("/"):
        return Rule(type_, text, _xml(rule))
    raise UsageError(f"'{text}' is no rule for masking.", _FORM)


def shape(text: str) -> str:
    """Return a text's shape: ``Ada 4711`` is ``Xxx 0000``."""
    return "".join(
        ("X" if c.isupper() else "x") if c.isalpha() else "0" if c.isnumeric() else c for c in text
    )


def _decoded(body: bytes) -> tuple[str, str]:
    """Return a body's text and its encoding; raises ValueError for what is none."""
    encoding = "utf-16" if body.startswith(_MARKS) else "utf-8"
    return body.decode(encoding), encoding


# --- Regular expressions -------------------------------------------------------------------------


def _regex(text: str) -> Callable[[bytes], bytes]:
    try:
        pattern = re.compile(text, re.DOTALL)
    except re.error as error:
        raise UsageError(f"'{text}' is no regular expression: {error}.", _FORM) from None

    def apply(body: bytes) -> bytes:
        said, encoding = _decoded(body)
        return pattern.sub(_shaped, said).encode(encoding)

    return apply


def _shaped(match: re.Match[str]) -> str:
    """Return a match with its groups masked, or all of it where it has none."""
    if not match.re.groups:
        return shape(match[0])
    said, start = list(match[0]), match.start()
    for group in range(1, match.re.groups + 1):
        begin, end = match.span(group)
        if begin >= 0:
            said[begin - start : end - start] = shape(match[group])
    return "".join(said)


# --- JSON ----------------------------------------------------------------------------------------


def _json(path: str) -> Callable[[bytes], bytes]:
    steps, at = [], 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise UsageError(f"'{path}' is no path of JSON at '{path[at:]}'.", _FORM)
        steps.append((step[1] or "[", step[2] or step[3]))
        at = step.end()
    if not steps:
        raise UsageError(f"'{path}' names nothing.", _FORM)

    def apply(body: bytes) -> bytes:
        said, encoding = _decoded(body)
        try:
            value = json.loads(said)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        for holder, key in list(_places(value, steps)):
            holder[key] = _blank(holder[key])
        return json.dumps(value, ensure_ascii=False).encode(encoding)

    return apply


def _places(value: Any, steps: list[tuple[str, str]]) -> Iterator[tuple[Any, Any]]:
    """Yield what holds each value that a path names, and under which key."""
    (how, name), *rest = steps
    if how == "..":
        for holder, key in _members(value):
            if key == name:
                yield from _beyond(holder, key, rest)
            yield from _places(holder[key], steps)
        return
    for holder, key in _members(value):
        wanted = key == name if how == "." else name in (ALL, str(key))
        if wanted and isinstance(holder, dict) == (how == "."):
            yield from _beyond(holder, key, rest)


def _beyond(holder: Any, key: Any, rest: list[tuple[str, str]]) -> Iterator[tuple[Any, Any]]:
    if rest:
        yield from _places(holder[key], rest)
    else:
        yield holder, key


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        yield from ((value, key) for key in list(value))
    elif isinstance(value, list):
        yield from ((value, n) for n in range(len(value)))


def _blank(value: Any) -> Any:
    """Return a value with everything in it masked."""
    if isinstance(value, str):
        return shape(value)
    if isinstance(value, bool):
        return False
    if isinstance(value, (int, float)):
        return 0
    if isinstance(value, list):
        return [_blank(one) for one in value]
    if isinstance(value, dict):
        return {key: _blank(one) for key, one in value.items()}
    return value


# --- XML -----------------------------------------------------------------------------------------


def _xml(path: str) -> Callable[[bytes], bytes]:
    found = _ATTRIBUTE.fullmatch(path)
    elements, attribute = (found[1], found[2]) if found else (path, None)
    try:
        ElementTree.Element("all").findall(f".{elements}")
    except (SyntaxError, KeyError, TypeError, IndexError):
        raise UsageError(f"'{path}' is no path that is understood.", _FORM) from None

    def apply(body: bytes) -> bytes:
        try:
            root = ElementTree.fromstring(body)
        except (ElementTree.ParseError, LookupError) as error:
            raise ValueError(str(error)) from None
        around = ElementTree.Element("all")
        around.append(root)
        for element in around.findall(f".{elements}"):
            _blank_element(element, attribute)
        said = ElementTree.tostring(root, encoding="unicode")
        return said.encode("utf-16" if body.startswith(_MARKS) else "utf-8")

    return apply


def _blank_element(element: ElementTree.Element, attribute: str | None) -> None:
    if attribute is not None:
        if attribute in element.attrib:
            element.set(attribute, shape(element.attrib[attribute]))
        return
    for inner in element.iter():
        inner.text = shape(inner.text or "") or None
        if inner is not element:
            inner.tail = shape(inner.tail or "") or None
        for name, value in inner.attrib.items():
            inner.set(name, shape(value))
