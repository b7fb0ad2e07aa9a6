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
        "mssql://hopline@sql01?Encrypt=yes;PWD=s3cret",
        "mssql://hopline@sql01?Encrypt=yes%3Bp%77d%20=s3cret",
        "mssql://hopline@sql01/master;PWD=s3cret",
        "mssql://hopline;PWD=s3cret@sql01",
        "mssql://hopline%3Bpwd%3Ds3cret@sql01",
        "mssql://hopline@sql01;PWD=s3cret",
        "mssql://sa%3As3cret@sql01",
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
        "mssql://sql01?s3cret", "mssql://sql01?s3cret=1", "mssql://sql01/a;s3cret",
        "mssql://sql01/a:s3cret", "mssql://sql01/a%7Bs3cret", "mssql://a=s3cret@sql01",
        "mssql://a}s3cret@sql01", "mssql://sql01{s3cret", "mssql://sql01%3Bs3cret",
        "mssql://sql01\\PROD{s3cret", "mssql://sql01?Encrypt=yes;s3cret",
        "mssql://sql01?Encrypt=yes:s3cret", "mssql://sql01?ServerCertificate={s3cret}",
    ],
)  # fmt: skip
def test_any_other_text_is_wrong_use_and_not_printed(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_url(text)
    assert refused.value.exit_code == 2 and refused.value.remedy
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("mssql://a=b@sql01", "the user of a URL must not contain any of : ; = { }"),
        ("mssql://sql01/a%3Bb", "the database of a URL must not contain any of : ; = { }"),
        ("mssql://sql01?encrypt=a%3Bb", "the option Encrypt of a URL must not contain any of : ;"),
        ("mssql://sql01?Encrypt=yes&APP=x", "option 2 of a URL is unknown"),
        ("mssql://sql01:99999", "the port of a URL is not a port"),
    ],
)
def test_an_error_names_the_wrong_part(text: str, part: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_url(text)
    assert refused.value.message.startswith(f"--connect: {part}")


def test_a_certificate_may_be_on_a_drive_and_names_may_look_like_secrets() -> None:
    server = read_url("TokenStore=mssql://pwd@token01/Secrets?ServerCertificate=C:\\pwd\\a.pem")
    assert (server.name, server.database, server.user) == ("TokenStore", "Secrets", "pwd")
    assert server.options == {"ServerCertificate": "C:\\pwd\\a.pem"}


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
