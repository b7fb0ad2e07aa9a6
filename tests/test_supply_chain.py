"""Installed packages are locked with hashes, listed with licences, in an SBOM, and audited."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement

from requirements import audit, notices, parts, sbom
from requirements.wanted import locked, normal, wanted
from streams.embedded.locked import Jar
from streams.embedded.locked import locked as locked_jars

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements" / "lock.txt"
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
CLIENTS = ("org.apache.kafka", "kafka-clients")


def needed(requirements: list[str], seen: set[str]) -> set[str]:
    """Return what requirements need of what is installed here, by the packages' own metadata."""
    for requirement in map(Requirement, requirements):
        name = normal(requirement.name)
        for extra in ("", *requirement.extras):
            if requirement.marker and not requirement.marker.evaluate():
                continue
            if (key := f"{name}[{extra}]") not in seen:
                seen.add(key)
                more = [Requirement(text) for text in metadata.requires(name) or []]
                chosen = [m for m in more if not m.marker or m.marker.evaluate({"extra": extra})]
                for each in chosen:
                    each.marker = None
                needed([str(each) for each in chosen], seen)
    return {key.partition("[")[0] for key in seen}


def test_every_locked_package_has_hashes_and_no_address_is_in_the_file() -> None:
    text = LOCK.read_text("utf-8")
    pins = re.findall(r"^[\w.-]+==", text, re.MULTILINE)
    assert len(pins) == len(locked()) > 100
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", package.text) for package in locked())
    assert "://" not in text
    assert "".join(package.text for package in locked()) in text.replace(
        "\n# The following packages are considered to be unsafe in a requirements file:\n", ""
    )


def test_setup_installs_only_what_has_a_hash() -> None:
    installs = re.findall(
        r"^\t.*\$\(PIP\) install (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE
    )
    assert installs == [
        "--require-hashes -r .venv/build-system.txt",
        "--require-hashes --no-build-isolation -r requirements/lock.txt",
        "--no-deps --no-build-isolation -e .",
    ]


@pytest.mark.parametrize("image", parts.IMAGES)
def test_an_image_gets_what_its_extras_need_and_no_tool(image: str) -> None:
    names = {package.name for package in parts.packages(image)}
    extras = ",".join(parts.IMAGES[image])
    missing = needed([f"hopline[{extras}]"], set()) - names - {"hopline"}
    assert missing == set()
    assert names.isdisjoint({"pytest", "mypy", "ruff", "pip-audit", "setuptools", "pip"})
    assert ("pyspark" in names) == (image == "spark")


def test_the_extras_are_those_of_the_dockerfile() -> None:
    stated = re.findall(r"requirements/wanted.py ([\w -]+) >", DOCKERFILE)
    worker, spark = parts.IMAGES["worker"], parts.IMAGES["spark"]
    monitor = " ".join(spark[len(worker) :])
    assert stated == ["build-system", " ".join(worker), "build-system", monitor]
    assert spark[: len(worker)] == worker


