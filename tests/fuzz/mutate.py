"""Mutate real inputs from a seed: bytes, words, lines, JSON values, parts of records."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from streams.chance import Chance

NUMBERS = (0, 1, -1, 2, 255, 2**31 - 1, -(2**31), 2**31, 2**53, 2**63 - 1, -(2**63), 2**63, 10**30)
TEXTS = (
    "", " ", "x", "NULL", "null", "true", "-1", "1e400", "NaN", "0x", "9" * 5_000, "x" * 20_000,
    "\x00", "\ud800", "\ufeff\u202e", "\U0001f4a3" * 64, "../../etc", "a/b/c", "%", "%zz",
    "{}", "[", "tcp://", "tcp://h:99999", "tcp://[::1", "0001-01-01T00:00:00+14:00", "'", '"',
    "9999-12-31T23:59:59-14:00", "2026-02-30", "00000000-0000-0000-0000-000000000000", "a" * 257,
    "]]>", "<!DOCTYPE a>",
)  # fmt: skip
PIECES = (
    b"", b"\x00", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"\r\n", b"\t", b",",
    b";", b'"', b"'", b"<", b">", b"</", b"&", b"&#0;", b"&a;", b"]]>", b"<!--", b"{", b"}", b"[",
    b"]", b":", b"#", b"*a", b"&a ", b"!!python/object:x ", b"<<: ", b"---\n", b"%", b"\xc3\x01",
    b"\x80" * 9 + b"\x01", b"\xff" * 10, b"\xfe\xff\xff\xff\x0f", b"\x02" * 64, b"[" * 3_000,
    b'{"a":' * 3_000, b"<a>" * 3_000, b"(" * 3_000, b"- " * 3_000, b"/*" * 300, b"9" * 5_000,
    b"PAR1", b"Obj\x01",
)  # fmt: skip
_WORD = re.compile(rb"[A-Za-z_]+|[0-9]+|\s+|.", re.DOTALL)
_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?")
_LARGEST = 300_000
"""Bytes of an input: what grows in every round would only take time."""


def mutated(chance: Chance, seeds: Sequence[bytes]) -> bytes:
    """Return one of the inputs, changed in one to six places."""
    data = chance.pick(seeds)
    for _ in range(1 + chance.below(6)):
        data = chance.pick(_WAYS)(chance, data, seeds)[:_LARGEST]
    return data


# --- bytes ---------------------------------------------------------------------------------------


def _flipped(chance: Chance, data: bytes, _: Sequence[bytes]) -> bytes:
    at = chance.below(len(data) + 1)
    return data[:at] + bytes([chance.below(256)]) + data[at + 1 :]


def _cut(chance: Chance, data: bytes, _: Sequence[bytes]) -> bytes:
    at, end = sorted((chance.below(len(data) + 1), chance.below(len(data) + 1)))
    return data[:at] if chance.once_in(4) else data[:at] + data[end:]


def _repeated(chance: Chance, data: bytes, _: Sequence[bytes]) -> bytes:
    at = chance.below(len(data) + 1)
    end = at + 1 + chance.below(64)
    return data[:at] + data[at:end] * (2 + chance.below(20)) + data[end:]


def _put(chance: Chance, data: bytes, _: Sequence[bytes]) -> bytes:
    at = chance.below(len(data) + 1)
    return data[:at] + chance.pick(PIECES) + data[at + chance.below(3) :]


def _spliced(chance: Chance, data: bytes, seeds: Sequence[bytes]) -> bytes:
    other = chance.pick(seeds)
    return data[: chance.below(len(data) + 1)] + other[chance.below(len(other) + 1) :]


# --- words, numbers, lines -----------------------------------------------------------------------


def _word(chance: Chance, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Put another word in the place of one: of any input, or one that is extreme."""
    words, others = _WORD.findall(data[:20_000]), _WORD.findall(chance.pick(seeds)[:20_000])
    if not words:
        return data
    text = chance.pick(TEXTS).encode("utf-8", "surrogatepass")
    at = chance.below(len(words))
    words[at] = chance.pick(others) if others and not chance.once_in(3) else text
    return b"".join(words) + data[20_000:]


def _number(chance: Chance, data: bytes, _: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(data, 0, 20_000))
    if not found:
        return data
    at = chance.pick(found)
    return data[: at.start()] + str(chance.pick(NUMBERS)).encode() + data[at.end() :]


def _lines(chance: Chance, data: bytes, seeds: Sequence[bytes]) -> bytes:
    lines, others = data.split(b"\n"), chance.pick(seeds).split(b"\n")
    at = chance.below(len(lines))
    match chance.below(4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, chance.pick(others))
        case 2:
            lines.insert(at, lines[chance.below(len(lines))])
        case _:
            lines[at] = b" " * chance.below(9) + lines[at].lstrip()
    return b"\n".join(lines)


# --- JSON ----------------------------------------------------------------------------------------


def _json(chance: Chance, data: bytes, _: Sequence[bytes]) -> bytes:
    """Change a value somewhere in a JSON text; leave what is none as it is."""
    with suppress(ValueError, RecursionError):
        found = json.loads(data)
        if isinstance(found, (dict, list)):
            _change(chance, found)
            return json.dumps(found).encode()
    return data


def _change(chance: Chance, found: Any) -> None:
    while True:
        places = list(found) if isinstance(found, dict) else list(range(len(found)))
        if not places:
            return
        at = chance.pick(places)
        if isinstance(found[at], (dict, list)) and found[at] and not chance.once_in(6):
            found = found[at]
            continue
        match chance.below(4):
            case 0 if isinstance(found, dict):
                found[chance.pick(TEXTS)] = found.pop(at)
            case 1:
                del found[at]
            case 2:
                found[at] = _nested(chance, found[at])
            case _:
                found[at] = _value(chance)
        return


def _value(chance: Chance) -> Any:
    scalars = (None, True, False, 0.5, float("inf"), float("nan"))
    return chance.pick((*NUMBERS, *TEXTS, *scalars, [], {}, [[]], {"a": None}))


def _nested(chance: Chance, value: Any) -> Any:
    for _ in range(chance.pick((1, 1, 2, 50, 200))):
        value = [value] if chance.once_in(2) else {"a": value}
    return value


# --- records of several parts ---------------------------------------------------------------------


def joined(parts: Sequence[bytes]) -> bytes:
    """Return some bytes as one input; :func:`parts_of` is the way back."""
    return b"".join(len(part).to_bytes(3, "big") + part for part in parts)


def parts_of(data: bytes) -> list[bytes]:
    """Return the parts of any input; one that is mutated has some, too."""
    found, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 3], "big")
        found.append(data[at + 3 : at + 3 + size])
        at += 3 + size
    return found


def _part(chance: Chance, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Change a part by itself, so that the others stay what they are."""
    parts, others = parts_of(data), parts_of(chance.pick(seeds))
    if len(parts) < 2 or joined(parts) != data:
        return data
    at = chance.below(len(parts))
    match chance.below(5):
        case 0 if others:
            parts[at] = chance.pick(others)
        case 1:
            del parts[at]
        case 2:
            parts.insert(at, parts[chance.below(len(parts))])
        case _:
            parts[at] = chance.pick(_BYTES)(chance, parts[at], seeds)
    return joined(parts)


_BYTES = (_flipped, _flipped, _cut, _repeated, _put, _word, _number, _json)
_WAYS = (*_BYTES, _spliced, _lines, _json, _part, _part, _part)
