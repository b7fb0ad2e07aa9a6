"""Who imports what: layers by import-linter, the rest by reading the syntax trees."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "streams"

LIBRARIES = {
    "aiokafka": {"agents"},  # what Faust reads and writes with
    "avro": {"schema"},
    "backports": {"capture"},  # zstandard
    "compression": {"capture"},  # the same, in Python from 3.14 on
    "click": {"cli"},
    "confluent_kafka": {"kafka"},
    "elementpath": {"services"},  # XPath
    "fastapi": {"dashboard"},
    "faust": {"agents"},
    "mode": {"agents"},  # what Faust's services are made of
    # capture: object containers, which are no messages; services: bodies of applications
    "fastavro": {"wire", "capture", "services"},
    "jgo": {"embedded"},
    "jinja2": {"dashboard"},
    "jmespath": {"services"},
    "markupsafe": {"dashboard"},
    "nicegui": {"dashboard"},
    "prometheus_client": {"telemetry"},
    "py4j": {"monitor"},
    "pyarrow": {"capture"},  # Parquet
    "pyspark": {"monitor"},
    "re2": {"node"},  # patterns of schemas
    "sqlalchemy": {"store", "outbox"},
    "starlette": {"dashboard"},
    "uvicorn": {"dashboard"},
    "xmlschema": {"node"},  # VALID_XML: a receiver validates what it shows
    "yaml": {"topology"},
}
"""Each client library and the packages that may import it."""

PURE = ("routing", "protocol")
PURE_MODULES = {
    "__future__",
    "abc",
    "array",
    "bisect",
    "collections",
    "collections.abc",
    "dataclasses",
    "enum",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "math",
    "operator",
    "re",
    "string",
    "struct",
    "types",
    "typing",
    "uuid",
}
"""What a pure package may import of the standard library: no time, chance, log, system, thread."""
DECIDING = ("node", "services", "topology", "analysis")
OUTSIDE = {"asyncio", "logging", "random", "secrets", "socket", "subprocess", "threading", "time"}
"""What is no business of a package that decides: it is given time, chance and identity."""
XML_READER = PACKAGE / "xml_reader.py"
XML_LIBRARIES = {"xml", "pyexpat", "defusedxml", "lxml", "xmltodict"}
XML_WITHOUT_PARSER = {"xml.etree", "xml.etree.ElementTree", "xml.sax.saxutils"}
"""What has functions without a parser, such as ``Element`` and ``escape``."""
PARSES_XML = {
    "fromstring",
    "fromstringlist",
    "iterparse",
    "parse",
    "TreeBuilder",
    "XML",
    "XMLID",
    "XMLParser",
    "XMLPullParser",
}
"""What parses XML in ``ElementTree``; the rest of it builds and writes trees."""
IDENTITY = {"uuid1", "uuid4", "uuid6", "uuid7", "uuid8", "getnode"}


PACKAGES = [path.parent for path in sorted(PACKAGE.glob("*/__init__.py"))]


def modules(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """Yield every module that a file imports by its full name, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def names(path: Path) -> set[str]:
    """Return every name and attribute that a file mentions."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    found: set[str] = set()
    for node in tree:
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.alias):
            found.add(node.name)
    return found


def test_a_layer_imports_only_what_is_below_it() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", modules(PACKAGE), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_client_library_has_one_importing_package(path: Path) -> None:
    package = path.relative_to(PACKAGE).parts[0]
    for module in imports(path):
        library = module.partition(".")[0]
        if library != "streams" and library not in sys.stdlib_module_names:
            assert library in LIBRARIES, f"{library} is no dependency that has a place"
            assert package in LIBRARIES[library], f"{library} belongs to {LIBRARIES[library]}"


@pytest.mark.parametrize(
    "path",
    [path for package in PURE for path in modules(PACKAGE / package)],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_routing_and_protocol_are_pure(path: Path) -> None:
    package = path.relative_to(PACKAGE).parts[0]
    ours = (f"streams.{package}", "streams.errors")
    for module in imports(path):
        if module.partition(".")[0] == "streams":
            assert module.startswith(ours), f"{package} imports {module}"
        else:
            assert module in PURE_MODULES, f"{package} imports {module}"
    assert not names(path) & {*IDENTITY, "open", "print", "input", "__import__"}


@pytest.mark.parametrize(
    "path",
    [path for package in DECIDING for path in modules(PACKAGE / package)],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_what_decides_takes_no_time_no_chance_and_no_identity(path: Path) -> None:
    assert not set(imports(path)) & OUTSIDE
    assert not names(path) & {*IDENTITY, "utcnow", "today"}
    assert "datetime.now(" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "path",
    [path for path in modules(PACKAGE) if path != XML_READER],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_one_module_parses_xml(path: Path) -> None:
    """Other parsers follow chains of entities, until the process ends (CVE-2024-8176)."""
    found = [name for name in imports(path) if name.partition(".")[0] in XML_LIBRARIES]
    assert set(found) <= XML_WITHOUT_PARSER, f"streams/xml_reader.py parses XML: {found}"
    assert not (found and names(path) & PARSES_XML), "streams/xml_reader.py parses XML"


def test_the_module_that_parses_xml_is_found() -> None:
    assert {"xml.parsers", "xml.etree"} <= set(imports(XML_READER))
    assert names(XML_READER) & PARSES_XML == {"fromstring", "XMLParser"}


def arrows(package: Path) -> dict[str, set[str]]:
    """Return which modules of a package each of them imports, for its types alone too."""
    paths = modules(package)
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}
    found: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                found[name] |= (whole | {node.module}) & names.keys() - {name}
    return found


def cycles(found: dict[str, set[str]]) -> set[str]:
    """Return the modules that no order can be found for."""
    left = {name: set(to) for name, to in found.items()}
    while True:
        free = {name for name, to in left.items() if not to & left.keys()}
        free |= {name for name in left if not any(name in to for to in left.values())}
        if not free:
            return set(left)
        left = {name: to for name, to in left.items() if name not in free}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_no_module_imports_itself_by_way_of_others(package: Path) -> None:
    assert not cycles(arrows(package))


def test_the_package_itself_imports_nothing() -> None:
    # Spark's executors import it.
    assert not list(imports(PACKAGE / "__init__.py"))


def test_every_package_is_on_the_map() -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert not {package for package in packages if f"`{package}`" not in text}
