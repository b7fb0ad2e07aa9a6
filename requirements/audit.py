"""``python -m requirements.audit``: which locked packages and jars have known vulnerabilities.

`make audit` and the end of `make lock`. OSV (https://osv.dev) is asked, about Python packages by
pip-audit. The jars, with those inside pyspark, are compared with advisories.toml as well, which
needs no service. Exit code 0: nothing known; 1: something is; 2: OSV did not answer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

from packageurl import PackageURL
from packaging.version import Version

from requirements.notices import LOCKS
from requirements.parts import ROOT, Bundled, bundled
from streams.embedded.locked import Jar, locked

OSV = "https://api.osv.dev"
"""HOPLINE_OSV names another server with OSV's interface."""
_AT_ONCE = 500  # OSV takes up to 1,000 queries in one request
_TIMEOUT_S = 30


class Outcome(IntEnum):
    """What came of a question. The greatest is the exit code, but that 1 goes before 2."""

    CLEAN = 0
    VULNERABLE = 1
    NOT_ASKED = 2


def advisories() -> list[dict[str, Any]]:
    """Return the entries of advisories.toml."""
    text = Path(__file__).with_name("advisories.toml").read_text("utf-8")
    listed: list[dict[str, Any]] = tomllib.loads(text)["advisory"]
    return listed


def listed(jars: Iterable[Jar | Bundled], *, accepted: bool = False) -> list[str]:
    """Return a line for each jar that advisories.toml lists in this version.

    ``accepted`` chooses between those that have a reason to stay and those that have none.
    """
    return [
        f"{_name(jar)} {jar.version}: {entry['id']}, {entry.get('accepted', entry['what'])}"
        for jar in jars
        for entry in advisories()
        if ("accepted" in entry) is accepted and _is(jar, entry["jar"])
        if any(_in(jar.version, low, fixed) for low, fixed in entry["affected"])
    ]


def ask_osv(jars: Sequence[Jar | Bundled], server: str) -> list[str]:
    """Return a line for each jar that OSV lists; raise OSError if it does not answer."""
    found = []
    for begin in range(0, len(jars), _AT_ONCE):
        some = jars[begin : begin + _AT_ONCE]
        urls = [PackageURL("maven", j.group, _name(j), j.version).to_string() for j in some]
        question = {"queries": [{"package": {"purl": url}} for url in urls]}
        request = urllib.request.Request(
            f"{server}/v1/querybatch",
            json.dumps(question).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            results = json.load(answer)["results"]
        for url, result in zip(urls, results, strict=True):
            ids = [vulnerability["id"] for vulnerability in result.get("vulns", ())]
            if ids:
                found.append(f"{url}: {', '.join(ids)}")
    return found


def audit_packages(server: str) -> Outcome:
    """Let pip-audit ask OSV about lock.txt, and print what it says."""
    lock = str(ROOT / "requirements" / "lock.txt")
    command = [sys.executable, "-m", "pip_audit", "--requirement", lock, "--require-hashes"]
    # Not the package index: a mirror of it may have no vulnerabilities, and says nothing of that.
    command += ["--vulnerability-service=osv", f"--osv-url={server}/v1/query"]
    command += ["--disable-pip", "--progress-spinner=off", "--format=json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip() or "no answer").splitlines()[-1]
        print(f"Python packages: NOT ASKED. pip-audit: {reason[:300]}")
        return Outcome.NOT_ASKED
    return judge(packages)


def judge(packages: Sequence[dict[str, Any]]) -> Outcome:
    """Print pip-audit's answer. A package that it has skipped was not asked about."""
    found = [
        f"{package['name']} {package['version']}: {vulnerability['id']}"
        for package in packages
        for vulnerability in package.get("vulns", ())
    ]
    outcome = _report(f"Python packages ({len(packages)}, OSV by pip-audit)", found)
    skipped = [package for package in packages if "skip_reason" in package]
    if not skipped:
        return outcome
    print(f"Python packages: NOT ASKED about {len(skipped)}: {skipped[0]['skip_reason']}")
    return outcome or Outcome.NOT_ASKED


def audit_jars(server: str) -> Outcome:
    """Compare all jars with advisories.toml, ask OSV about them, and print what they say."""
    ours = {jar for lock, folder in LOCKS.items() for jar in locked(lock, folder)}
    inside = bundled("spark")
    jars: list[Jar | Bundled] = [*sorted(ours, key=lambda jar: jar.coordinate), *inside]
    known = _report(f"Jars ({len(jars)}, advisories.toml)", listed(jars))
    for line in listed(jars, accepted=True):
        print(f"  accepted: {line}")
    named = [jar for jar in jars if jar.group]
    if len(named) < len(jars):
        names = ", ".join(f"{_name(jar)} {jar.version}" for jar in jars if not jar.group)
        print(f"Jars in pyspark that name no Maven group, and cannot be asked about: {names}")
    try:
        found = ask_osv(named, server)
    except (OSError, ValueError, KeyError) as error:
        print(f"Jars ({len(named)}, OSV): NOT ASKED. {server} did not answer: {error}")
        return known or Outcome.NOT_ASKED
    return Outcome(max(known, _report(f"Jars ({len(named)}, OSV)", found)))


def _is(jar: Jar | Bundled, coordinate: str) -> bool:
    group, artifact = coordinate.split(":")
    return _name(jar) == artifact and jar.group in (group, None)


def _in(version: str, low: str, fixed: str) -> bool:
    return Version(low) <= Version(version) < Version(fixed)


def _name(jar: Jar | Bundled) -> str:
    return jar.artifact if isinstance(jar, Jar) else jar.name


def _report(title: str, found: Sequence[str]) -> Outcome:
    print(f"{title}: {f'{len(found)} with known vulnerabilities' if found else 'none known'}")
    for line in found:
        print(f"  {line}")
    return Outcome.VULNERABLE if found else Outcome.CLEAN


def main() -> int:
    """Print what is known, and return the exit code."""
    server = os.environ.get("HOPLINE_OSV") or OSV
    outcomes = {audit_packages(server), audit_jars(server)}
    return next(o for o in (Outcome.VULNERABLE, Outcome.NOT_ASKED, Outcome.CLEAN) if o in outcomes)


if __name__ == "__main__":
    sys.exit(main())
