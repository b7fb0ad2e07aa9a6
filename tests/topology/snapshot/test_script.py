"""The scripts that take a snapshot: they read, and what they select is what is read.

No SQL Server runs here: the text is looked at, token by token, strings that are run included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from streams.topology.snapshot import STATUS_NUMBERS, VIEWS, Scope, csv_script, json_script
from streams.topology.snapshot.json_file import MARK

WRITES = {
    "ALTER", "BACKUP", "BULK", "CREATE", "DELETE", "DENY", "DBCC", "DROP", "EXECUTE", "GRANT",
    "INSERT", "INTO", "KILL", "MERGE", "OPENROWSET", "RECEIVE", "RECONFIGURE", "RESTORE", "REVOKE",
    "SEND", "SHUTDOWN", "TRANSACTION", "TRUNCATE", "UPDATE", "WAITFOR", "WRITETEXT",
}  # fmt: skip
"""Words that begin a statement that changes something, or take part in one."""
SCRIPTS = {"json": json_script, "csv": csv_script}


TOKEN = re.compile(r"--[^\n]*|/\*.*?\*/|'((?:[^']|'')*)'|(\[[^\]]*\])|([@$\w]+)|\S", re.DOTALL)


def strings(text: str) -> list[str]:
    """Return every string of a script, without its quotes."""
    found = (match[1] for match in TOKEN.finditer(text))
    return [string.replace("''", "'") for string in found if string is not None]


def words(text: str) -> Iterator[str]:
    """Yield every word, also of the strings that hold a statement."""
    for match in TOKEN.finditer(text):
        if match[3]:
            yield match[3].upper()
    for string in strings(text):
        if "SELECT" in string:
            yield from words(string)


@pytest.mark.parametrize("form", SCRIPTS)
def test_a_script_holds_no_statement_that_writes(form: str) -> None:
    found = list(words(SCRIPTS[form]()))
    # SET TRANSACTION ISOLATION LEVEL is the only thing that is said of transactions.
    pairs = set(pairwise(found))
    assert {before for before, word in pairs if word == "TRANSACTION"} <= {"SET"}
    assert not (set(found) - {"TRANSACTION"}) & WRITES


def test_the_only_thing_that_is_executed_is_the_query_itself() -> None:
    found = list(words(json_script()))
    run = [n for n, word in enumerate(found) if word in ("EXEC", "EXECUTE")]
    assert [found[n + 1 : n + 3] for n in run] == [["@EXECUTE", "@QUERY"]]
    assert "@execute = QUOTENAME(@name) + N'.sys.sp_executesql'" in json_script()


def test_no_body_and_no_key_leaves_the_server() -> None:
    for script in (json_script(), csv_script()):
        bodies = re.findall(r"\S*message_body\S*", script)
        assert set(bodies) == {"DATALENGTH(message_body)"}
        assert "pvt_key" not in script and "thumbprint" not in script


def test_every_view_and_column_that_is_read_is_selected() -> None:
    script = json_script()
    for view in VIEWS.values():
        found = re.search(rf"\(SELECT ((?:(?!FOR JSON).)*)FOR JSON PATH\) AS {view.name}\b", script,
                          re.DOTALL)  # fmt: skip
        assert found is not None, view.name
        for column in view.columns:
            assert re.search(rf"\b{column}\b", found[1]), f"{view.name}.{column}"


def test_the_statement_of_each_database_is_one_string_with_doubled_quotes() -> None:
    [query] = [text for text in strings(json_script()) if "DB_NAME()" in text]
    names = [v.name for v in VIEWS.values() if v.scope is Scope.DATABASE]
    assert all(f"FOR JSON PATH) AS {name}" in query for name in names)
    assert query.count("(") == query.count(")")


def test_the_document_has_the_mark_first() -> None:
    outer = json_script()[json_script().index("DECLARE @document") :]
    assert outer.index(f"1 AS {MARK}") < outer.index("AS server,") < outer.index("AS databases,")


def test_the_csv_script_writes_a_file_per_view() -> None:
    views = re.findall(r"^:OUT \$\(prefix\)(\w+)\.csv$", csv_script(), re.MULTILINE)
    assert views == [name for name in VIEWS if name != "row_counts"]
    assert csv_script().count("\nGO\n") == len(views) + 1


def test_the_servers_words_for_every_status_are_taken() -> None:
    assert all(str(number) in json_script() for number in STATUS_NUMBERS)
    assert list(STATUS_NUMBERS) == sorted(set(STATUS_NUMBERS))


@pytest.mark.parametrize("form", SCRIPTS)
def test_a_script_fits_a_screen_and_is_ascii(form: str) -> None:
    """sqlcmd reads a script without a mark in the code page of the machine."""
    text = SCRIPTS[form]()
    assert text.isascii()
    assert form == "csv" or max(map(len, text.splitlines())) <= 100
