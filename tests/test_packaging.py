"""The wheel is built from the source archive, installed without extras, and runs in any folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from importlib import metadata
from pathlib import Path

import click
import pytest

from streams.cli import main
from streams.cli.commands import COMMANDS, Section

ROOT = Path(__file__).parent.parent
SOURCES = ["pyproject.toml", "setup.py", "MANIFEST.in", "LICENSE", "README.md", "CHANGELOG.md"]
FOLDERS = ["streams", "schemas", "topologies"]
BASE = ["click", "PyYAML", "xmlschema", "elementpath"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@dataclass(frozen=True)
class Installed:
    """An environment that has the base install, and an empty folder to run it from."""

    python: Path
    elsewhere: Path

    def run(self, *command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **more}
        for name in ("PYTHONPATH", "VIRTUAL_ENV"):
            environment.pop(name, None)
        return subprocess.run(
            command,
            cwd=self.elsewhere,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def hopline(self, *args: str, **more: str) -> subprocess.CompletedProcess[str]:
        script = self.python.with_name("hopline")
        assert script.with_suffix(self.python.suffix).exists()
        return self.run(script, *args, **more)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build from a copy: a build in the tree would pick up what a former one left.

    Returns the folder of the source archive, and of the wheel that was built from the archive.
    """
    copy = tmp_path_factory.mktemp("tree")
    for name in SOURCES:
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, copy / name)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "build", "--no-isolation"]
    call([*build, "--outdir", str(copy / "dist"), str(copy)])
    return copy / "dist"


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (path,) = dist.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def stated(wheel: Path) -> Message:
    """Return the wheel's metadata."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return BytesParser().parsebytes(archive.read(name))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install the wheel without an index: its base dependencies are copied from here."""
    folder = tmp_path_factory.mktemp("environment")
    call([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    site = Path(call([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]))
    for name in BASE:
        for file in metadata.files(name) or []:
            if ".." not in file.parts:
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), site / file)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-index", "-q"]
    call([*pip, str(wheel)])
    return Installed(python, tmp_path_factory.mktemp("elsewhere"))


def call(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.mark.long
def test_metadata_has_what_an_index_shows(stated: Message) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert stated["Version"] == PROJECT["version"]
    assert stated["License-Expression"] == "MIT"
    assert stated["Description-Content-Type"] == "text/markdown"
    assert stated.get_payload(decode=True).decode("utf-8").strip() == readme.strip()


def test_supported_versions_are_those_of_the_classifiers(stated: Message) -> None:
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(stated.get_all("Classifier", [])))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"Supported: Python {versions[0]} to {versions[-1]}." in readme
    assert stated["Requires-Python"] == f">={versions[0]}"  # newer ones are not refused


def test_the_base_install_has_no_limit_that_only_an_extra_needs(stated: Message) -> None:
    base = [each for each in stated.get_all("Requires-Dist", []) if "extra ==" not in each]
    limited = {re.match(r"[\w-]+", each)[0] for each in base if "<" in each}  # type: ignore[index]
    assert limited == {"xmlschema", "elementpath"}  # their interfaces change with major versions


def test_the_source_archive_has_what_the_wheel_is_built_from(dist: Path) -> None:
    (path,) = dist.glob("*.tar.gz")
    assert path.name == f"hopline-{PROJECT['version']}.tar.gz"
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for folder in ("schemas", "topologies"):
        assert {f"{folder}/{name}" for name in listing(ROOT / folder)} <= names
    assert set(SOURCES) <= names


def test_the_changelog_begins_with_this_version_or_with_what_is_unreleased() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\S+)(?: - \d{4}-\d\d-\d\d)?$", text, re.MULTILINE)
    released = [heading for heading in headings if heading != "Unreleased"]
    assert headings[0] in ("Unreleased", released[0])
    assert released[0] == PROJECT["version"]


@pytest.mark.long
def test_the_base_install_tells_its_version_and_its_help(installed: Installed) -> None:
    version = installed.hopline("--version")
    assert (version.returncode, version.stdout) == (0, f"hopline {PROJECT['version']}\n")
    help_ = installed.hopline("--help")
    assert help_.returncode == 0
    assert "Usage: hopline" in help_.stdout


@pytest.mark.long
def test_it_runs_as_a_module_too(installed: Installed) -> None:
    assert installed.run(installed.python, "-m", "streams", "--version").returncode == 0


@pytest.mark.parametrize("name", ["schemas", "topologies"])
def test_the_shipped_folders_are_found_in_the_wheel(installed: Installed, name: str) -> None:
    code = f"from streams.resources import *; print({name}_dir())"
    done = installed.run(installed.python, "-c", code)
    folder = Path(done.stdout.strip())
    assert not folder.is_relative_to(ROOT)
    assert listing(folder) == listing(ROOT / name)


