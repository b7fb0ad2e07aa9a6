"""Fetch locked jars from a Maven repository; only this module imports jgo.

A jar is stored in the cache only when it is complete and its SHA-256 matches. The user's local
Maven repository is read first and never written to.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jgo.constants import MAVEN_CENTRAL_URL, default_maven_repo
from jgo.maven import MavenContext

from streams.embedded.locked import Jar
from streams.errors import SurroundingsError

_ATTEMPTS = 3
_PARALLEL = 6
_TIMEOUT_S = 60


def fetch(jars: tuple[Jar, ...], folder: Path) -> None:
    """Put every jar into ``folder``; raise an error if a jar is unavailable or does not match."""
    folder.mkdir(parents=True, exist_ok=True)
    # In the same folder, so that the final move is a rename.
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch,
        ThreadPoolExecutor(_PARALLEL) as pool,
    ):
        list(pool.map(lambda jar: _fetch_one(jar, folder, Path(scratch)), jars))


def _fetch_one(jar: Jar, folder: Path, scratch: Path) -> None:
    failure = ""
    for attempt in range(_ATTEMPTS):
        # If a jar in the local repository is damaged, the second attempt fetches it remotely.
        local = [default_maven_repo()] if attempt == 0 else []
        work = scratch / f"{jar.file}.{attempt}"
        context = MavenContext(
            repo_cache=work,
            local_repos=local,
            remote_repos={"central": os.environ.get("HOPLINE_MAVEN") or MAVEN_CENTRAL_URL},
            timeout=_TIMEOUT_S,
        )
        try:
            found = _resolve(context, jar)
        # jgo raises the exceptions of requests, and RuntimeError for "not found".
        except (OSError, RuntimeError) as error:
            failure = str(error)
            continue
        copy = shutil.copyfile(found, scratch / jar.file)
        if hashlib.sha256(copy.read_bytes()).hexdigest() == jar.sha256:
            os.replace(copy, folder / jar.file)
            return
        failure = "the file's SHA-256 differs from the locked one"
    raise SurroundingsError(
        f"Could not fetch {jar.coordinate}: {failure}.",
        "Check the network, set HOPLINE_MAVEN to a mirror of Maven Central, or, for the broker, "
        "set KAFKA_HOME to an unpacked Kafka 4.",
    )


def _resolve(context: MavenContext, jar: Jar) -> Path:
    component = context.project(jar.group, jar.artifact).at_version(jar.version)
    return Path(component.artifact().resolve())
