"""The worker that has written a log line."""

from __future__ import annotations

from contextvars import ContextVar

WORKING: ContextVar[tuple[str, str]] = ContextVar("WORKING")
"""The role and instance of the worker that runs in this thread; unset in any other thread."""