def test_a_command_of_an_extra_says_which(installed: Installed) -> None:
    empty = str(installed.elsewhere / "cache")
    done = installed.hopline("kafka", "start", "--port", "0", HOPLINE_CACHE=empty, KAFKA_HOME="")
    assert done.returncode == 2
    assert (
        done.stderr
        == "hopline: This command needs the extra 'run': in a clone, pip install '.[run]'\n"
    )


HELP = """
import sys
from click.testing import CliRunner
from streams.cli import main
for words in sys.argv[1:]:
    before = set(sys.modules)
    result = CliRunner().invoke(main, words.split())
    print(words, result.exit_code, result.stderr, result.stdout.startswith("Usage: "))
    for name in set(sys.modules) - before:  # each command is imported as if it were the only one
        del sys.modules[name]
"""


@pytest.mark.long
def test_every_command_shows_its_help_without_its_extra(installed: Installed) -> None:
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in COMMANDS}
    groups = {name: c.commands for name, c in found.items() if isinstance(c, click.Group)}
    within = [f"{name} {each}" for name, commands in groups.items() for each in commands]
    asked = [f"{words} --help" for words in (*COMMANDS, *within)] + ["help capture import"]
    done = installed.run(installed.python, "-c", HELP, *asked)
    assert done.stdout.splitlines() == [f"{words} 0  True" for words in asked], done.stderr
    refused = installed.hopline("begin", "--at", "-h")
    assert (refused.returncode, refused.stdout) == (2, "")


def test_a_capture_of_a_simulation_says_so_too_and_a_diagram_needs_nothing(
    installed: Installed,
) -> None:
    done = installed.hopline("simulate", "local/request_reply", "--capture", "a.avro")
    assert (done.returncode, done.stdout) == (2, "")
    assert "This command needs the extra 'run': in a clone, pip install '.[run]'" in done.stderr
    assert not (installed.elsewhere / "a.avro").exists()
    drawn = installed.hopline("simulate", "local/request_reply", "--diagram", "a.svg")
    assert (drawn.returncode, drawn.stderr) == (0, "")
    assert (installed.elsewhere / "a.svg").read_text(encoding="utf-8").startswith("<svg ")


SENDER = "ServerA/DatabaseA/InitiatorService"
ASKED: dict[str, tuple[list[str], int]] = {
    "import": (["ServerA=server_a.sql", "--output", "imported"], 0),
    "explain": (["combined", "--at", "ServerA/DatabaseA", "--to", "TargetService"], 0),
    "path": (["combined", "--from", SENDER, "--to", "TargetService"], 0),
    "check": (["several_targets"], 1),
    "flows": (["combined"], 0),
    "diff": (["combined", "--without", "GatewayA"], 1),
    "diagnose": (["ServerA.json"], 1),
    "export": (["combined", "--at", "ServerA/DatabaseA"], 0),
    "simulate": (["local/request_reply"], 0),
    "generate": (["estate", "--instances", "20", "--routes", "100", "--output", "estate"], 0),
}
"""Each command that asks, and `generate estate`, with arguments and its exit code.

Scripts and snapshots lie beside it.
"""
FILES = (
    ROOT / "topologies" / "load_balanced" / "server_a.sql",
    ROOT / "docs" / "examples" / "stuck" / "ServerA.json",
)
# What Windows does not have, and what no extra must bring in.
WINDOWS = """
import os, signal, sys
for name in ("fcntl", "grp", "pwd", "resource", "termios", "confluent_kafka", "fastavro", "jgo",
             "py4j", "pyspark", "sqlalchemy", "streams.kafka", "streams.embedded", "streams.store"):
    sys.modules[name] = None
for name in ("fork", "kill", "killpg", "getuid", "geteuid", "setsid", "uname"):
    delattr(os, name)
for name in ("SIGKILL", "SIGALRM", "SIGHUP", "SIGUSR1", "alarm", "setitimer"):
    delattr(signal, name)
from streams.cli import main
main(sys.argv[1:])
"""


def test_every_command_that_asks_is_tried() -> None:
    assert set(ASKED) >= {n for n, e in COMMANDS.items() if e.section is Section.ASK}


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in ASKED if name in COMMANDS])
def test_a_command_that_asks_needs_no_extra_and_no_posix(installed: Installed, name: str) -> None:
    """It answers from another folder, on what Windows has, and loads no Kafka, Java or Spark."""
    for file in FILES:
        shutil.copy(file, installed.elsewhere / file.name)
    args, code = ASKED[name]
    done = installed.run(installed.python, "-c", WINDOWS, name, *args)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stderr
    assert done.stdout


def listing(folder: Path) -> set[str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)) for path in files if path.suffix != ".pyc"}
