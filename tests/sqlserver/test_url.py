"""The URL of ``--connect``: a server and a login, but never a password."""

from __future__ import annotations

import pytest

from streams.errors import UsageError
from streams.sqlserver import Server, read_url


@pytest.mark.parametrize(
    ("text", "name", "address", "database", "user"),
    [
        ("mssql://sql01", "sql01", "sql01", "master", None),
        ("ServerA=mssql://hopline@sql01", "ServerA", "sql01", "master", "hopline"),
        ("mssql://hopline@sql01:1434/msdb", "sql01", "sql01,1434", "msdb", "hopline"),
        ("mssql://sql01\\PROD", "sql01\\PROD", "sql01\\PROD", "master", None),
        ("A\\B=MSSQL://me%40corp.com@sql01\\PROD:1/", "A\\B", "sql01\\PROD,1", "master",
         "me@corp.com"),
        ("mssql://me@corp.com@sql01.corp.com/a%20b", "sql01.corp.com", "sql01.corp.com", "a b",
         "me@corp.com"),
    ],
)  # fmt: skip
def test_a_url_states_a_server(
    text: str, name: str, address: str, database: str, user: str | None
) -> None:
    server = read_url(text)
    assert (server.name, server.address) == (name, address)
    assert (server.database, server.user) == (database, user)


@pytest.mark.parametrize(
    "text",
    [
        "mssql://hopline:s3cret@sql01",
        "A=mssql://hopline:s3cret@sql01:1433/master",
        "mssql://:s3cret@sql01",
        "mssql://me@corp.com:s3cret@sql01",
        "mssql://hopline:s3/cr?e#t:s3cret@sql01",
        "mssql://hopline@sql01?PWD=s3cret",
        "mssql://hopline@sql01?Password=s3cret&Encrypt=yes",
        "postgresql://hopline:s3cret@sql01",
    ],
)
def test_a_password_is_refused_and_not_printed(text: str) -> None:
    with pytest.raises(UsageError, match="must not contain a password") as refused:
        read_url(text)
    assert refused.value.exit_code == 2 and "SQLCMDPASSWORD" in refused.value.remedy
    assert not any(part in str(refused.value) for part in ("s3", "cr?e"))


@pytest.mark.parametrize(
    "text",
    [
        "", "sql01", "mssql:s3cret@sql01", "mssql:/s3cret@sql01", "mssql://", "mssql://@",
        "mssql://a,b", "mssql://[::1]:1433", "mssql://a;UID=s3cret", "mssql://a:x", "mssql://a b",
        "mssql://sql01:0", "mssql://sql01:65536", "=mssql://sql01", "A/D=mssql://sql01",
        "postgresql://s3cret@sql01", "mssql://sql01?APP=s3cret", "mssql://sql01?UID=s3cret",
    ],
)  # fmt: skip
def test_any_other_text_is_wrong_use_and_not_printed(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_url(text)
    assert refused.value.exit_code == 2 and refused.value.remedy
    assert "s3cret" not in str(refused.value)


def test_a_login_without_a_user_is_that_of_the_own_account() -> None:
    server = read_url("mssql://sql01")
    assert not server.needs_password
    assert server.keywords(None) == {
        "Server": "sql01", "Database": "master", "Trusted_Connection": "yes",
    }  # fmt: skip


def test_a_user_needs_a_password_which_is_no_part_of_the_server() -> None:
    server = read_url("mssql://hopline@sql01")
    assert server.needs_password and "s3cret" not in repr(server)
    assert server.keywords("s3cret") == {
        "Server": "sql01", "Database": "master", "UID": "hopline", "PWD": "s3cret",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("way", "needs"),
    [
        ("ActiveDirectoryDefault", False), ("ActiveDirectoryMSI", False),
        ("ActiveDirectoryInteractive", False), ("ActiveDirectoryServicePrincipal", True),
        ("SqlPassword", True),
    ],
)  # fmt: skip
def test_the_option_authentication_decides_whether_there_is_a_password(
    way: str, needs: bool
) -> None:
    server = read_url(f"mssql://hopline@sql01?authentication={way}&encrypt=strict")
    assert server.needs_password is needs
    assert server.options == {"Authentication": way, "Encrypt": "strict"}
    without = read_url(f"mssql://sql01?Authentication={way}").keywords(None)
    assert without == {"Server": "sql01", "Database": "master", "Authentication": way}


def test_a_servers_file_has_a_name_that_every_system_accepts() -> None:
    assert Server("sql01\\PROD", "sql01").file == "sql01_PROD.json"
