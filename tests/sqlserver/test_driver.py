"""Microsoft's driver itself, as far as it goes without a server."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from streams.sqlserver.url import OPTIONS
from tests.ports import reserved

pytestmark = pytest.mark.skipif(
    find_spec("mssql_python") is None, reason="no driver for this platform: make setup"
)
PORTABLE = {"MSSQL_PYTHON_NATIVE_PROVIDER": "mssql-odbc"}
"""The driver's part that needs no libraries of the system; the default one needs libltdl."""


def test_a_closed_port_is_reported_with_the_remedy_and_without_the_password() -> None:
    with reserved(1) as [port]:
        url = f"ServerA=mssql://hopline@127.0.0.1:{port}"
        done = subprocess.run(
            [sys.executable, "-m", "streams", "diagnose", "--connect", url],
            env=os.environ | PORTABLE | {"SQLCMDPASSWORD": "s3cret"},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    assert f"Cannot connect to ServerA (127.0.0.1,{port}): " in done.stderr
    assert "Check host and port" in done.stderr and "Traceback" not in done.stderr
    assert "s3cret" not in done.stderr


def test_the_driver_knows_every_option_and_keyword() -> None:
    """It ignores unknown keywords with no more than a line in its log."""
    from mssql_python.connection_string_parser import _ConnectionStringParser

    for name in (*OPTIONS, "Server", "Database", "UID", "PWD", "Trusted_Connection"):
        assert _ConnectionStringParser.normalize_key(name) is not None, name
