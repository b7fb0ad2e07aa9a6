"""Directories of services: right at the start, followed while they are edited, waited for."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from streams.errors import InputError, SurroundingsError, UsageError
from streams.live.configuration.directory import FileDirectory, open_directory
from streams.node.endpoint.route_requests import MissingRoute
from streams.services.notice import UNUSABLE, refusal_of
from streams.store.database import engine_for
from streams.topology import Offer
from tests.postgres import encoded_database

PAGE = Path(__file__).parents[2] / "docs" / "writing_a_service.md"
ONE = "routes: [{service_name: S, address: 'tcp://B:4022'}]"
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return what puts a text in the place of the directory."""
    path, written = tmp_path / "directory.yaml", list[str]()

    def replace(text: str) -> Path:
        written.append(text)
        new = path.with_suffix(f".{len(written)}")
        new.write_text(text, encoding="utf-8")
        return new.replace(path)

    return replace


# --- a file --------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_example_of_the_page_is_one(write: Write) -> None:
    found = re.search(r"^```yaml\n(lifetime:.*?)```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    directory = open_directory(str(write(found[1])))
    assert [offer.lifetime for offer in directory.find("//shop/OrderService")] == [600]
    assert [offer.lifetime for offer in directory.find("//shop/StockService")] == [3600]


def test_a_file_is_read_anew_where_it_has_changed(write: Write) -> None:
    directory = open_directory(str(write(ONE)))
    assert directory.find("S") == (Offer("S", "tcp://B:4022"),)
    assert directory.find("T") == ()
    write(ONE.replace("S", "T"))
    assert (directory.find("S"), directory.find("T")) == ((), (Offer("T", "tcp://B:4022"),))


def test_a_wrong_address_is_for_who_asks_for_it(write: Write) -> None:
    """Once it runs: the others are answered."""
    directory = open_directory(str(write(ONE)))
    write("routes: [{service_name: S, address: B}, {service_name: T, address: LOCAL}]")
    [bad], [good] = directory.find("S"), directory.find("T")
    assert bad.breaches and not good.breaches


@pytest.mark.parametrize("text", ["routes: [", "routes: [{service_name: T}]"])
def test_an_unreadable_file_leaves_the_last_offers(
    write: Write, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is reported once, with its place, and counts again when it is mended."""
    directory = open_directory(str(write(ONE)))
    path = write(text)
    for _ in range(3):
        assert directory.find("S") == (Offer("S", "tcp://B:4022"),)
    [record] = caplog.records
    assert record.levelno == logging.ERROR and record.getMessage().startswith(f"{path}:")
    write(ONE.replace("S", "T"))
    assert directory.find("S") == ()


def test_a_deleted_file_leaves_the_last_offers(write: Write) -> None:
    path = write(ONE)
    directory = FileDirectory(path)
    path.unlink()
    assert directory.find("S")
    write(ONE.replace("S", "T"))
    assert not directory.find("S")


@pytest.mark.parametrize("text", ["", "lifetime: 5"])
def test_who_names_nobody_is_refused_at_the_start(write: Write, text: str) -> None:
    with pytest.raises(UsageError, match="is empty"):
        open_directory(str(write(text)))


def test_a_wrong_address_is_refused_at_the_start(write: Write) -> None:
    path = write("routes:\n  - {service_name: S, address: ServerB:4022}")
    with pytest.raises(InputError) as caught:
        open_directory(str(path))
    assert str(caught.value).startswith(f"{path}:2:5: S: 'ServerB:4022' is not a valid address")
    assert "tcp://host:port" in caught.value.remedy.casefold()


def test_a_missing_file_is_reported_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        open_directory(str(tmp_path / "directory.yaml"))
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        open_directory(str(tmp_path))


# --- a database ----------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the URL of a database with the table that the page has."""
    if request.param == "postgresql":
        made: str = request.getfixturevalue("postgres")
    else:
        made = f"sqlite:///{tmp_path}/shop.sqlite"
    execute(made, table())
    yield made
    execute(made, "DROP TABLE hopline_directory")


def table() -> str:
    """Return the statement of the page that creates the table."""
    found = re.search(
        r"^```sql\n(CREATE TABLE hopline_directory.*?)```", PAGE.read_text(), re.M | re.S
    )
    assert found is not None
    return found[1]


def execute(url: str, *statements: str) -> None:
    engine = engine_for(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
    engine.dispose()


def test_a_table_is_asked_anew(url: str, caplog: pytest.LogCaptureFixture) -> None:
    """It may be empty at the start: services enter themselves."""
    directory = open_directory(url)
    assert "is empty" in caplog.text
    assert directory.find("S") == ()
    execute(
        url,
        "INSERT INTO hopline_directory (service_name, address) VALUES ('S', 'tcp://B:4022')",
        "INSERT INTO hopline_directory VALUES ('T', 'DatabaseT', 'tcp://T:1', 'tcp://M:1', 5)",
        "INSERT INTO hopline_directory (service_name, address) VALUES ('s', 'B')",
    )
    assert directory.find("S") == (Offer("S", "tcp://B:4022"),)
    assert directory.find("T") == (Offer("T", "tcp://T:1", "DatabaseT", "tcp://M:1", 5),)
    caplog.clear()
    open_directory(url)
    assert "s: 'B' is not a valid address" in caplog.text and "tcp" not in caplog.text


SQLITE = [
    ("broker_instance", "x'42'", "bytes"),
    ("address", "CAST(x'ff' AS TEXT)", "bytes"),
    ("mirror_address", "x'42'", "bytes"),
    ("lifetime", "'1 hour'", "str"),
    ("lifetime", "1.5", "float"),
]
POSTGRESQL = [
    ("broker_instance", "gen_random_uuid()", "UUID"),
    ("address", "'tcp://B:1'::bytea", "bytes"),
    ("mirror_address", "7", "int"),
    ("lifetime", "interval '1 hour'", "timedelta"),
    ("lifetime", "true", "bool"),
]


@pytest.mark.parametrize(("column", "value", "kind"), SQLITE)
def test_a_value_of_a_wrong_type_is_a_breach_of_its_entry(
    tmp_path: Path, column: str, value: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise one row would turn the queue of all requests off: SQLite stores any type."""
    url = f"sqlite:///{tmp_path}/shop.sqlite"
    entry = "INSERT INTO hopline_directory (service_name, address) VALUES ('{}', 'tcp://B:1')"
    changed = f"UPDATE hopline_directory SET {column} = {value} WHERE service_name = 'S'"
    execute(url, table(), entry.format("S"), changed, entry.format("T"))
    assert refused(url, caplog) == f"{column} has the type {kind}"
    assert open_directory(url).find("T") == (Offer("T", "tcp://B:1"),)


@pytest.mark.parametrize(("column", "value", "kind"), POSTGRESQL)
def test_a_column_of_a_wrong_type_is_a_breach_of_all_entries(
    postgres: str, column: str, value: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A view may have columns of any type."""
    columns = dict.fromkeys(("broker_instance", "mirror_address", "lifetime"), "NULL")
    columns |= {"service_name": "'S'", "address": "'tcp://B:1'", column: value}
    selected = ", ".join(f"{value} AS {name}" for name, value in columns.items())
    execute(postgres, f"CREATE VIEW hopline_directory AS SELECT {selected}")
    try:
        assert refused(postgres, caplog) == f"{column} has the type {kind}"
    finally:
        execute(postgres, "DROP VIEW hopline_directory")


def refused(url: str, caplog: pytest.LogCaptureFixture) -> str:
    """Return why the entry of S is refused, which the log must contain at the start too."""
    directory = open_directory(url)
    [breach] = (breach for offer in directory.find("S") for breach in offer.breaches)
    assert f"S: {breach.detail}" in caplog.text
    code, text = refusal_of(MissingRoute("S"), directory.find("S")) or (0, "")
    assert (code, text) == (UNUSABLE, f"S: {breach.detail}")
    return breach.detail


@pytest.mark.parametrize("name", ["x'42'", "NULL"])
def test_a_name_that_is_not_text_is_reported_at_the_start(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///{tmp_path}/shop.sqlite"
    entry = f"INSERT INTO hopline_directory (service_name, address) VALUES ({name}, 'tcp://B:1')"
    execute(url, table().replace("(256) NOT NULL", "(256)"), entry)
    open_directory(url)
    assert "service_name has the type" in caplog.text


def test_names_that_cannot_be_compared_with_text_are_refused_at_the_start(postgres: str) -> None:
    """Otherwise the first request would be repeated forever."""
    selected = "gen_random_uuid() AS service_name, 'tcp://B:1' AS address, NULL AS broker_instance"
    more = "NULL AS mirror_address, 1 AS lifetime"
    execute(postgres, f"CREATE VIEW hopline_directory AS SELECT {selected}, {more}")
    try:
        with pytest.raises(SurroundingsError, match="uuid"):
            open_directory(postgres)
    finally:
        execute(postgres, "DROP VIEW hopline_directory")


def test_an_unavailable_table_is_reported_without_the_password(url: str) -> None:
    directory = open_directory(url)
    execute(url, "ALTER TABLE hopline_directory RENAME TO elsewhere")
    try:
        with pytest.raises(SurroundingsError, match=r"The directory in .* cannot be read"):
            directory.find("S")
    finally:
        execute(url, "ALTER TABLE elsewhere RENAME TO hopline_directory")
    assert directory.find("S") == ()


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
@pytest.mark.parametrize("option", ["", "?client_encoding=utf8", "?client_encoding=latin1"])
def test_a_name_that_the_database_cannot_contain_has_no_entry(
    postgres: str, encoding: str, option: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise a request for it would turn the queue of requests off, or be repeated forever."""
    with encoded_database(postgres, encoding) as url:
        execute(
            url,
            table(),
            "INSERT INTO hopline_directory (service_name, address) VALUES ('\u00e4', 'tcp://B:1')",
        )
        directory = open_directory(url + option)
        assert directory.find("\u4e2d\U0001f600") == ()
        assert directory.find("\u4e2d\0") == () == directory.find("\ud800")
        assert "no entry for '\u4e2d" in caplog.text
        assert caplog.text.encode(), "half a surrogate pair is escaped"
        assert directory.find("\u00e4") == (Offer("\u00e4", "tcp://B:1"),)


def test_a_missing_database_is_reported_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(SurroundingsError, match="cannot be read") as caught:
        open_directory("postgresql+psycopg://me:secret@127.0.0.1:1/shop")
    assert "secret" not in str(caught.value)
    with pytest.raises(UsageError, match="There is no store"):
        open_directory(f"sqlite:///{tmp_path}/no.sqlite")
    assert os.listdir(tmp_path) == []
