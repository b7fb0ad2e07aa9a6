"""Processes that tests kill, suspend and resume, and that are restarted whenever they end."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PAUSE = 1.0
"""Seconds before a process that has ended by itself is restarted, as by a supervisor."""
_MOST = 60
"""Maximum number of restarts in a row; after these, a restart does not help."""
REFUSED = 4
"""The exit code of an application that is rejected because its position is lost."""
_REMEDY = re.compile(r"--begin (\d+:\d+)")


class Child:
    """A process that is restarted whenever it is killed."""

    def __init__(self, log: Path, *arguments: str) -> None:
        self.log, self.arguments = log, arguments
        self.start()

    def start(self, *more: str) -> None:
        """Start it, this time with more arguments."""
        command = [sys.executable, "-X", "faulthandler", "-m", *self.arguments, *more]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    @property
    def remedy(self) -> tuple[str, ...]:
        """Return the start position that its rejection names; empty if it was not rejected."""
        found = _REMEDY.findall(self.last_words) if self.code == REFUSED else []
        return (found[-1],) if found else ()

    @property
    def code(self) -> int | None:
        """Return its exit code; ``None`` while it runs."""
        return self._process.poll()

    @property
    def memory(self) -> int:
        """Return its resident memory in megabytes; 0 if it has just ended."""
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text("ascii", "replace")
        except OSError:
            return 0
        found = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
        return int(found[0]) // 1024 if found else 0

    def check(self) -> None:
        """Fail if it has ended by itself."""
        assert self.code is None, self.last_words

    def has_logged(self, text: str) -> bool:
        """Return whether a text is in its log."""
        return text in self.log.read_text(errors="replace")

    @property
    def last_words(self) -> str:
        """Return the end of its log."""
        return self.log.read_text(errors="replace")[-2000:]

    @property
    def reason(self) -> str:
        """Return the log line that explains its end, or the last line."""
        lines = self.last_words.splitlines() or ["nothing"]
        return next((line for line in reversed(lines) if line.startswith("hopline: ")), lines[-1])

    def kill(self) -> None:
        """Kill it with SIGKILL and start it again."""
        self.check()
        self.stop()
        self.start()

    def stop(self) -> None:
        """Kill it without a restart."""
        self._process.kill()
        self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)


class Supervisor:
    """Children by name; one that ends by itself is restarted, as by compose or systemd."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._children: dict[str, Child] = {}
        self._away = Counter[str]()
        self._start_at: dict[str, float] = {}
        self._hard = Counter[str]()
        self._replaced: list[Child] = []
        self.ended = Counter[str]()
        self.refused = Counter[str]()
        self.reasons: list[str] = []

    def start(self, name: str, *arguments: str) -> None:
        """Start a child: the module and its arguments."""
        self._children[name] = Child(self._logs / f"{name.replace('/', '-')}.log", *arguments)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all children."""
        return tuple(self._children)

    def have_logged(self, names: Sequence[str], text: str) -> bool:
        """Return whether each of these children has a text in its log."""
        self.look()
        return all(self._children[name].has_logged(text) for name in names)

    def look(self) -> None:
        """Restart children that have ended by themselves; fail if this does not help."""
        now = time.monotonic()
        for name, child in self._children.items():
            if self._away[name] or child.code is None:
                continue
            due = self._start_at.setdefault(name, now + _PAUSE)
            if now >= due:
                del self._start_at[name]
                self.ended[name] += 1
                self.reasons.append(f"{name}: {child.reason}")
                assert self.ended[name] < _MOST, f"{name} ends again and again: {child.last_words}"
                remedy = child.remedy  # like an operator who reads the message
                self.refused[name] += len(remedy)
                child.start(*remedy)

    def memory(self) -> dict[str, int]:
        """Return the resident memory of each child, in megabytes."""
        return {name: child.memory for name, child in self._children.items()}

    def is_away(self, name: str) -> bool:
        """Return whether a child is absent."""
        return self._away[name] > 0

    def kill(self, name: str) -> None:
        """Kill a child that is not absent with SIGKILL, and restart it."""
        self._children[name].stop()
        self._start_at.pop(name, None)
        self._children[name].start()

    def take_away(self, name: str) -> None:
        """Kill a child with SIGKILL; :meth:`bring_back`, called as many times, restarts it."""
        self._away[name] += 1
        self._children[name].stop()

    def bring_back(self, name: str) -> None:
        """Restart a child that was taken away."""
        if self._away[name] == 1:
            self._children[name].start()
        self._away[name] -= 1

    def pause(self, name: str) -> None:
        """Suspend a child."""
        self._children[name].signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Resume a suspended child; one that was killed meanwhile has been restarted."""
        self._children[name].signal(signal.SIGCONT)

    def replace(self, name: str) -> Child:
        """Suspend a child, and start another process in its place; return the former."""
        former = self._children[name]
        former.signal(signal.SIGSTOP)
        self._replaced.append(former)
        self._children[name] = Child(former.log, *former.arguments)
        return former

    def help(self, name: str, helper: str) -> None:
        """Suspend a worker, and run another one in a separate slot."""
        self.pause(name)
        if helper in self._children:
            self.bring_back(helper)
        else:
            arguments = self._children[name].arguments
            at = arguments.index("--slot") + 1
            self.start(helper, *arguments[:at], "1", *arguments[at + 1 :])

    def last_words(self, asking: Sequence[str] = ()) -> str:
        """Return the ends of all logs, with stack dumps of the processes, which this ends."""
        for name in asking:
            self._children[name].signal(signal.SIGABRT)
        time.sleep(1)
        return "\n".join(f"{name}: {c.last_words[-1200:]}" for name, c in self._children.items())

    def stop(self) -> None:
        """Let all processes drain and leave; kill those that do not end within 15 s."""
        children = [*self._children.values(), *self._replaced]
        for child in children:
            child.signal(signal.SIGTERM)
            child.signal(signal.SIGCONT)
        deadline = time.monotonic() + 15
        while any(child.code is None for child in children) and time.monotonic() < deadline:
            time.sleep(0.05)
        for child in children:
            child.stop()


@contextmanager
def supervised(logs: Path) -> Iterator[Supervisor]:
    """Yield a supervisor; none of its children outlives the block."""
    supervisor = Supervisor(logs)
    try:
        yield supervisor
    finally:
        supervisor.stop()
