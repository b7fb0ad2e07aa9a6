"""A real broker whose clock is wrong: it stamps what it appends by another one than the machine's.

Kafka asks one class for the time. Ours stands before it on the broker's class path.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from streams.embedded import Broker, find_java, kafka_jars

_SOURCE = """
package org.apache.kafka.common.utils;

import java.util.function.Supplier;
import org.apache.kafka.common.errors.TimeoutException;

class SystemTime implements Time {
    private static final SystemTime SYSTEM_TIME = new SystemTime();

    public static SystemTime getSystemTime() { return SYSTEM_TIME; }

    public long milliseconds() { return System.currentTimeMillis() + %dL; }

    public long nanoseconds() { return System.nanoTime(); }

    public void sleep(long milliseconds) { Utils.sleep(milliseconds); }

    public void waitObject(Object waitsOn, Supplier<Boolean> isDone, long deadline)
            throws InterruptedException {
        synchronized (waitsOn) {
            while (!isDone.get()) {
                long left = deadline - milliseconds();
                if (left <= 0) throw new TimeoutException("not done by its deadline");
                waitsOn.wait(left);
            }
        }
    }
}
"""
_COMPILER = "jdk.compiler/com.sun.tools.javac.Main"


def start_ahead(broker: Broker, seconds: float) -> None:
    """Start a broker whose clock is ahead of the machine's by so much; skips without a compiler."""
    with pytest.MonkeyPatch.context() as patched:
        if seconds:
            path = (_compiled(broker.data.path.parent / "time", seconds), *kafka_jars())
            patched.setattr("streams.embedded.broker.kafka_jars", lambda: path)
        broker.start()


def _compiled(folder: Path, seconds: float) -> Path:
    folder.mkdir(parents=True)
    source = folder / "SystemTime.java"
    source.write_text(_SOURCE % (seconds * 1000), encoding="utf-8")
    jars = os.pathsep.join(map(str, kafka_jars()))
    command = [find_java().path, "-m", _COMPILER, "-cp", jars, "-d", folder, source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if "jdk.compiler not found" in done.stderr:
        pytest.skip("compiling a clock needs a JDK")
    assert done.returncode == 0, done.stderr
    return folder
