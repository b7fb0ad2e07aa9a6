"""Signals that ask a process to stop."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType


def call_on_stop(stop: Callable[[], object], *, once: bool = False) -> None:
    """Call ``stop`` in another thread for each SIGTERM and SIGINT; call this in the main thread.

    A signal handler must not take a lock. It runs in the main thread between any two instructions,
    even in the middle of a call that holds the same lock. ``threading.Event.set`` takes a lock, so
    two signals at the same time would hang the process. Therefore the handlers do nothing, and a
    thread reads the signals from a socket. With ``once``, the second signal stops the process.
    """
    numbers = (signal.SIGTERM, signal.SIGINT)
    reading, writing = socket.socketpair()
    writing.setblocking(False)

    def handle(_: int, __: FrameType | None) -> None:
        if once:
            for number in numbers:
                signal.signal(number, signal.SIG_DFL)

    signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, handle)
    threading.Thread(
        target=_serve, args=(reading, writing, stop, numbers), name="signals", daemon=True
    ).start()


def _serve(
    reading: socket.socket,
    writing: socket.socket,  # must stay open while signals are written to it
    stop: Callable[[], object],
    numbers: tuple[int, ...],
) -> None:
    while writing.fileno() >= 0:
        for number in reading.recv(64):
            if number in numbers:
                stop()
