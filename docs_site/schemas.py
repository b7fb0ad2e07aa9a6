"""A page for each Avro schema: its fields, the types within it, and its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docs_site.page import Page, block, code, escaped, table
from streams.resources import schemas_dir
from streams.schema import NAMES, load

FOLDER = "reference/schemas"
_INDEX = """\
# Avro schemas

The contents of each record and header. Records carry the fingerprint of their schema
([single-object encoding](../../kafka_mapping.md#the-envelope)). A
[separate section](../../kafka_mapping.md#schemas-that-change) explains how schemas may change.

"""


def pages() -> Iterator[Page]:
    """Yield the list of schemas, and a page for each."""
    rows = [(f"[{name}]({name}.md)", escaped(load(name).get("doc", ""))) for name in sorted(NAMES)]
    yield Page(f"{FOLDER}/index.md", _INDEX + table(("schema", ""), rows), "", ("schemas",))
    for name in sorted(NAMES):
        yield Page(f"{FOLDER}/{name}.md", _text(name), "", (f"schemas/{name}.avsc",))


def _text(name: str) -> str:
    schema = load(name)
    lines = [f"# {name}", "", escaped(schema.get("doc", "")), "", f"`{_full(schema)}`", ""]
    lines.append(_fields(schema))
    for inner in _records(schema):
        lines += [f"## {inner['name']}", "", escaped(inner.get("doc", "")), "", _fields(inner)]
    text = (schemas_dir() / f"{name}.avsc").read_text(encoding="utf-8")
    return "\n".join([*lines, "## Text", "", block(text, "json")])


def _full(schema: dict[str, Any]) -> str:
    namespace = schema.get("namespace")
    return f"{namespace}.{schema['name']}" if namespace else str(schema["name"])


def _fields(schema: dict[str, Any]) -> str:
    rows = [
        (
            code(field["name"]),
            escaped(_type(field["type"])),
            escaped(f"Default {_value(field['default'])}. " if "default" in field else "")
            + escaped(field.get("doc", "")),
        )
        for field in schema["fields"]
    ]
    return table(("field", "type", ""), rows)


def _value(default: Any) -> str:
    return {None: "null", False: "false", True: "true", "": "empty"}.get(
        default if isinstance(default, str | bool | None) else "-", str(default)
    )


def _type(schema: Any) -> str:
    """Return a type in words."""
    if isinstance(schema, str):
        return schema
    if isinstance(schema, list):
        return " or ".join(_type(one) for one in schema)
    kind = schema["type"]
    if kind == "array":
        return f"array of {_type(schema['items'])}"
    if kind == "map":
        return f"map of {_type(schema['values'])}"
    if kind == "enum":
        return "one of " + ", ".join(schema["symbols"])
    if kind == "fixed":
        return f"{schema['size']} bytes"
    return str(schema.get("name", schema.get("logicalType", kind)))


def _records(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the records that are defined within a schema."""
    if isinstance(schema, list):
        for one in schema:
            yield from _records(one)
    elif isinstance(schema, dict):
        for part in (field["type"] for field in schema.get("fields", ())):
            yield from _with_itself(part)
        yield from _with_itself(schema.get("items") or schema.get("values"))


def _with_itself(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict) and schema.get("type") == "record":
        yield schema
    yield from _records(schema)
