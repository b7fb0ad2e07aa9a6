"""T-SQL that is wrong: an error with its place, and what was expected there."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import InputError

from .build import from_sql

ERRORS = [
    ("CREATE ROUTE WITH ADDRESS = 'LOCAL'", 2, 19, "expected WITH"),
    ("CREATE ROUTE R", 2, 15, "expected WITH"),
    ("CREATE ROUTE R WITH SERVICE_NAME = 'S';", 2, 39, "ADDRESS"),
    ("CREATE ROUTE R WITH ADDRESS = LOCAL", 2, 31, "a string"),
    ("CREATE ROUTE R WITH ADRESS = 'x'", 2, 21, "ADDRESS"),
    ("CREATE ROUTE R WITH ADDRESS = 'x' SERVICE_NAME = 'S'", 2, 35, "','"),
    ("CREATE ROUTE R WITH ADDRESS = 'x', ADDRESS = 'y'", 2, 36, "once"),
    ("CREATE ROUTE R WITH LIFETIME = 'x'", 2, 32, "whole number"),
    ("CREATE ROUTE R WITH ADDRESS = 'x' PLEASE", 2, 35, "next statement"),
    ("CREATE ROUTE R WITH\n  ADDRESS = 'x", 3, 13, "is not closed"),
    ("PRINT 'x' /* no end", 2, 11, "is not closed"),
    ("SELECT [abc", 2, 8, "is not closed"),
    ("CREATE CONTRACT C (M SENT BY NOBODY)", 2, 30, "INITIATOR or TARGET or ANY"),
    ("CREATE MESSAGE TYPE M VALIDATION = XML", 2, 36, "WELL_FORMED_XML"),
    ("CREATE QUEUE Q WITH STATUS = MAYBE", 2, 30, "ON or OFF"),
    ("CREATE SERVICE S ON Q", 2, 21, "QUEUE"),
    ("CREATE SERVICE S ON QUEUE Q (\nGO", 3, 1, "the end of the batch"),
    ("CREATE ENDPOINT E STATE = ON AS TCP ()", 2, 27, "STARTED"),
    ("CREATE ENDPOINT E AS TCP (LISTENER_PORT = 99999)", 2, 43, "port"),
    ("ALTER QUEUE Q STATUS = ON", 2, 15, "WITH"),
    ("ALTER QUEUE Q WITH POISON_MESSAGE_HANDLING = OFF", 2, 44, "'('"),
    ("ALTER DATABASE DB SET HONOR_BROKER_PRIORITY MAYBE", 2, 45, "ON or OFF"),
    ("CREATE BROKER PRIORITY P FOR CONVERSATION SET (PRIORITY_LEVEL = 11)", 2, 65, "1 to 10"),
    ("CREATE BROKER PRIORITY P FOR CONVERSATION SET (REMOTE_SERVICE_NAME = R)", 2, 70, "a string"),
    ("ALTER BROKER PRIORITY P FOR CONVERSATION", 2, 41, "SET"),
    ("CREATE XML SCHEMA COLLECTION X AS 5", 2, 35, "a string"),
    ("CREATE CERTIFICATE C WITH SUBJECT = 's', EXPIRY_DATE = 'soon'", 2, 56, "a date"),
    ("CREATE CERTIFICATE C WITH SUBJECT = s", 2, 37, "a string"),
    ("CREATE REMOTE SERVICE BINDING B TO SERVICE S WITH USER = u", 2, 44, "a string"),
    ("CREATE REMOTE SERVICE BINDING B TO SERVICE 'S' WITH ANONYMOUS = ON", 2, 67, "USER"),
    ("ALTER SERVICE S", 2, 16, "ON QUEUE"),
    ("ALTER SERVICE S (CONTRACT C)", 2, 18, "ADD or DROP"),
    ("GRANT SEND ON SERVICE S TO u", 2, 23, "':'"),
    ("REVOKE SEND ON SERVICE::S u", 2, 27, "TO or FROM"),
    ("DROP QUEUE", 2, 11, "the queue's name"),
    ("DROP ENDPOINT 'E'", 2, 15, "the endpoint's name"),
    ("ALTER ENDPOINT E FOR SERVICE_BROKER (ENCRYPTION = NO)", 2, 51, "REQUIRED or"),
    ("BEGIN DIALOG @h FROM SERVICE S TO 'T'", 2, 35, "SERVICE"),
    ("BEGIN DIALOG @h FROM SERVICE S TO SERVICE 'T' WITH LIFE = 5", 2, 52, "LIFETIME"),
    ("RECEIVE * INTO @t", 2, 18, "FROM"),
    ("GET CONVERSATION GROUP @g Q", 2, 27, "FROM"),
    ("CREATE PROCEDURE 5 AS PRINT 1", 2, 18, "the procedure's name"),
]


@pytest.mark.parametrize(("sql", "line", "column", "expected"), ERRORS)
def test_bad_syntax_is_an_error_with_its_place(
    tmp_path: Path, sql: str, line: int, column: int, expected: str
) -> None:
    """A statement of ours that is wrong says file, line, column, what was expected, the syntax."""
    with pytest.raises(InputError) as caught:
        from_sql(tmp_path, sql)
    error = caught.value
    assert (error.line, error.column) == (line, column), error.message
    assert error.file.endswith("I1.sql") and expected in error.message and error.remedy
