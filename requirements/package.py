"""Build, check and install the wheel and the source archive: `make package`.

Both are built from the last commit, into ``build/package``. Each of the given Pythons gets an empty
environment for the base, for each extra alone, and for all extras together; then commands and
imports show that what was installed works. Needs a package index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUTPUT = ROOT / "build" / "package"
_PATH = ("load_balanced", "--from", "ServerA/DatabaseA/InitiatorService", "--to", "TargetService")
WORKS = {
    "": "streams.cli",
    "run": "streams.agents, streams.client, streams.live, streams.workers",
    "monitor": "streams.dashboard, streams.monitor, streams.store",
    "postgres": "psycopg",
    "parquet": "pyarrow.parquet",
    "sqlserver": "streams.sqlserver, mssql_python",
    "dev": "pytest",
    "docs": "mkdocs",
}
"""The packages of an extra, which can be imported after it was installed."""
EVERYTHING = "run,monitor,postgres,parquet,sqlserver"


def build() -> Path:
    """Build both archives from the last commit, and check their metadata; return the wheel."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        clone, tools = Path(folder, "clone"), _environment(sys.executable, Path(folder, "tools"))
        _run("git", "clone", "--quiet", ROOT, clone)
        _run(tools, "-m", "pip", "install", "--quiet", "build", "twine")
        _run(tools, "-m", "build", "--outdir", OUTPUT, clone)
        _run(tools, "-m", "twine", "check", "--strict", *sorted(OUTPUT.iterdir()))
    [wheel] = OUTPUT.glob("*.whl")
    return wheel


def install(archive: Path, python: str, extra: str) -> None:
    """Install an archive into an empty environment, outside of any clone, and use it."""
    with tempfile.TemporaryDirectory() as folder:
        own = _environment(python, Path(folder, "environment"))
        wanted = f"hopline[{extra}] @ {archive.as_uri()}" if extra else str(archive)
        _run(own, "-m", "pip", "install", "--quiet", wanted)
        hopline = own.with_name("hopline")
        _run(hopline, "--version", cwd=folder)
        _run(hopline, "path", *_PATH, cwd=folder)
        for part in extra.split(","):
            _run(own, "-c", f"import {WORKS[part]}", cwd=folder)


def main(pythons: Sequence[str]) -> None:
    """Build, check and install, and report each step."""
    wheel = build()
    [source] = OUTPUT.glob("*.tar.gz")
    for python, archive, extra in _wanted(pythons, wheel, source):
        install(archive, python, extra)
        print(f"{python}: {archive.name}{f'[{extra}]' if extra else ''} works", flush=True)


def _wanted(pythons: Sequence[str], wheel: Path, source: Path) -> Iterator[tuple[str, Path, str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for python in pythons:
        yield python, source, ""
        for extra in ("", *project["optional-dependencies"], EVERYTHING):
            yield python, wheel, extra


def _environment(python: str, folder: Path) -> Path:
    _run(python, "-m", "venv", folder)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _run(*command: str | Path, cwd: str | Path | None = None) -> None:
    inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=inherited, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main(sys.argv[1:] or [sys.executable])
