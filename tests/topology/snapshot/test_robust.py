"""Whatever is in the files: findings, or an error with its place; never a traceback."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.analysis.diagnose import diagnose, diagnoses_text
from streams.errors import HoplineError, InputError
from streams.topology import Instance, empty_database
from streams.topology.snapshot import VIEWS, load_snapshot
from tests.snapshots import NOW, document, documents, endpoint, message, part, write_json
from tests.steps import grows_linearly
from tests.topology.build import shipped

FUZZ = settings(max_examples=150, suppress_health_check=list(HealthCheck))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
WORDS = st.sampled_from(
    ["", "NULL", "1", "-1", "true", "DatabaseA", "LOCAL", "TRANSPORT", "tcp://ServerB:4022", "CO",
     "2026-09-21", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59",
     "540B8751-888D-5955-BA9D-0F5CF3329FE0", '"', "a,b", "9" * 5000, "\x00", "\ud800", "X ",
     "10061("]
)  # fmt: skip


def run(write: dict[str, bytes]) -> None:
    """Read the files and diagnose; only our own errors may come out, and they can be printed."""
    with tempfile.TemporaryDirectory() as name:
        for file, data in write.items():
            (Path(name) / file).write_bytes(data)
        try:
            found = diagnose(load_snapshot(Path(name)), NOW)
        except HoplineError as error:
            str(error).encode()
            return
        diagnoses_text(found).encode()
        json.dumps(found.to_json(), ensure_ascii=False).encode()


def base() -> dict[str, Any]:
    found = documents(shipped("two_brokers"))["ServerA"]
    inside = part(found, "DatabaseA")
    inside["transmission_queue"] = [message("d", "TargetService", "x")]
    inside["conversation_endpoints"] = [endpoint("d")]
    return found


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    inner = [(*at, key) for key, _ in items]
    for path in list(inner):
        child = value[path[-1]]
        if isinstance(child, dict | list):
            inner += places(child, path)
    return inner


PLACES = places(base())


@given(st.lists(st.tuples(st.sampled_from(PLACES), JSON | WORDS), min_size=1, max_size=6))
@FUZZ
def test_a_document_with_anything_anywhere(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    document = base()
    for path, value in changes:
        held: Any = document
        try:
            for step in path[:-1]:
                held = held[step]
            held[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue
    run({"a.json": json.dumps(document).encode("utf-8", "surrogatepass")})


@given(st.integers(0, 20_000), st.binary(max_size=6))
@FUZZ
def test_a_document_that_is_cut_and_mended_badly(at: int, put: bytes) -> None:
    text = json.dumps(base()).encode()
    run({"a.json": text[:at] + put + text[at + len(put) :], "b.json": text[:at]})


def test_a_number_with_thousands_of_digits_is_refused_with_its_place(tmp_path: Path) -> None:
    text = json.dumps(base()).replace('"database_id": 4', f'"database_id": {"9" * 5_000}')
    (tmp_path / "A.json").write_text(text)
    with pytest.raises(InputError, match=r"A.json:1:.*a number has too many digits"):
        load_snapshot(tmp_path)


@given(
    st.sampled_from(sorted(VIEWS)),
    st.lists(st.lists(WORDS, max_size=12), max_size=4),
    st.sampled_from([",", ";", "\t"]),
)
@FUZZ
def test_csvs_of_any_words(view: str, rows: list[list[str]], delimiter: str) -> None:
    header = delimiter.join(["database_name", *VIEWS[view].columns])
    lines = [header, *(delimiter.join(row) for row in rows)]
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    routes = b"database_name,name,address\nDatabaseA,R,LOCAL\n"
    run({"DatabaseA.routes.csv": routes, f"DatabaseA.{view}.csv": data})


@given(st.sampled_from(sorted(VIEWS)), st.binary(max_size=200))
@FUZZ
def test_csvs_of_any_bytes(view: str, data: bytes) -> None:
    run({f"{view}.csv": data})


def _of_databases(folder: Path, count: int) -> Path:
    databases = {f"D{n}": empty_database("S", f"D{n}") for n in range(count)}
    instance = Instance("S", empty_database("S", "msdb"), databases)
    return write_json(folder / str(count), {"S": document(instance)})


def test_many_databases_take_linear_time(tmp_path: Path) -> None:
    """Each view was searched once for each database: 3,000 databases took 10 s."""
    made = {n: _of_databases(tmp_path, n) for n in (40, 80)}
    assert grows_linearly(lambda n: load_snapshot(made[n]), 40)


def test_many_messages_with_one_number_are_read(tmp_path: Path) -> None:
    """A tuple that grew by one for each of 80,000 rows took 9 s."""
    rows = [{"message_id": 9750, "text": f"text {n}", "language_id": 1} for n in range(40_000)]
    instance = Instance("S", empty_database("S", "msdb"))
    found = load_snapshot(write_json(tmp_path, {"S": document(instance, messages=rows)}))
    assert len(found.live["S"].texts[9750]) == 40_000
