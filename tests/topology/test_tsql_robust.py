"""Whatever a script holds: as-found reading raises nothing, strict reading says where."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.topology.decode import decode
from streams.topology.tsql import Reading, lexer
from tests.fuzz.properties import check_script, read

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "topology" / "scripts").iterdir())
KEPT = sorted((ROOT / "fuzz" / "corpus").iterdir())
PIECES = [
    "'", "''", '"', "[", "]", "(", ")", ",", ";", ".", "=", "+", "--", "/*", "*/", "\nGO\n", "\r",
    "GO", "BEGIN", "END", "IF", "ELSE", "CASE", "BEGIN TRY", "END TRY", "BEGIN CATCH", "WHILE",
    "EXEC (", "EXEC", "@x", "DECLARE @x sysname =", "SET @x +=", "AS", "AT", "N'", "0x", "5", "::",
    ":setvar x y\n", "$(x)", "\n:r x\n", "USE", "CREATE PROC", "CREATE ROUTE", "DROP QUEUE",
    "BEGIN DIALOG", "END CONVERSATION", "RECEIVE", "WAITFOR (", "GRANT SEND ON SERVICE::",
    "‘", "’", "“", "–", "\u00a0", "\ufeff", "\x00", "\ud800", "CAST(", "QUOTENAME(", "INTO",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Return a real script in which some places were cut, doubled or filled with pieces."""
    text = draw(st.sampled_from(SCRIPTS)).read_text(encoding="utf-8")
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.integers(0, 40)))
        middle = draw(st.sampled_from([*PIECES, "", text[begin:end] * 2]))
        text = text[:begin] + middle + text[end:]
    encoding = draw(st.sampled_from(["utf-8", "utf-16", "utf-16-be", "cp1252"]))
    return text.encode(encoding, "replace")


@settings(max_examples=200)
@given(mutated())
def test_a_mutated_script_is_read(data: bytes) -> None:
    check_script(data)


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join))
def test_pieces_in_any_order_are_read(text: str) -> None:
    check_script(text.encode("utf-8", "replace"))


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    check_script(data)


@pytest.mark.parametrize("path", [*SCRIPTS, *KEPT], ids=lambda path: path.name)
def test_an_input_that_was_kept_is_read(path: Path) -> None:
    """The scripts themselves, and what fuzzing found."""
    check_script(path.read_bytes())


@pytest.mark.parametrize("name", ["generated.sql", "tutorial.sql"])
def test_a_long_batch_is_read_in_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is cut changes nothing: variables, blocks and procedures go on."""
    text, _ = decode((ROOT / "topology" / "scripts" / name).read_bytes())
    whole, notes = read(text, Reading.AS_FOUND)
    monkeypatch.setattr(lexer, "_PART", 5)
    batches = lexer.Lexer(text, "").batches()
    assert any(isinstance(batch, lexer.Batch) and batch.goes_on for batch in batches)
    again, noted = read(text, Reading.AS_FOUND)
    assert again == whole
    assert (noted.skipped, noted.understood) == (notes.skipped, notes.understood)


def test_a_part_that_is_broken_costs_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the parts before it stated is kept."""
    monkeypatch.setattr(lexer, "_PART", 5)
    text = "CREATE PROC p AS END CONVERSATION @h\nPRINT 1\nPRINT 'no end\nGO\nCREATE QUEUE Q"
    found, notes = read(text, Reading.AS_FOUND)
    database = found.databases["DB"]
    assert len(database.procedures["p"].ends) == 1 and set(database.queues) == {"Q"}
    assert [finding.line for finding in notes.findings] == [3]


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    [
        "IF 1 = 1 " * 5000, "BEGIN " * 5000, "EXEC(" * 5000, "(" * 50000, "/*" * 50000,
        "EXEC('" * 2000, "CREATE ROUTE R WITH " * 5000, "[" * 50000, "'" * 50001, "ELSE " * 5000,
        "DECLARE @x int = " + "(" * 5000, "SET @x = " + "CAST(" * 5000, "WHILE 1=1 " * 3000,
        "BEGIN TRY " * 5000, "CASE " * 5000, "PRINT '\nGO\n" * 5000,
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_deep_nesting_is_read(text: str) -> None:
    """Nothing here recurses as deep as a script nests."""
    check_script(text.encode())
