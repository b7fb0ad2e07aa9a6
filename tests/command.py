"""Run ``hopline`` commands in this process, as a user would run them in a terminal."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from streams.cli import main
from tests.running import System


def invoke(*words: object, given: str | bytes = "", columns: int = 100) -> Result:
    """Run a command in a terminal so wide; raises what it does not tell as an error of its own."""
    runner = CliRunner(env={"COLUMNS": str(columns)})
    result = runner.invoke(main, list(map(str, words)), input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def hopline(*words: object, given: str | bytes = "", columns: int = 100) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of a command."""
    result = invoke(*words, given=given, columns=columns)
    return result.exit_code, result.stdout, result.stderr


def rows(system: System, question: str, *args: str) -> list[dict[str, Any]]:
    """Return what ``hopline query`` answers."""
    code, out, err = hopline("query", question, *args, "--format", "json", *system.options)
    assert code == 0, err
    found: list[dict[str, Any]] = json.loads(out)
    return found