def test_the_locked_lines_are_printed_by_python_alone(tmp_path: Path) -> None:
    for name in ("requirements/wanted.py", "requirements/lock.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    command = [sys.executable, "-I", "-S", str(tmp_path / "wanted.py")]
    built = subprocess.run([*command, "build-system"], capture_output=True, text=True, check=True)
    assert re.findall(r"^[\w-]+", built.stdout, re.MULTILINE) == ["setuptools"]
    assert "--hash=sha256:" in built.stdout
    lacking = tmp_path / "lock.txt"
    lacking.write_text(re.sub(r"(?m)^click==.*\n( .*\n)*", "", lacking.read_text("utf-8")), "utf-8")
    refused = subprocess.run([*command, "run"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "requirements/lock.txt lacks click: make lock\n"


def everything() -> set[tuple[str, str]]:
    """Return names and versions of what the lock files state."""
    jars = {jar for lock, folder in notices.LOCKS.items() for jar in locked_jars(lock, folder)}
    return {(p.name, p.version) for p in locked()} | {
        (f"{jar.group}:{jar.artifact}", jar.version) for jar in jars
    }


def test_the_notices_list_what_is_locked() -> None:
    """Red after a change of a lock file: ``make lock`` writes the page, too."""
    assert set(notices.stated()) == everything()


def test_every_lock_of_jars_is_in_the_notices() -> None:
    files = {
        path.stem for folder in ("streams", "bench") for path in ROOT.glob(f"{folder}/**/*.lock")
    }
    assert files == set(notices.LOCKS)


def test_a_licence_is_the_one_that_the_package_states() -> None:
    stated, found = notices.stated(), 0
    for package in locked():
        try:
            installed = metadata.version(package.name)
        except metadata.PackageNotFoundError:
            continue  # not needed on this platform
        assert installed == package.version, f"{package.name}: make setup"
        assert stated[package.name, package.version] == notices.licence_of(package.name)
        found += 1
    assert found > 100


@pytest.mark.parametrize("image", parts.IMAGES)
def test_an_sbom_is_valid_and_lists_every_part(image: str) -> None:
    text = sbom.sbom(image)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bom = json.loads(text)
    assert bom["metadata"]["component"]["name"] == f"hopline/{image}"
    components = {component["bom-ref"]: component for component in bom["components"]}
    listed = {ref.split("?")[0] for ref in components}
    assert {f"pkg:pypi/{p.name}@{p.version}" for p in parts.packages(image)} <= listed
    for jar in parts.jars(image):
        component = components[f"pkg:maven/{jar.group}/{jar.artifact}@{jar.version}"]
        assert component["hashes"] == [{"alg": "SHA-256", "content": jar.sha256}]
        assert component["licenses"]
    needs = {each["ref"]: set(each.get("dependsOn", ())) for each in bom["dependencies"]}
    assert needs[image] == {"hopline"}
    reached, todo = {image}, [image]
    while todo:
        more = needs[todo.pop()] - reached
        reached |= more
        todo += more
    assert reached == {image, *components}


def test_the_sbom_of_spark_has_the_jars_inside_pyspark() -> None:
    inside = parts.bundled("spark")
    assert len(inside) > 200
    assert parts.bundled("worker") == ()
    named = {(jar.group, jar.name, jar.version) for jar in inside}
    spark = metadata.version("pyspark")
    assert ("org.apache.spark", "spark-core_2.13", spark) in named
    refs = {component["bom-ref"] for component in json.loads(sbom.sbom("spark"))["components"]}
    assert f"pkg:maven/org.apache.spark/spark-core_2.13@{spark}" in refs


def jar(version: str, group: str = CLIENTS[0], artifact: str = CLIENTS[1]) -> Jar:
    return Jar("0" * 64, group, artifact, version)


@pytest.mark.parametrize(
    ("version", "ids"),
    [
        ("3.9.0", ["CVE-2025-27817", "CVE-2025-27818", "CVE-2026-33558", "CVE-2026-35554"]),
        ("3.9.1", ["CVE-2026-33558", "CVE-2026-35554"]),
        ("3.9.2", []),
        ("4.0.1", ["CVE-2026-35554"]),
        ("4.2.2", []),
    ],
)
def test_a_vulnerable_client_is_named(version: str, ids: list[str]) -> None:
    assert [re.search(r"CVE-[\d-]+", line)[0] for line in audit.listed([jar(version)])] == ids


def test_no_locked_jar_is_one_of_the_advisories() -> None:
    jars = [j for lock, folder in notices.LOCKS.items() for j in locked_jars(lock, folder)]
    assert any((j.group, j.artifact) == CLIENTS for j in jars)
    assert audit.listed([*jars, *parts.bundled("spark")]) == []


def test_what_is_accepted_is_there_and_says_why() -> None:
    """A reason whose jar is not there any more is to be removed."""
    lines = audit.listed(parts.bundled("spark"), accepted=True)
    accepted = [entry for entry in audit.advisories() if "accepted" in entry]
    assert len(lines) == len(accepted) > 0
    for entry in accepted:
        assert any(entry["id"] in line and entry["accepted"] in line for line in lines)


class Osv(BaseHTTPRequestHandler):
    """OSV's interface: about one package (pip-audit), or about many by their URLs, in order."""

    known: ClassVar[dict[str, list[str]]] = {}
    questions: ClassVar[list[list[str]]] = []

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/query":
            name = asked["package"]["name"]
            self._answer(self._found(f"pkg:pypi/{name}@{asked['version']}", name))
            return
        assert self.path == "/v1/querybatch"
        urls = [query["package"]["purl"] for query in asked["queries"]]
        self.questions.append(urls)
        self._answer({"results": [self._found(url) for url in urls]})

    def _found(self, url: str, name: str = "") -> dict[str, Any]:
        affected = [{"package": {"name": name, "ecosystem": "PyPI"}}]
        found = [{"id": i, "affected": affected} for i in self.known.get(url, ())]
        return {"vulns": found} if found else {}

    def _answer(self, what: dict[str, Any]) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(what).encode())

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def osv(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Osv, "known", {})
    monkeypatch.setattr(Osv, "questions", [])
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Osv)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    yield address
    server.shutdown()
    server.server_close()


def test_osv_is_asked_about_every_jar_in_parts(osv: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_AT_ONCE", 2)
    old = "pkg:maven/org.apache.kafka/kafka-clients@3.9.0"
    Osv.known[old] = ["GHSA-vgq5-3255-v292", "GHSA-5qcv-4rpc-jp93"]
    jars = [jar("3.9.2"), jar("4.2.2"), jar("3.9.0")]
    assert audit.ask_osv(jars, osv) == [f"{old}: GHSA-vgq5-3255-v292, GHSA-5qcv-4rpc-jp93"]
    assert [len(question) for question in Osv.questions] == [2, 1]


@pytest.mark.long
def test_an_audit_of_jars_says_what_it_found(osv: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.audit_jars(osv) is audit.Outcome.CLEAN
    out = capsys.readouterr().out
    assert "OSV): none known" in out and "NOT ASKED" not in out
    [asked] = Osv.questions
    Osv.known[asked[0]] = ["GHSA-0000-0000-0000"]
    assert audit.audit_jars(osv) is audit.Outcome.VULNERABLE
    assert f"  {asked[0]}: GHSA-0000-0000-0000\n" in capsys.readouterr().out


def test_jars_that_nobody_was_asked_about_are_not_clean() -> None:
    """Nothing answers at port 9 of loopback."""
    assert audit.audit_jars("http://127.0.0.1:9") is audit.Outcome.NOT_ASKED


@pytest.mark.long
def test_an_audit_of_packages_says_what_it_found(
    osv: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit.audit_packages(osv) is audit.Outcome.CLEAN
    number = len(locked())
    assert capsys.readouterr().out == f"Python packages ({number}, OSV by pip-audit): none known\n"
    click = metadata.version("click")
    Osv.known[f"pkg:pypi/click@{click}"] = ["GHSA-0000-0000-0000"]
    assert audit.audit_packages(osv) is audit.Outcome.VULNERABLE
    assert f"  click {click}: GHSA-0000-0000-0000\n" in capsys.readouterr().out


def test_a_skipped_package_is_not_clean(capsys: pytest.CaptureFixture[str]) -> None:
    clean = {"name": "click", "version": "8.3.3", "vulns": []}
    skipped = {"name": "jinja2", "skip_reason": "jinja2 was not found"}
    vulnerable = {**clean, "vulns": [{"id": "GHSA-0000-0000-0000"}]}
    assert audit.judge([clean]) is audit.Outcome.CLEAN
    assert audit.judge([clean, skipped]) is audit.Outcome.NOT_ASKED
    assert "NOT ASKED about 1: jinja2 was not found\n" in capsys.readouterr().out
    assert audit.judge([vulnerable, skipped]) is audit.Outcome.VULNERABLE


def test_an_audit_that_could_ask_nobody_is_not_clean() -> None:
    """Nothing answers at port 9 of loopback."""
    environment = {**os.environ, "HOPLINE_OSV": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-m", "requirements.audit"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Python packages: NOT ASKED. pip-audit: " in done.stdout
    assert "OSV): NOT ASKED. http://127.0.0.1:9 did not answer: " in done.stdout
    assert "advisories.toml): none known" in done.stdout


def test_what_is_wanted_grows_with_the_extras() -> None:
    base = {package.name for package in wanted()}
    assert base == {"click", "elementpath", "pyyaml", "xmlschema"}
    assert base < {package.name for package in wanted("run")}
