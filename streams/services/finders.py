"""Find the text in a body that selects its service: by XPath, JMESPath, or an Avro field.

Each function takes the configuration, raises ValueError if it is invalid, and returns a function.
The returned function takes a body, and raises an error or returns ``None`` if nothing is found.
"""

from __future__ import annotations

import importlib.metadata
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from streams.schema.bounded import is_bounded
from streams.xml_reader import parse_xml

Finder = Callable[[bytes], str | None]
_SINGLE_OBJECT = b"\xc3\x01"
"""The marker of Avro's single-object encoding; the schema's 8-byte fingerprint follows."""


def find_by_xpath(expression: str, namespaces: Mapping[str, str]) -> Finder:
    """Return the text of the first item that an XPath 2.0 expression selects in an XML body.

    A document with a type declaration is rejected, so that no entity is ever read.
    """
    from elementpath import ElementPathError, Selector  # rarely needed, and slow to import

    try:
        Selector(expression, dict(namespaces))
        first = Selector(f"string(({expression})[1])", dict(namespaces))
    except ElementPathError as error:
        raise ValueError(str(error)) from error

    def find(body: bytes) -> str | None:
        root = parse_xml(body)
        found = None if root is None else first.select(root)
        return found if isinstance(found, str) and found else None

    return find


def find_by_jmespath(expression: str) -> Finder:
    """Return the text or whole number that a JMESPath expression finds in a JSON body."""
    import jmespath

    compiled = jmespath.compile(expression)  # errors of jmespath are ValueErrors
    return lambda body: _text(compiled.search(json.loads(body)))


def find_in_avro(field: str, schema: Path) -> Finder:
    """Return a field of an Avro body (``a.b`` for nested records) by the schema in a file.

    A body is in single-object encoding with exactly this schema, or is the bare bytes of a record.
    """
    import fastavro
    from fastavro.schema import SchemaParseException, fingerprint, to_parsing_canonical_form

    try:
        read = json.loads(schema.read_bytes())
        parsed = fastavro.parse_schema(read)
        digest = fingerprint(to_parsing_canonical_form(read), "CRC-64-AVRO")
        _demand_field(read, field)
        if not is_bounded(read):
            raise ValueError(f"{schema}: its bodies can expand to more memory than their size")
    except (OSError, SchemaParseException, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{schema}: {error}") from error
    prefix = _SINGLE_OBJECT + bytes.fromhex(digest)

    def find(body: bytes) -> str | None:
        if body.startswith(_SINGLE_OBJECT) and not body.startswith(prefix):
            raise ValueError("a record of another schema")
        buffer = io.BytesIO(body.removeprefix(prefix))
        found: Any = fastavro.schemaless_reader(buffer, parsed, None)
        for name in field.split("."):
            found = found[name]
        return _text(found)

    return find


def find_by_function(named: str) -> Finder:
    """Return a user function, MODULE:FUNCTION."""
    point = importlib.metadata.EntryPoint("classifier", named, "hopline")
    try:
        found: Finder = point.load()
    except Exception as error:  # a module can raise anything when it is imported
        raise ValueError(f"{type(error).__name__}: {error}") from error
    return found


def _text(found: object) -> str | None:
    """Return a found text or whole number as text; ``None`` for any other value."""
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    return found if isinstance(found, str) and found else None


def _demand_field(schema: Any, path: str) -> None:
    """Raise ValueError if the outermost record has no such field."""
    names = [each["name"] for each in schema["fields"]]
    first = path.split(".")[0]
    if first not in names:
        raise ValueError(f"it has no field {first}; its fields: {', '.join(names)}")
