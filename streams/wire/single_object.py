"""Avro single-object encoding: ``C3 01``, then the schema's CRC-64-AVRO fingerprint and the body.

This is the only module that imports fastavro (except for container files of captures). A reader
identifies a schema by its fingerprint. For unknown or undecodable records, only
:class:`MalformedError` is raised, because all input is untrusted.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

import fastavro

from streams.errors import Number
from streams.schema import load
from streams.schema.bounded import is_bounded, longest_name
from streams.wire.bounds import bounds
from streams.wire.packing import packer

Record = dict[str, Any]
MARKER = b"\xc3\x01"
PREFIX_LENGTH = 10
_KEYS = frozenset({"name", "type", "fields", "items", "values", "symbols", "size"})
LARGEST_SCHEMA = 16_384
"""Maximum characters of a schema that is learned; Hopline's largest schema has 4,000."""
MOST_SCHEMAS = 100
"""Maximum number of schemas of a record that are known at a time; parsed, each takes 10 times its
size. Compaction keeps the schemas that were written first at the start of the catalog, so they are
learned first."""


class MalformedError(Exception):
    """The bytes are invalid; the text contains the reason, and ``number`` is for event 161."""

    def __init__(self, text: str, number: Number = Number.CORRUPTED_HEADER) -> None:
        super().__init__(text)
        self.number = number


class UnknownSchemaError(MalformedError):
    """The fingerprint does not belong to a known schema."""


def read_long(raw: bytes, at: int, longest: int = 10) -> tuple[int, int]:
    """Read an Avro integer of at most ``longest`` bytes; return it and the offset after it.

    Raises ValueError if the integer is longer or its end is missing.
    """
    value = shift = 0
    for end in range(at, min(len(raw), at + longest)):
        byte = raw[end]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), end + 1
        shift += 7
    raise ValueError(f"not a number of at most {longest} bytes")


def canonical_form(schema: Any) -> str:
    """Return a schema as canonical JSON, which contains only what affects the encoding."""
    return str(fastavro.schema.to_parsing_canonical_form(schema))


def prefix_of(schema: Any) -> bytes:
    """Return the ten bytes that begin every record of a schema."""
    return _prefix_of_form(canonical_form(schema))


def _prefix_of_form(form: str) -> bytes:
    digest = fastavro.schema.fingerprint(form, "CRC-64-AVRO")
    return MARKER + bytes.fromhex(digest)


def demand_small(schema: Any) -> None:
    """Raise ValueError for a schema whose canonical form would take much time.

    The canonical form repeats the full name of a type for each use: 100 kB with a namespace of
    60,000 characters have a canonical form of 90 MB.
    """
    text = json.dumps(schema)
    if len(text) + text.count('"') // 2 * longest_name(schema) > 4 * LARGEST_SCHEMA:
        raise ValueError("the names are long")
    if len(text) > LARGEST_SCHEMA:
        raise ValueError(f"more than {LARGEST_SCHEMA:,} characters")


def _demand_known_keys(plain: Any) -> None:
    """Raise ValueError for keys that a canonical form does not have.

    The library does not escape names in it, so a name can contain such keys. It trusts some keys,
    such as ``__named_schemas``, and follows them.
    """
    waiting = [plain]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if unknown := one.keys() - _KEYS:
                raise ValueError(f"unknown key {min(unknown)!r}")
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


class Codec:
    """Encode records in one schema, and decode records in all its announced versions.

    All records in the current schema begin with ``prefix``; ``names`` lists the schema's fields in
    order. Decoded strings are limited to ``longest`` characters, records to ``largest`` bytes.
    """

    def __init__(
        self, name: str, *, longest: int | None = None, largest: int = sys.maxsize
    ) -> None:
        self.name, self.largest = name, largest
        self._excess = bounds(load(name), longest)
        self._schema = fastavro.parse_schema(load(name))
        self.prefix = prefix_of(load(name))
        self.names = tuple(field["name"] for field in load(name)["fields"])
        self._pack = packer(load(name))
        self._writers = {self.prefix: self._schema}

    def announce(self, schema: Any) -> bytes:
        """Learn an older or newer writer's schema; return its prefix.

        Only the canonical form is used, because the fingerprint depends only on it. Schemas with
        the same fingerprint may differ in ``logicalType``, which would change the types of decoded
        values.
        """
        try:
            demand_small(schema)
            form = canonical_form(schema)  # takes most of the time
            prefix, plain = _prefix_of_form(form), json.loads(form)
            if not isinstance(plain, dict) or plain.get("type") != "record":
                raise ValueError("not a record schema")
            _demand_known_keys(plain)
            if not is_bounded(plain, skips=True):
                raise ValueError("values take no bytes, or types nest endlessly")
            if prefix not in self._writers:
                if len(self._writers) >= MOST_SCHEMAS:
                    raise ValueError(f"{MOST_SCHEMAS} schemas of this record are already known")
                self._writers[prefix] = fastavro.parse_schema(plain)
        except Exception as error:  # the library may raise any exception for a hostile schema
            raise MalformedError(f"{self.name}: invalid schema: {error}") from error
        return prefix

    @property
    def known(self) -> tuple[str, ...]:
        """Return the known schemas in :func:`canonical_form`, the schema of this version first."""
        return tuple(map(canonical_form, self._writers.values()))

    def knows(self, raw: bytes | None) -> bool:
        """Return whether the bytes are encoded in a known schema of this record."""
        return raw is not None and raw[:PREFIX_LENGTH] in self._writers

    def encode(self, record: Record) -> bytes:
        """Return a record's bytes; raise ValueError or TypeError if a value does not fit."""
        buffer = io.BytesIO()
        buffer.write(self.prefix)
        fastavro.schemaless_writer(buffer, self._schema, record)
        return buffer.getvalue()

    def pack(self, values: Iterable[Any]) -> bytes:
        """Return the bytes of a record with its values in the order of ``names``."""
        return self.prefix + self._pack(values)

    def packer(self, begin: int, end: int | None = None) -> Callable[[Iterable[Any]], bytes]:
        """Return an encoder for the values of ``names[begin:end]``."""
        return packer(load(self.name), slice(begin, end))

    def decode(self, raw: bytes | None) -> Record:
        """Decode a record of this schema; raises MalformedError if it is invalid."""
        if raw is None or len(raw) < PREFIX_LENGTH or raw[:2] != MARKER:
            raise MalformedError(f"{self.name}: not in Avro single-object encoding")
        writer = self._writers.get(raw[:PREFIX_LENGTH])
        if writer is None:
            raise UnknownSchemaError(f"{self.name}: unknown fingerprint {raw[2:10].hex()}")
        if len(raw) > self.largest:
            raise MalformedError(f"{self.name}: {len(raw):,} bytes, at most {self.largest:,}")
        buffer = io.BytesIO(raw)
        buffer.seek(PREFIX_LENGTH)
        try:
            record = fastavro.schemaless_reader(
                buffer, writer, None if writer is self._schema else self._schema
            )
            excess = self._excess(record) if isinstance(record, dict) else None
        except Exception as error:  # the decoder may raise any exception for hostile bytes
            raise MalformedError(f"{self.name}: {type(error).__name__}: {error}") from error
        if buffer.tell() != len(raw) or not isinstance(record, dict):
            raise MalformedError(f"{self.name}: trailing bytes")
        if excess is not None:
            raise MalformedError(f"{self.name}: {excess} is out of bounds")
        return record
