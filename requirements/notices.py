"""``python -m requirements.notices``: write THIRD_PARTY_NOTICES.md.

Part of `make lock`. The licences of Python packages are read from what is installed, those of jars
from their Maven descriptors. A test compares names and versions with the lock files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from jgo.maven import POM, MavenContext

from requirements.parts import IMAGES, JARS, ROOT, packages
from requirements.wanted import locked as locked_packages
from streams.embedded.locked import Jar
from streams.embedded.locked import locked as locked_jars

FILE = ROOT / "THIRD_PARTY_NOTICES.md"
NOT_STATED = "not stated"
LOCKS: Mapping[str, Path] = {
    "spark": ROOT / "streams" / "embedded",
    "kafka": ROOT / "streams" / "embedded",
    "mirror": ROOT / "bench",
}
"""The lock files of jars and where they are."""
_USED_IN = {"kafka": "embedded broker", "mirror": "benchmark"}
_HEAD = """\
# Third-party notices

Hopline itself is under the [MIT licence](LICENSE). This page lists the other software that its
images contain or that `make setup` and the benchmarks install, with the licence that each package
states. `make lock` writes this page.

The texts of the licences are in the packages: in an image, in
`/opt/hopline/lib/python3.11/site-packages/*.dist-info`, in `META-INF` of each jar, and in
`/usr/share/doc/*/copyright` for Debian's packages. Some packages contain further software:

- `pyspark` contains the jars of Apache Spark. `make sbom` lists them; their licences are those of
  Apache Spark's binary distribution (texts in `pyspark/licenses`).
- `nicegui` contains JavaScript libraries such as Vue, Quasar, Tailwind CSS and Socket.IO, in
  `nicegui/static` and `nicegui/elements`.
- `confluent-kafka` contains librdkafka, `google-re2` contains RE2 and Abseil, `psycopg-binary`
  contains libpq, and `pyarrow` contains Apache Arrow.
- `mssql-python-odbc`, of the extra `sqlserver`, contains Microsoft's ODBC driver, which is not open
  source; its licence is in the package. No image contains it.
"""


def notices() -> str:
    """Return the page."""
    rows = [
        "",
        "## Python packages",
        "",
        "| package | version | licence | in |",
        "|---|---|---|---|",
    ]
    images = {image: {p.name for p in packages(image)} for image in IMAGES}
    for package in locked_packages():
        used = [image for image, names in images.items() if package.name in names]
        where = ", ".join(used) or "no image"
        rows.append(_row(package.name, package.version, licence_of(package.name), where))
    rows += ["", "## Jars", "", "| jar | version | licence | in |", "|---|---|---|---|"]
    rows += _jar_rows()
    return _HEAD + "\n".join(rows) + "\n"


def stated() -> dict[tuple[str, str], str]:
    """Return the licences that the page states, by name and version."""
    row = re.compile(r"^\| ([^|]+) \| (\d[^|]*) \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)
    rows = row.findall(FILE.read_text("utf-8"))
    return {(name, version): licence for name, version, licence in rows}


def licence_of(package: str) -> str:
    """Return an installed package's licence: as an expression, else as its classifiers say."""
    try:
        about = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        raise SystemExit(f"{package} is locked but not installed: make setup") from None
    if "License-Expression" in about:
        return about["License-Expression"]
    classifiers = [
        c.rpartition(" :: ")[2]
        for c in about.get_all("Classifier") or []
        if c.startswith("License :: ") and "approved" not in c.rpartition(" :: ")[2]
    ]
    if classifiers:
        return ", ".join(sorted(classifiers))
    first = "".join(about.get_all("License") or ()).strip().partition("\n")[0]
    return first if first and len(first) < 60 else NOT_STATED


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _jar_rows() -> Iterator[str]:
    used: dict[Jar, list[str]] = {}
    for lock, folder in LOCKS.items():
        images = [image for image, locks in JARS.items() if lock in locks]
        for jar in locked_jars(lock, folder):
            used.setdefault(jar, []).extend(images or [_USED_IN[lock]])
    context = MavenContext(timeout=60)
    for jar in sorted(used, key=lambda jar: jar.coordinate):
        where = ", ".join(dict.fromkeys(used[jar]))
        name = f"{jar.group}:{jar.artifact}"
        yield _row(name, jar.version, _licence_of_jar(context, jar), where)


def _licence_of_jar(context: MavenContext, jar: Jar) -> str:
    pom: POM | None = context.project(jar.group, jar.artifact).at_version(jar.version).pom()
    while pom is not None:
        if names := [str(name).strip() for name in pom.values("licenses/license/name")]:
            return ", ".join(" ".join(name.split()) for name in names)
        pom = context.pom_parent(pom)  # what a parent states holds for its children
    return NOT_STATED


if __name__ == "__main__":
    FILE.write_text(notices(), encoding="utf-8")
