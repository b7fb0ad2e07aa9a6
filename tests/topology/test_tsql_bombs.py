"""Scripts of some kilobytes that took minutes or gigabytes are read in linear time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from streams.topology.tsql import Reading
from tests.fuzz.properties import read
from tests.steps import grows_linearly
from tests.topology.build import from_sql

X = "DECLARE @x nvarchar(max) = "
Script = Callable[[int], str]


def _variables(count: int) -> str:
    return "DECLARE " + ", ".join(f"@a{n} int = 1" for n in range(count)) + "\n"


def _services(count: int) -> str:
    made = (f"CREATE SERVICE s{n} ON QUEUE q{n};\n" for n in range(count))
    return "".join(made) + "".join(f"ALTER QUEUE z{n} WITH STATUS = ON;\n" for n in range(count))


LINEAR: dict[str, Script] = {
    "labels": lambda n: _variables(n) + "a:\n" * n,
    "loops": lambda n: _variables(1) + "WHILE 1=1\n" * n,
    "labels and variables": lambda n: "".join(f"DECLARE @a{i} int = 1\na:\n" for i in range(n)),
    "parentheses": lambda n: "SELECT (\n" * n,
    "parentheses and labels": lambda n: "SELECT (\na:\n" * n,
    "parentheses between directives": lambda n: "SELECT (\nSELECT (\n:r x\n" * n,
    "executes": lambda n: "EXEC (\n" * n,
    "blocks": lambda n: "BEGIN\n" * n + "CREATE QUEUE q;\n" * n,
    "conditions": lambda n: "IF 1=1 BEGIN\n" * n + "CREATE QUEUE q;\n" * n,
    "services and queues": _services,
    "databases": lambda n: (
        "".join(f"CREATE DATABASE d{i};\nGO\n" for i in range(n)) + "EXEC p;\n" * n
    ),
}


@pytest.mark.parametrize("script", LINEAR.values(), ids=LINEAR)
def test_reading_takes_linear_time(script: Script) -> None:
    assert grows_linearly(lambda n: read(script(n), Reading.AS_FOUND), 300)


UNCLOSED: dict[str, Script] = {
    "comments": lambda n: "/*\nGO\n" * n,
    "brackets": lambda n: "[\nGO\n" * n,
    "brackets and a string": lambda n: "[\nGO\n" * n + "]'",
}


@pytest.mark.parametrize("script", UNCLOSED.values(), ids=UNCLOSED)
def test_only_a_few_tokens_without_end_are_reported(script: Script) -> None:
    """Each of them was searched up to the end of the script: 48 kB took 21 s."""
    _, notes = read("CREATE QUEUE q;\nGO\n" + script(1_000), Reading.AS_FOUND)
    places = [finding.line for finding in notes.findings]
    assert places == [*range(3, 3 + 2 * 21, 2)]
    assert "like 20 others; the rest of the script is not read" in notes.findings[-1].message
    assert "like" not in notes.findings[-2].message


@pytest.mark.parametrize(
    ("text", "skipped"),
    [
        ("go" + " " * 500_000 + "x", "GO"),
        ("go 1" + " " * 500_000 + ";" + " " * 500_000 + "'x'", "GO"),
        ("\u201a" * 300_000, "\u201a"),
        ("\u201e" * 300_000, "\u201e"),
        ("'a\u2019," * 30_000 + "x" * 300_000, "'a\u2019,'"),
    ],
    ids=["go", "go 1 ;", "low quotes", "low double quotes", "half quotes"],
)
def test_a_line_is_not_searched_from_each_of_its_characters(text: str, skipped: str) -> None:
    """Before, these lines took hours."""
    _, notes = read(text, Reading.AS_FOUND)
    assert notes.skipped[0].kind.upper() == skipped.upper()


@pytest.mark.parametrize("quotes", ["\u201aLOCAL\u2019", "\u201aLOCAL\u2018", "\u201eLOCAL\u201d"])
def test_low_quotes_are_still_quotes(quotes: str) -> None:
    found, _ = read(f"CREATE ROUTE R WITH ADDRESS = {quotes}", Reading.AS_FOUND)
    assert found.databases["DB"].routes[-1].name == "R"


EXPANDING = {
    "QUOTENAME": X + "N']'\n" + "SET @x = QUOTENAME(@x)\n" * 29 + "EXEC (@x)",
    "nested QUOTENAME": X + "QUOTENAME(" * 29 + "N']'" + ")" * 29 + "\nEXEC (@x)",
    "many copies": X
    + "N'\U0001f600'\n"
    + "SET @x = @x + @x\n" * 19
    + "".join(f"SET @a{n} = @x + 'a'\n" for n in range(150))
    + "EXEC (@x)",
    "one long text": X + "'PRINT 1 '\n" + "SET @x = @x + @x\n" * 17 + "EXEC (@x)\n" * 40,
    "a text many times": X + "'-- '\n" + "SET @x = @x + @x\n" * 12 + "EXEC (@x)\n" * 100,
    "variables in branches": _variables(2_000) + "IF 1=1\n" * 2_000 + "EXEC (@unknown)",
    "copies in branches": X
    + "N'"
    + "x" * 60_000
    + "'\n"
    + "IF 1=1 BEGIN SET @y = @x + 'a' SET @y = @x + 'b'\n" * 2_000
    + "EXEC (@y)",
}


@pytest.mark.parametrize("text", EXPANDING.values(), ids=EXPANDING)
def test_values_of_a_script_do_not_multiply(tmp_path: Path, text: str) -> None:
    """Some lines expanded to 2 GB; the rest of the script is read."""
    tracemalloc.start()
    try:
        topology, database = from_sql(tmp_path, f"{text}\nCREATE QUEUE last;")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "last" in database.queues
    assert any(one.kind == "EXECUTE" and one.why for one in topology.skipped)
    assert most < 50_000_000


def test_the_reason_names_the_limit(tmp_path: Path) -> None:
    topology, _ = from_sql(tmp_path, EXPANDING["a text many times"])
    whys = {one.why for one in topology.skipped if one.why}
    assert whys == {"variables and dynamic SQL add more than 1,000,000 characters"}


@pytest.mark.parametrize("size", [128, 129])
def test_quotename_returns_null_for_more_than_a_name(tmp_path: Path, size: int) -> None:
    """Transact-SQL reference, QUOTENAME: an input of more than 128 characters returns NULL."""
    name = "q" * size
    text = f"{X}'CREATE QUEUE ' + QUOTENAME('{name}')\nEXEC (@x)"
    _, database = from_sql(tmp_path, text)
    assert (name in database.queues) is (size == 128)


def test_a_long_script_may_run_its_own_text(tmp_path: Path) -> None:
    """Only characters that the script adds count, so all of its literals are executed."""
    long = "x" * 30_000
    text = "".join(
        f"DECLARE @s{n} nvarchar(max) = N'CREATE QUEUE q{n} -- {long}'\nEXEC (@s{n})\n"
        for n in range(60)
    )
    _, database = from_sql(tmp_path, text)
    assert len(database.queues) == 60


BRANCHES = [
    ("IF 1=1 SET @x = 'b' ELSE SET @x = 'b'", {"b"}),
    ("IF 1=1 SET @x = 'b' ELSE SET @x = 'c'", set()),
    ("IF 1=1 SET @x = 'b' ELSE PRINT 1", set()),
    ("IF 1=1 PRINT 1 ELSE SET @x = 'b'", set()),
    ("IF 1=1 SET @x = 'a' ELSE SET @x = 'a'", {"a"}),
    ("IF 1=1 SET @x = 'b' ELSE EXEC ('CREATE QUEUE ' + @x)", {"a"}),
    ("IF 1=1 IF 1=1 SET @x = 'b' ELSE SET @x = 'b' ELSE SET @x = 'b'", {"b"}),
    ("IF 1=1 IF 1=1 SET @x = 'b' ELSE SET @x = 'c' ELSE EXEC ('CREATE QUEUE ' + @x)", {"a"}),
    ("IF 1=1 BEGIN SET @x = 'b' l: SET @x = 'c' END ELSE EXEC ('CREATE QUEUE ' + @x)", {"a"}),
    ("WHILE 1=1 SET @x = 'a'", set()),
    ("l: PRINT 1 SET @x = 'b'", {"b"}),
    ("SET @x = 'b' l: PRINT 1", {"b"}),
]


@pytest.mark.parametrize(("text", "queues"), BRANCHES)
def test_a_branch_changes_what_is_known(tmp_path: Path, text: str, queues: set[str]) -> None:
    script = f"DECLARE @x sysname = 'a'\n{text}\nEXEC ('CREATE QUEUE ' + @x)"
    script = script.replace(" l: ", "\nl:\n").replace("\nl: ", "\nl:\n")
    _, database = from_sql(tmp_path, script)
    assert set(database.queues) == queues


@pytest.mark.parametrize(
    ("change", "queue"),
    [
        ("", "q"),
        ("ALTER SERVICE a ON QUEUE z;", "Q"),
        ("ALTER SERVICE a ON QUEUE z; ALTER SERVICE a ON QUEUE q;", "q"),
        ("DROP SERVICE a;", "Q"),
        ("DROP SERVICE a; CREATE SERVICE a ON QUEUE q;", "Q"),
    ],
)
def test_an_undeclared_queue_has_the_name_in_its_first_service(
    tmp_path: Path, change: str, queue: str
) -> None:
    services = "CREATE SERVICE a ON QUEUE q; CREATE SERVICE b ON QUEUE Q;"
    _, database = from_sql(tmp_path, f"{services} {change} ALTER QUEUE q WITH STATUS = OFF;")
    assert set(database.queues) == {queue}
