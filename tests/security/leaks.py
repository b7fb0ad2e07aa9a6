"""Running a command as a user whose password is in a file, and looking for it everywhere else."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.security.secured import SCRAM, Secured, password_of

PATIENCE = 600
_SECRET = password_of("").split("-")[0]
"""How every password begins."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a command has said, and how every process of it was called while it ran."""

    code: int
    stdout: str
    stderr: str
    processes: frozenset[str]
    folder: Path

    def demand_silence(self) -> None:
        """No password is in what it says, in how it is called, or in a file that it has written."""
        told = [self.stdout, self.stderr, *self.processes]
        told += [
            path.read_text(encoding="utf-8", errors="replace")
            for path in self.folder.rglob("*")
            if path.is_file() and path.parent.name != "secrets"
        ]
        assert not [text for text in told if _SECRET in text]


def environment(secured: Secured, user: str, prefix: str, folder: Path) -> dict[str, str]:
    """Return the variables of a process that is a user, whose password it writes into a file."""
    secret = folder / "secrets" / "password"
    secret.parent.mkdir(exist_ok=True)
    secret.write_text(f"{password_of(user)}\n", encoding="utf-8")
    secret.chmod(0o600)
    return {
        "HOPLINE_BOOTSTRAP": secured.sasl,
        "HOPLINE_PREFIX": prefix,
        "HOPLINE_KAFKA_SECURITY_PROTOCOL": "sasl_ssl",
        "HOPLINE_KAFKA_SASL_MECHANISMS": SCRAM,
        "HOPLINE_KAFKA_SASL_USERNAME": user,
        "HOPLINE_KAFKA_SASL_PASSWORD_FILE": str(secret),
        "HOPLINE_KAFKA_SSL_CA_LOCATION": secured.authority,
    }


def run(folder: Path, variables: dict[str, str], *words: str) -> Done:
    """Run a command of ``hopline`` in a folder."""
    child = subprocess.Popen(
        [sys.executable, "-m", "streams", *words],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        start_new_session=True,
    )
    seen, over = set[str](), threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            seen.update(_called(child.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        stdout, stderr = child.communicate(timeout=PATIENCE)
    finally:
        over.set()
        watcher.join()
        child.kill()
    return Done(child.returncode, stdout, stderr, frozenset(seen), folder)


def _called(pid: int) -> Iterator[str]:
    """Yield how a process and all its children are called."""
    proc = Path(f"/proc/{pid}")
    try:
        yield (proc / "cmdline").read_bytes().decode(errors="replace")
        for task in (proc / "task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _called(int(child))
    except OSError:  # it has ended
        return
