"""TA-01 and TA-02: a flow that code begins is told at its BEGIN DIALOG."""

from __future__ import annotations

from pathlib import Path

import pytest

from .folders import report_of

SCRIPT = """\
CREATE DATABASE D;
GO
USE D;
CREATE QUEUE Q;
CREATE SERVICE S ON QUEUE Q;
GO
{}
GO
CREATE PROCEDURE P AS
  BEGIN DIALOG @h FROM SERVICE [S] TO SERVICE 'T';
  END CONVERSATION @h;
GO
"""


@pytest.mark.parametrize(
    ("statement", "code", "place"),
    [
        ("DROP ROUTE AutoCreatedLocal;", "TA-01", (10, 3)),
        ("", "TA-02", (10, 3)),
        # A route that somebody wrote is what to look at.
        ("CREATE ROUTE R WITH SERVICE_NAME = 'T', ADDRESS = 'LOCAL';", "TA-02", (7, 1)),
    ],
)
def test_the_place_of_what_code_begins(
    tmp_path: Path, statement: str, code: str, place: tuple[int, int]
) -> None:
    (tmp_path / "A.sql").write_text(SCRIPT.format(statement), encoding="utf-8")
    [found] = [f for f in report_of(tmp_path).findings if f.code == code]
    assert (found.line, found.column) == place
