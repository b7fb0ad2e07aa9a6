"""Modules import only what they may: import-linter checks layers, syntax trees show the rest."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "streams"

LIBRARIES = {
    "aiokafka": {"agents", "kafka"},  # what Faust reads and writes with; headers of batches
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
    "mssql_python": {"sqlserver"},
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


@functools.cache
def read(path: Path) -> tuple[list[str], dict[str, set[str]], set[str]]:
    """Return what a file imports, the names that it takes from modules, and all that it names."""
    whole: list[str] = []
    taken: dict[str, set[str]] = {}
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            whole += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            taken.setdefault(node.module, set()).update(alias.name for alias in node.names)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.alias):
            found.add(node.name)
    return whole, taken, found


def imports(path: Path) -> list[str]:
    """Return every module that a file imports by its full name, wherever in the file."""
    whole, taken, _ = read(path)
    return [*whole, *taken]


def names(path: Path) -> set[str]:
    """Return every name and attribute that a file mentions."""
    return read(path)[2]


def test_a_layer_imports_only_what_is_below_it() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_client_library_has_one_importing_package() -> None:
    for path in modules(PACKAGE):
        package = path.relative_to(PACKAGE).parts[0]
        for module in imports(path):
            library = module.partition(".")[0]
            if library != "streams" and library not in sys.stdlib_module_names:
                assert library in LIBRARIES, f"{path}: {library} has no place"
                assert package in LIBRARIES[library], f"{path}: {library}"


@pytest.mark.parametrize("package", PURE)
def test_routing_and_protocol_are_pure(package: str) -> None:
    ours = (f"streams.{package}", "streams.errors", "streams.system_names")
    assert not imports(PACKAGE / "system_names.py"), "constants"
    for path in modules(PACKAGE / package):
        for module in imports(path):
            if module.partition(".")[0] == "streams":
                assert module.startswith(ours), f"{path} imports {module}"
            else:
                assert module in PURE_MODULES, f"{path} imports {module}"
        forbidden = {*IDENTITY, "open", "print", "input", "__import__"}
        assert not names(path) & forbidden, path


@pytest.mark.parametrize("package", DECIDING)
def test_what_decides_takes_no_time_no_chance_and_no_identity(package: str) -> None:
    for path in modules(PACKAGE / package):
        assert not set(imports(path)) & OUTSIDE, path
        assert not names(path) & {*IDENTITY, "utcnow", "today"}, path
        assert "datetime.now(" not in path.read_text(encoding="utf-8"), path


def test_one_module_parses_xml() -> None:
    """Other parsers follow chains of entities, until the process ends (CVE-2024-8176)."""
    for path in set(modules(PACKAGE)) - {XML_READER}:
        found = {name for name in imports(path) if name.partition(".")[0] in XML_LIBRARIES}
        assert found <= XML_WITHOUT_PARSER, f"{path} parses XML: {found}"
        assert not (found and names(path) & PARSES_XML), f"{path} parses XML"


def test_the_module_that_parses_xml_is_found() -> None:
    assert {"xml.parsers", "xml.etree"} <= set(imports(XML_READER))
    assert names(XML_READER) & PARSES_XML == {"fromstring", "XMLParser"}


def arrows(package: Path) -> dict[str, set[str]]:
    """Return which modules of a package each of them imports, for its types alone too."""
    paths = modules(package)
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}
    found: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        for module, taken in read(path)[1].items():
            whole = {f"{module}.{each}" for each in taken}
            found[name] |= (whole | {module}) & names.keys() - {name}
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


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert [found for package in PACKAGES if (found := cycles(arrows(package)))] == []


def test_the_package_itself_imports_nothing() -> None:
    # Spark's executors import it.
    assert not imports(PACKAGE / "__init__.py")


def test_every_package_is_on_the_map() -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert not {package for package in packages if f"`{package}`" not in text}


def test_every_module_beside_the_packages_is_on_the_map() -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    modules = {path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("__")}
    assert not {name for name in modules if f"`{name}`" not in text}
