"""TA-20: what the text of a script leaves open is told again by every check."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from streams.topology import Finding

from .folders import report_of

OPEN = """\
    USE D;
    GO
    CREATE TABLE t (x int);
    GO
    CREATE PROCEDURE P @to sysname AS
    BEGIN DIALOG @h FROM SERVICE [S] TO SERVICE @to;
    END CONVERSATION @h;
    GO
    """


def infos(folder: Path, **scripts: str) -> list[Finding]:
    for name, text in scripts.items():
        (folder / f"{name}.sql").write_text(dedent(text), encoding="utf-8")
    return [f for f in report_of(folder).findings if f.code == "TA-20"]


def test_one_info_for_each_instance_with_its_first_place(tmp_path: Path) -> None:
    one, two = infos(tmp_path, A=OPEN, B=OPEN + dedent(OPEN).replace("PROCEDURE P", "PROCEDURE Q"))
    assert (one.severity.value, one.subject, one.line) == ("info", "A", 6)
    assert one.file.endswith("A.sql")
    assert one.message == (
        "1 statement may concern dialogs, but the effect is unknown: BEGIN DIALOG, "
        "known only at run time: TO SERVICE"
    )
    assert (two.subject, two.line, two.evidence["count"]) == ("B", 6, 2)
    assert "2 statements may concern dialogs, but the effect is unknown" in two.message
    assert [s["line"] for s in two.evidence["statements"]] == [6, 14]


def test_what_concerns_no_dialogs_is_no_matter(tmp_path: Path) -> None:
    assert infos(tmp_path, A="CREATE DATABASE D;\nGO\nUSE D;\nCREATE TABLE t (x int);\n") == []
