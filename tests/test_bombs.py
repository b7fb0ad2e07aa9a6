"""Every reader rejects a few bytes that expand to billions, at once and with a clear message."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.errors import InputError
from streams.schema import load
from streams.schema.bounded import is_bounded
from streams.settings import read_settings
from streams.topology import load_offers, load_suppressions
from streams.wire import MalformedError
from streams.wire.items import exceeds
from streams.wire.packing import pack_long
from streams.wire.single_object import Codec

NOTHING: list[Any] = [
    "null",
    {"type": "null"},
    {"type": "fixed", "name": "None", "size": 0},
    {"type": "record", "name": "Empty", "fields": []},
    {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "null"}]},
]
SOMETHING: list[Any] = [
    "int",
    ["null", "string"],
    {"type": "fixed", "name": "One", "size": 1},
    {"type": "enum", "name": "Only", "symbols": ["A"]},
    {"type": "array", "items": "long"},
    {"type": "record", "name": "Full", "fields": [{"name": "x", "type": "boolean"}]},
    {"type": "map", "values": "null"},
]


def refused(*words: str) -> str:
    """Run a command, and return the one sentence with which it refuses its input."""
    done = CliRunner().invoke(main, list(words))
    assert done.exit_code == 2, (done.output, done.exception)
    assert isinstance(done.exception, SystemExit)
    return done.output


def merged(n: int) -> str:
    return f"  a{n}: &a{n}\n    <<: [{', '.join([f'*a{n - 1}'] * 9)}]\n"


def twice(n: int) -> str:
    return f"- &b{n} [*b{n - 1}, *b{n - 1}]\n"


def bomb(items: Any) -> dict[str, Any]:
    schema: dict[str, Any] = copy.deepcopy(load("CapturedRecord"))
    schema["fields"].insert(0, {"name": "bomb", "type": {"type": "array", "items": items}})
    return schema


@pytest.mark.parametrize("items", NOTHING)
def test_an_avro_file_has_no_items_without_bytes(tmp_path: Path, items: Any) -> None:
    """Ten bytes of one are ten billion items, which a decoder in C makes deaf to Ctrl-C."""
    file, block = io.BytesIO(), pack_long(10**10) + pack_long(0)
    said = {"kind": "captured", "prefix": "ssb.", "topology": "x", "created": "1"}
    metadata = {f"hopline.{name}": value for name, value in said.items()}
    fastavro.writer(file, bomb(items), [], metadata=metadata)
    marker = file.getvalue()[-16:]
    path = tmp_path / "bomb.avro"
    path.write_bytes(file.getvalue() + pack_long(1) + pack_long(len(block)) + block + marker)
    assert "a few bytes to decode to billions of values" in refused("inspect", str(path))
    with pytest.raises(MalformedError, match="take no bytes"):
        Codec("Presence").announce(bomb(items))


def record(name: str, *types: Any) -> dict[str, Any]:
    fields = [{"name": f"f{n}", "type": one} for n, one in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields}


def doubled(levels: int) -> dict[str, Any]:
    """Return a record of 2 ** levels nulls."""
    return record(
        "All", *(record(f"R{n}", *[f"R{n - 1}" if n else "null"] * 2) for n in range(levels))
    )


def chained(levels: int) -> dict[str, Any]:
    """Return records within each other, without one within itself."""
    links = (record(f"R{n}", ["null", f"R{n - 1}" if n else "int"]) for n in range(levels))
    return record("All", *links)


DEEP = {
    "a record in itself": record("X", ["null", "X"]),
    "two records in each other": record("X", record("Y", ["null", "X"])),
    "itself in a list": record("X", {"type": "array", "items": "X"}),
    "a million million nulls": doubled(40),
    "more than a hundred levels": chained(115),
    "two types of one name": record("All", record("a.X", "int"), record("b.X", "null")),
}


@pytest.mark.parametrize("kind", DEEP.values(), ids=DEEP)
def test_types_do_not_nest_without_end(kind: dict[str, Any]) -> None:
    """The decoder, in C, would end the process with SIGSEGV, or decode for years."""
    schema = copy.deepcopy(load("Presence"))
    schema["fields"].insert(0, {"name": "x", "type": kind})
    codec = Codec("Presence")
    with pytest.raises(MalformedError, match="nest endlessly"):
        codec.announce(schema)
    assert len(codec.known) == 1


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "record", "name": {"a": []}, "fields": []},
        {"type": "record", "name": "X", "fields": {"a": 1}},
        {"type": "record", "name": "X", "fields": ["a"]},
        {"type": "record", "name": "X", "fields": 5},
    ],
    ids=repr,
)
def test_what_is_no_schema_is_not_bounded(schema: Any) -> None:
    """Other JSON may be announced, too; the library takes some of it for a schema."""
    assert not is_bounded(schema)


@pytest.mark.parametrize("items", SOMETHING)
def test_items_with_bytes_are_as_many_as_the_bytes(items: Any) -> None:
    assert is_bounded(bomb(items))


@pytest.mark.parametrize(
    "text",
    [
        "instances:\n  a0: &a0 {cluster: x}\n" + "".join(map(merged, range(1, 14))),
        "instances: &a\n  x: *a\n",
        "expect:\n- &b0 [x, x]\n" + "".join(map(twice, range(1, 60))),
    ],
    ids=["merges", "itself", "lists"],
)
def test_aliases_do_not_multiply(tmp_path: Path, text: str) -> None:
    """844 bytes of merged merges took a minute and more."""
    (tmp_path / "topology.yaml").write_text(text)
    said = refused("check", str(tmp_path))
    assert "its aliases expand to more than 1,000,000 values" in said
    assert "topology.yaml:" in said


def nested_merges(count: int) -> str:
    """Return the last of some items, each of which contains the one before within 90 merges."""
    items = [
        f"- &m{n} {'{<<: ' * 90}{f'*m{n - 1}' if n else '{partitions: 1}'}{'}' * 90}\n"
        for n in range(count)
    ]
    return "".join(items)


def test_aliases_do_not_nest_endlessly(tmp_path: Path) -> None:
    """7.7 kB of merges ended with a RecursionError; each item is nested less than is allowed."""
    text = f"expect:\n{nested_merges(14)}instances:\n  A: *m13\n"
    (tmp_path / "topology.yaml").write_text(text)
    said = refused("check", str(tmp_path))
    assert "topology.yaml:3:" in said
    assert "its aliases nest more than 100 lists and mappings" in said


@pytest.mark.parametrize("read", [load_offers, load_suppressions])
def test_other_files_do_not_nest_endlessly(tmp_path: Path, read: Callable[[Path], object]) -> None:
    (tmp_path / "x.yaml").write_text(f"x:\n{nested_merges(14)}<<: *m13\n")
    with pytest.raises(InputError, match="its aliases nest more than 100"):
        read(tmp_path / "x.yaml")


def test_many_small_aliases_are_read(tmp_path: Path) -> None:
    names = "".join(f"  i{n}: *one\n" for n in range(1, 500))
    (tmp_path / "topology.yaml").write_text(f"instances:\n  i0: &one {{cluster: x}}\n{names}")
    assert CliRunner().invoke(main, ["check", str(tmp_path)]).exit_code == 0


@pytest.mark.parametrize("text", ["a = " + "9" * 5_000, f"a = {'[' * 20_000}{']' * 20_000}"])
def test_settings_are_refused_in_words(tmp_path: Path, text: str) -> None:
    path = tmp_path / "hopline.toml"
    path.write_text(text)
    assert "too many digits, or lists nest too deeply" in refused(
        "config", "show", "--config", str(path)
    )


def test_settings_are_read_once_however_long_a_value_is() -> None:
    """All lines before it were read again for every line: thirty thousand took minutes."""
    lines = "#\n" * 30_000
    text = f'[kafka]\n{lines}"client.id" = """\n{lines}"""\n[worker]\n\nslot = "x"\n'
    found = read_settings(text, "hopline.toml")
    assert found.properties["client.id"].source == "hopline.toml:30002"
    assert found.settings["worker", "slot"].value == "x"


def test_a_number_of_a_script_has_as_many_digits_as_the_largest(tmp_path: Path) -> None:
    script = "USE D;\nCREATE ROUTE r WITH ADDRESS = 'LOCAL', LIFETIME = "
    (tmp_path / "A.sql").write_text(script + "9" * 5_000)
    said = refused("check", str(tmp_path))
    assert "A.sql:2:" in said
    assert "of at most 38 digits" in said
    assert len(said) < 1_000


def substituted(uses: int, text: str = "") -> str:
    """Return a script that uses a variable of 2,000 characters several times."""
    return f":setvar v {'x' * 2_000}\n{text}\nPRINT N'{'$(v)' * uses}'\nGO\n"


def test_sqlcmd_variables_do_not_multiply(tmp_path: Path) -> None:
    """A script of 280 kB expanded to 2 GB, for which each character may take four bytes."""
    path = tmp_path / "A.sql"
    path.write_text(substituted(600))
    found = "A.sql:3:7: its sqlcmd variables add more than 1,000,000 characters"
    assert found in refused("check", str(tmp_path))
    imported = refused("import", f"A={path}", "-o", str(tmp_path / "out"), "--database", "D")
    assert found in imported
    assert "Write the values out." in imported


def test_sqlcmd_variables_of_all_batches_count_together(tmp_path: Path) -> None:
    path = tmp_path / "A.sql"
    path.write_text(substituted(300) + "PRINT $(v)\nGO\n" * 300)
    said = refused("import", f"A={path}", "-o", str(tmp_path / "out"), "--database", "D")
    assert "A.sql:407:7: its sqlcmd variables add" in said


@pytest.mark.parametrize("script", [substituted(490), substituted(600, "-- long\n" * 200_000)])
def test_sqlcmd_variables_are_replaced_up_to_the_limit(tmp_path: Path, script: str) -> None:
    """A long script may become twice as long."""
    (tmp_path / "A.sql").write_text(f"USE D;\n{script}CREATE QUEUE Q;\n")
    assert CliRunner().invoke(main, ["check", str(tmp_path)]).exit_code == 0


LISTS: list[tuple[Any, Any, int]] = [
    ({"type": "array", "items": "long"}, [1, -300, 1 << 40], 3),
    ({"type": "map", "values": ["null", "double"]}, {"a": None, "b": 1.5}, 2),
    ({"type": "array", "items": {"type": "array", "items": "string"}}, [["a"], [], ["b", "c"]], 6),
    (
        record(
            "All", record("One", "boolean", "float", "bytes"), {"type": "array", "items": "One"}
        ),
        {"f0": (one := {"f0": True, "f1": 0.5, "f2": b"x" * 200}), "f1": [one, one]},
        2,
    ),
    (
        record(
            "All",
            {"type": "enum", "name": "E", "symbols": ["A", "B"]},
            {"type": "fixed", "name": "F", "size": 3},
            {"type": "array", "items": ["E", "F", {"type": "int"}]},
        ),
        {"f0": "B", "f1": b"abc", "f2": [b"xyz", 7]},
        2,
    ),
]


@pytest.mark.parametrize(("schema", "value", "items"), LISTS)
def test_items_are_counted_without_decoding(schema: Any, value: Any, items: int) -> None:
    file = io.BytesIO()
    for _ in range(2):
        fastavro.schemaless_writer(file, schema, value)
    assert not exceeds(schema, file.getvalue(), 2, 2 * items)
    assert exceeds(schema, file.getvalue(), 2, 2 * items - 1)


def test_items_in_parts_are_counted_together() -> None:
    """A negative number of items is followed by their size in bytes."""
    data = pack_long(-2) + pack_long(2) + b"\x02\x04" + pack_long(1) + b"\x06" + b"\0"
    schema = {"type": "array", "items": "int"}
    assert fastavro.schemaless_reader(io.BytesIO(data), schema, None) == [1, 2, 3]
    assert not exceeds(schema, data, 1, 3)
    assert exceeds(schema, data, 1, 2)


@pytest.mark.parametrize(
    "items",
    [
        "double",
        "float",
        "boolean",
        {"type": "fixed", "name": "F", "size": 2},
        record("R", "double", "boolean"),
    ],
    ids=repr,
)
def test_an_array_that_the_reader_skips_has_an_end(items: Any) -> None:
    """The decoder skips values of a fixed size beyond the end of the bytes: 14 bytes took 3.4 s."""
    schema = copy.deepcopy(load("Presence"))
    schema["fields"].append({"name": "x", "type": {"type": "array", "items": items}})
    assert is_bounded(schema), "with the field, the end of the bytes is an error"
    with pytest.raises(MalformedError, match="nest endlessly"):
        Codec("Presence").announce(schema)


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "map", "items": "int", "values": "Presence"},
        {"type": "array", "items": {"type": "fixed", "name": "F", "size": "0"}},
        {"type": "array", "items": {"type": "fixed", "name": "F", "size": True}},
        {"type": "array", "items": {"type": "fixed", "name": "F", "size": -1}},
        {"type": "array", "items": ["null", record("zz.null", "int")][0]},
        record("R", record("zz.null", "string"), {"type": "array", "items": "null"}),
    ],
    ids=repr,
)
def test_what_the_library_ignores_hides_nothing(kind: Any) -> None:
    """A type is judged by what the decoder uses: one of these ended the process with SIGSEGV."""
    schema = copy.deepcopy(load("Presence"))
    schema["fields"].append({"name": "x", "type": kind})
    with pytest.raises(MalformedError, match="invalid schema"):
        Codec("Presence").announce(schema)


def _injected(value: str) -> str:
    """Return a name that closes its string in the canonical form, and adds keys to it."""
    named = f'"__named_schemas":{{"X":{value}}}'
    return f'Presence","__fastavro_parsed":true,{named},"zz":"'


@pytest.mark.parametrize(
    "schema",
    [
        record("e", record("error_union"), "error_union"),
        {**record("Presence", "X"), "name": _injected('{"type":"map","values":"X"}')},
        {**record("Presence", {"type": "array", "items": "X"}), "name": _injected('"null"')},
        {
            **record("Presence", record("X", "int"), "X"),
            "name": _injected('{"type":"map","values":"X"}'),
        },
        {"type": "array", "items": "int", "fields": 5},
        record("Presence", "never defined"),
        {"type": "record", "name": ["."], "fields": []},
    ],
    ids=["error_union", "map", "nulls", "shadowed", "fields", "unknown", "name"],
)
def test_what_only_the_library_understands_is_not_learned(schema: Any) -> None:
    """With two of these, a record of 128 kB ended the process with SIGSEGV."""
    with pytest.raises(MalformedError, match="invalid schema"):
        Codec("Presence").announce(schema)


def test_an_undefined_type_is_not_bounded() -> None:
    assert not is_bounded(record("R", "never defined"))
    assert is_bounded(record("R", "int", {"type": "enum", "name": "E", "symbols": ["a"]}, "E"))


def test_each_byte_of_an_array_stands_for_few_values() -> None:
    """130 kB took 9 s with items of 97 values without bytes, within 92 records."""
    empty = {"type": "fixed", "name": "Z", "size": 0}
    for count, learned in ((10, True), (11, False)):
        items = record("R", empty, *["Z"] * (count - 1), "int")
        schema = record("Presence", {"type": "array", "items": items})
        assert is_bounded(schema) and is_bounded(schema, skips=True) is learned
