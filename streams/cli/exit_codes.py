"""The exit codes of commands besides 0 and those of exceptions (:mod:`streams.errors`)."""

from __future__ import annotations

NOT_OK = 1
"""The command ran, and its result is negative: findings, losses, differences, or not ready."""
INTERRUPTED = 130
"""The command was interrupted with Ctrl-C; shells report SIGINT with this code."""
READER_GONE = 141
"""The reader closed the output; shells report SIGPIPE with this code."""
