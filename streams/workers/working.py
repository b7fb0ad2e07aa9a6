"""The worker that a log line comes from."""

from __future__ import annotations

from contextvars import ContextVar

WORKING: ContextVar[tuple[str, str]] = ContextVar("WORKING")
"""The role and the instance of the worker whose thread this is; unset in any other thread."""
