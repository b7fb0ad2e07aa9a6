"""An Apache Kafka broker (KRaft, broker and controller in one) on this machine's loopback."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import tempfile
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import Self

from streams.embedded import archive
from streams.embedded.jars import KAFKA_VERSION, kafka_jars
from streams.embedded.java import Java, find_java
from streams.embedded.probe import HOST, free_ports, is_free
from streams.embedded.process import end, environment, release, spawn, wait_until
from streams.embedded.properties import NOTHING, Beside, Node, server_properties
from streams.embedded.state import Condition, DataDir, Running, is_locked
from streams.errors import SurroundingsError, UsageError
from streams.private import UMASK, make_folder, write_private

START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 20.0

_EXCEPTION = re.compile(
    r"^(?:Caused by: |Exception in thread \S+ )?[\w.$]+(?:Exception|Error): (.+)$", re.MULTILINE
)

# On a small machine, the serial collector saves 1 s at startup and 100 MB of memory.
_BROKER_JVM = ["-Xms256m", "-Xmx1g", "-XX:+UseSerialGC"]
# The second compiler makes a broker a third faster, but uses half of its CPU time for minutes.
_FIRST_COMPILER = "-XX:TieredStopAtLevel=1"
_TOOL_JVM = ["-Xmx256m", "-XX:+UseSerialGC", _FIRST_COMPILER]
_LOGGING = [
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
]


class _TakenError(SurroundingsError):
    """Another program listens on the port."""


class Broker:
    """The embedded broker on a data folder, which contains all its state.

    So any process can find, query or stop a broker that another process has started. As a context
    manager, the broker starts on entry and stops on exit, and it does not outlive its process.
    """

    def __init__(
        self,
        data: Path,
        *,
        port: int = 0,
        node: Node | None = None,
        cluster: str = "",
        lasting: bool = False,
        beside: Beside = NOTHING,
    ) -> None:
        """Set the data folder and the port to listen on; port 0 selects a free port.

        For one of several brokers, pass its ``node`` and the common ``cluster``. A ``lasting``
        broker is tuned for long runs: it uses more CPU for its first few million records and less
        CPU later. ``beside`` contains additional listeners, for example for TLS and SASL, and their
        properties.
        """
        self.data = DataDir(data.absolute())
        self.port = port
        self._node, self._cluster = node, cluster or new_cluster()
        self._beside = beside
        self._jvm = _BROKER_JVM if lasting else [*_BROKER_JVM, _FIRST_COMPILER]
        self._child: subprocess.Popen[bytes] | None = None
        self._tied = False

    @property
    def bootstrap(self) -> str:
        """Return the running broker's address for ``bootstrap.servers``."""
        running = self.data.recorded()
        if running is None:
            raise UsageError(f"No broker is running on {self.data.path}.", "Start one first.")
        return running.bootstrap

    def condition(self) -> Condition:
        """Return the broker's current condition."""
        if self._child is not None:
            self._child.poll()  # otherwise a dead child stays a zombie
        return self.data.condition()

    def start(self, timeout: float = START_TIMEOUT_S, *, tied: bool = False) -> Running:
        """Format the data folder if it is new, start the broker, and return when it responds.

        A ``tied`` broker, restarted or not, is killed when this process exits or is killed.
        """
        self._tied = self._tied or tied
        self._refuse_second()
        if self.port and not is_free(self.port):
            raise _taken(self.port)
        java, jars = find_java(), kafka_jars()
        make_folder(self.data.path)
        with self.data.starting():
            self._refuse_second()
            cluster = self.data.cluster() or self._format(java, jars)
            options = archive.using(archive.archive_path(java, jars))
            try:
                return self._launch(java, jars, options, cluster, timeout)
            except _TakenError:
                if self._node is not None or (self.port and not is_free(self.port)):
                    raise
                # Another process took the chosen port before Java had started.
                return self._launch(java, jars, options, cluster, timeout)

    def stop(self, timeout: float = STOP_TIMEOUT_S) -> bool:
        """Stop the broker, wait for its exit, remove stale files; return whether it ran."""
        running = self.data.recorded()
        ours = running is not None and self.data.is_ours(running.pid)
        if running is not None and ours:
            end(running.pid, lambda: self._gone(running.pid), timeout)
        self.data.forget()
        self._reap()
        return ours

    def kill(self) -> None:
        """Kill the process, as a power failure would; the data folder remains usable."""
        running = self.data.recorded()
        if running is not None and self.data.is_ours(running.pid):
            end(running.pid, lambda: self._gone(running.pid), 0.0)
        self._reap()

    def release(self) -> None:
        """Let a tied broker outlive this process."""
        self._tied = False
        if self._child is not None:
            release(self._child.pid)

    def __enter__(self) -> Self:
        """Start the broker."""
        self.start(tied=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the broker."""
        self.stop()

    def _refuse_second(self) -> None:
        condition, running = self.condition(), self.data.recorded()
        if condition.is_alive and running is not None:
            raise UsageError(
                f"A broker is already running on {self.data.path}, at {running.bootstrap} "
                f"(process {running.pid}).",
                "Use it, stop it with `hopline kafka stop`, or choose another folder with --data.",
            )
        if is_locked(self.data.log_dir / ".lock"):
            # Check before Kafka does: a second broker would damage the first broker's metadata log.
            raise SurroundingsError(
                f"Another Kafka uses {self.data.log_dir}.",
                "Stop it, or choose another folder with --data.",
            )

    def _format(self, java: Java, jars: tuple[Path, ...]) -> str:
        # Format elsewhere and rename, so that no half-formatted folder is left behind.
        scratch = Path(tempfile.mkdtemp(dir=self.data.path, prefix=".format-"))
        try:
            config = scratch / "server.properties"
            # The tool requires ports in the file; they are not stored.
            text = server_properties(scratch / "log", 1, self._node or Node(1, (2,)))
            write_private(config, text, "ascii")
            options = [*_TOOL_JVM, *archive.using(archive.archive_path(java, jars))]
            tool = ["kafka.tools.StorageTool", "format", "-t", self._cluster, "-c", str(config)]
            done = subprocess.run(
                _java(java, options, jars, tool),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                env=environment(),
                umask=UMASK,
            )
            if done.returncode != 0:
                why = _why(done.stderr + done.stdout, done.returncode)
                raise SurroundingsError(f"Kafka could not format {self.data.path}: {why}")
            os.replace(scratch / "log", self.data.log_dir)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return self._cluster

    def _launch(
        self, java: Java, jars: tuple[Path, ...], options: list[str], cluster: str, timeout: float
    ) -> Running:
        chosen, controller = free_ports(2)
        port = self.port or chosen
        node = self._node or Node(1, (controller,))
        text = server_properties(self.data.log_dir, port, node, self._beside)
        write_private(self.data.properties, text, "ascii")
        main = ["kafka.Kafka", str(self.data.properties)]
        arguments = [*self._jvm, *_LOGGING, *self._beside.java, *options]
        command = _java(java, arguments, jars, main)
        self._child = spawn(command, self.data.log_file, umask=UMASK, tied=self._tied)
        running = Running(self._child.pid, port, cluster, time.time())
        self.data.record(running)
        try:
            self._await_ready(self._child, running, timeout)
        except BaseException:  # Ctrl-C included: leave no process behind
            self.stop(timeout=5.0)
            raise
        return running

    def _await_ready(
        self, child: subprocess.Popen[bytes], running: Running, timeout: float
    ) -> None:
        def settled() -> bool:
            return child.poll() is not None or running.answers()

        in_time = wait_until(settled, timeout)
        if child.poll() is not None:
            raise self._failed(running.port, child.returncode)
        if not in_time:
            raise SurroundingsError(
                f"Kafka did not answer within {timeout:.0f} s at {running.bootstrap}.",
                f"Its log is {self.data.log_file}.",
            )

    def _failed(self, port: int, code: int) -> SurroundingsError:
        log = self.data.log_file.read_text("utf-8", errors="replace")
        if "Address already in use" in log:
            return _taken(port)
        if "Failed to deserialize record" in log:
            return SurroundingsError(
                f"Kafka {KAFKA_VERSION} cannot read {self.data.path}: another version wrote it.",
                "Remove the folder, or choose another with --data.",
            )
        return SurroundingsError(
            f"Kafka stopped during startup: {_why(log, code)}",
            f"Its log is {self.data.log_file}.",
        )

    def _gone(self, pid: int) -> bool:
        if self._child is not None and self._child.pid == pid:
            return self._child.poll() is not None
        return not self.data.is_ours(pid)

    def _reap(self) -> None:
        if self._child is not None and self._child.poll() is not None:
            self._child = None


def prepare() -> bool:
    """Fetch the jars and create the class archive in advance; return False if both exist already.

    The archive contains the classes that a broker has loaded when it stops, so this function starts
    and stops a broker.
    """
    java, jars = find_java(), kafka_jars()
    target = archive.archive_path(java, jars)
    if target.is_file():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".prepare-") as folder:
        scratch = Path(folder) / "classes.jsa"
        broker = Broker(Path(folder))
        cluster = broker._format(java, jars)
        broker._launch(java, jars, archive.writing(scratch), cluster, START_TIMEOUT_S)
        broker.stop(timeout=60.0)
        if scratch.is_file():  # a JVM without the feature needs no archive
            archive.install(scratch, target)
    return True


def new_cluster() -> str:
    """Return an id for a new cluster."""
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    # The tool would read a leading dash as an option.
    return "A" + cluster[1:] if cluster.startswith("-") else cluster


def _java(java: Java, options: list[str], jars: tuple[Path, ...], main: list[str]) -> list[str]:
    classpath = os.pathsep.join(str(jar) for jar in jars)
    return [str(java.path), *options, "-cp", classpath, *main]


def _why(output: str, code: int) -> str:
    found = _EXCEPTION.search(output)
    return found[1] if found else f"exit code {code}, without a reason in the log."


def _taken(port: int) -> _TakenError:
    return _TakenError(
        f"Port {port} on {HOST} is in use.",
        "Stop the process that listens there, or give another --port (0: any free port).",
    )
