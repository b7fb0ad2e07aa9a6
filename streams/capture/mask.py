"""Mask bodies by rules, so that personal data does not leave the system.

A value keeps its shape: letters become ``x`` or ``X``, digits become ``0``, and all other
characters stay. So well-formed bodies stay well-formed, and keep their structure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from xml.etree import ElementTree

from streams.errors import UsageError
from streams.prose import clipped
from streams.xml_reader import read_xml

ALL = "*"
"""The wildcard for all message types."""
_TYPED = re.compile(r"(?P<type>.+?)=(?P<rule>[$/~].*)", re.DOTALL)
_STEP = re.compile(r"(\.\.|\.)([^.\[\]]+)|\[(\*|\d+)\]")
_ATTRIBUTE = re.compile(r"(.*)/@(\{[^}]*\})?([\w.-]+)")
_NAME = re.compile(r"""('[^']*'|"[^"]*"|\{[^}]*\}[\w.-]+|@[\w.-]+)|([^\W\d][\w.-]*)(?!:)""")
_MARKS = (b"\xff\xfe", b"\xfe\xff")
_FORM = "Write [TYPE=]$.json.path, [TYPE=]/xpath or [TYPE=]~regular expression."


class Masked(NamedTuple):
    """A body after a rule was applied: the same object if nothing was masked."""

    body: bytes
    found: int
    """The number of values that the rule matched."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Mask bodies of one message type, or of ``*``.

    ``apply`` raises ValueError for an unreadable body.
    """

    type: str
    text: str
    apply: Callable[[bytes], Masked]


def rule_of(text: str) -> Rule:
    """Parse ``[TYPE=]RULE``; raise UsageError if invalid."""
    typed = None if text[:1] in "$~" else _TYPED.fullmatch(text)
    type_, rule = (typed["type"], typed["rule"]) if typed else (ALL, text)
    if rule.startswith("~"):
        return Rule(type_, text, _regex(rule[1:]))
    if rule.startswith("$"):
        return Rule(type_, text, _json(rule))
    if rule.startswith("/"):
        return Rule(type_, text, _xml(rule))
    raise UsageError(f"'{text}' is not a masking rule.", _FORM)


def shape(text: str) -> str:
    """Return a text's shape: ``Ada 4711`` is ``Xxx 0000``."""
    return "".join(
        ("X" if c.isupper() else "x") if c.isalpha() else "0" if c.isnumeric() else c for c in text
    )


def _decoded(body: bytes) -> tuple[str, str]:
    """Return a body's text and its encoding; raise ValueError if it is not text."""
    encoding = "utf-16" if body.startswith(_MARKS) else "utf-8"
    return body.decode(encoding), encoding


# --- Regular expressions -------------------------------------------------------------------------


def _regex(text: str) -> Callable[[bytes], Masked]:
    try:
        pattern = re.compile(text, re.DOTALL)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        # ValueError: Python does not convert numbers of more than 4,300 digits.
        why = f"'{clipped(text)}' is not a valid regular expression: {error}."
        raise UsageError(why, _FORM) from None

    def apply(body: bytes) -> Masked:
        text, encoding = _decoded(body)
        pieces: list[str] = []
        done = found = 0
        for begin, end in _spans(pattern, text):
            pieces += (text[done:begin], shape(text[begin:end]))
            done, found = end, found + 1
        masked = "".join((*pieces, text[done:]))
        return Masked(masked.encode(encoding) if found else body, found)

    return apply


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans to mask, in order: the pattern's groups, or its matches if it has no groups.

    Groups may be nested; a masked part is not masked again.
    """
    done = 0
    for match in pattern.finditer(text):
        groups = range(1, pattern.groups + 1) if pattern.groups else (0,)
        for begin, end in sorted(map(match.span, groups), key=lambda span: (span[0], -span[1])):
            begin = max(begin, done)
            if begin < end:
                yield begin, end
                done = end


# --- JSON ----------------------------------------------------------------------------------------


def _json(path: str) -> Callable[[bytes], Masked]:
    steps, at = [], 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise UsageError(f"'{path}' is not a valid JSON path at '{path[at:]}'.", _FORM)
        steps.append((step[1] or "[", step[2] or step[3]))
        at = step.end()
    if not steps:
        raise UsageError(f"'{path}' does not name a value.", _FORM)

    def apply(body: bytes) -> Masked:
        text, encoding = _decoded(body)
        try:
            value = json.loads(text)
            places = list(_places(value, steps))
            for holder, key in places:
                holder[key] = _blank(holder[key])
            if not places:
                return Masked(body, 0)
            masked = json.dumps(value, ensure_ascii=False).encode(encoding)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        return Masked(masked, len(places))

    return apply


def _places(value: Any, steps: list[tuple[str, str]]) -> Iterator[tuple[Any, Any]]:
    """Yield the container and key of each value on a path."""
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
    """Return a value in which all texts and numbers are masked."""
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


def _xml(path: str) -> Callable[[bytes], Masked]:
    found = _ATTRIBUTE.fullmatch(path)
    elements, space, attribute = found.groups() if found else (path, None, None)
    wanted = _in_any_namespace(f".{elements}")
    try:
        ElementTree.Element("all").findall(wanted)
    except (SyntaxError, KeyError, TypeError, IndexError, ValueError, RecursionError):
        raise UsageError(f"'{path}' is not a supported path.", _FORM) from None

    def apply(body: bytes) -> Masked:
        root = read_xml(body)
        around = ElementTree.Element("all")
        around.append(root)
        masked = sum([mask(element) for element in around.findall(wanted)])
        if not masked:
            return Masked(body, 0)
        text = ElementTree.tostring(root, encoding="unicode")
        return Masked(text.encode("utf-16" if body.startswith(_MARKS) else "utf-8"), masked)

    def mask(element: ElementTree.Element) -> int:
        if attribute is None:
            return _blank_element(element)
        return _blank_attributes(element, space, attribute)

    return apply


def _in_any_namespace(path: str) -> str:
    """Return a path whose names without a namespace match in any namespace, even a default one."""
    return _NAME.sub(lambda found: found[1] or f"{{*}}{found[2]}", path)


def _blank_element(element: ElementTree.Element) -> int:
    for inner in element.iter():
        inner.text = shape(inner.text or "") or None
        if inner is not element:
            inner.tail = shape(inner.tail or "") or None
        for name, value in inner.attrib.items():
            inner.set(name, shape(value))
    return 1


def _blank_attributes(element: ElementTree.Element, space: str | None, wanted: str) -> int:
    """Mask an element's attributes with a local name, in one or all namespaces.

    Returns the number of masked attributes.
    """
    names = [
        name
        for name in element.attrib
        if name.rpartition("}")[2] == wanted and space in (None, "{*}", name[: -len(wanted)])
    ]
    for name in names:
        element.set(name, shape(element.attrib[name]))
    return len(names)
