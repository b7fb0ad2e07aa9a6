"""The group: what --help costs, and how every failure is worded and numbered."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.cli.commands import COMMANDS, EXTRAS, Entry
from streams.cli.group import LazyGroup
from streams.cli.text.terminal import folded, text_width
from streams.errors import InputError, SurroundingsError, UsageError

Invoke = Callable[[Callable[[], object]], Result]


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run a function as the only command of a group."""

    def run(function: Callable[[], object]) -> Result:
        module = ModuleType("made_up")
        module.command = click.command("it")(function)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "made_up", module)
        entries = {"it": Entry("made_up:command", "Do it.")}
        return CliRunner().invoke(LazyGroup("group", entries=entries), ["it"])

    return run


def raising(error: BaseException) -> Callable[[], object]:
    def function() -> None:
        raise error

    return function


def hopline(*args: str, **extra: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "streams", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, **extra)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_there_and_documented(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.help
    assert COMMANDS[name].help.endswith(".")


def test_help_lists_every_command_under_its_heading() -> None:
    text = CliRunner().invoke(main, ["--help"]).output
    for name, entry in COMMANDS.items():
        assert f"  {name} " in text
        assert f"{entry.section.value}:" in text


def test_help_begins_with_the_commands_to_begin_with() -> None:
    text = CliRunner().invoke(main, ["--help"]).output
    first, second, *_ = text.partition("Options:")[2].split("\n\n")[1:]
    names = [line.split()[0] for line in first.splitlines()]
    assert names == ["Start", "demo", "import", "explain", "path", "check", "up"]
    assert second.startswith("Ask ")
    listed = [line.split()[0] for line in text.splitlines() if line.startswith("  ")]
    assert all(listed.count(name) == 1 for name in COMMANDS)


@pytest.mark.long
@pytest.mark.parametrize("words", [(), ("explain",), ("capture",), ("capture", "import")])
def test_help_shows_what_the_option_shows(words: tuple[str, ...]) -> None:
    asked, named = hopline(*words, "--help"), hopline("help", *words)
    assert (named.returncode, named.stdout) == (0, asked.stdout)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("expalin",), "No such command 'expalin'. Did you mean 'explain'?"),
        (("capture", "none"), "No such command 'none'."),
        (("capture", "slic"), "No such command 'slic'. Did you mean 'slice'?"),
        (("explain", "it"), "`hopline explain` has no commands, so there is no 'it'."),
    ],
)
def test_help_of_an_unknown_command_is_wrong_use(words: tuple[str, ...], told: str) -> None:
    result = CliRunner().invoke(main, ["help", *words], prog_name="hopline")
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("hopline ver", ["verify", "version"]),
        ("hopline help fl", ["flows"]),
        ("hopline help capture ", ["import", "slice"]),
        ("hopline help explain ", []),
        ("hopline help none ", []),
    ],
)
def test_names_of_commands_are_completed(words: str, names: list[str]) -> None:
    shell = {"_HOPLINE_COMPLETE": "bash_complete", "COMP_WORDS": words}
    given = hopline(env={**os.environ, **shell, "COMP_CWORD": str(words.count(" "))})
    found = [line.removeprefix("plain,") for line in given.stdout.split()]
    assert (found, given.stderr) == (names, "")


def test_help_imports_no_command_and_no_client_library() -> None:
    code = (
        "import sys; from streams.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(eval(done.stderr))
    heavy = {*EXTRAS, "yaml"} | {entry.target.split(":")[0] for entry in COMMANDS.values()}
    assert not heavy & loaded


def test_version_is_the_distributions() -> None:
    assert hopline("--version").stdout == f"hopline {metadata.version('hopline')}\n"
    assert hopline("version").stdout == hopline("--version").stdout


def test_no_arguments_shows_the_help() -> None:
    assert "Usage: hopline" in hopline().stderr


def test_an_unknown_command_is_wrong_use() -> None:
    result = CliRunner().invoke(main, ["no-such-thing"])
    assert result.exit_code == 2
    assert "No such command 'no-such-thing'.\n" in result.stderr
    near = CliRunner().invoke(main, ["expalin"])
    assert "No such command 'expalin'. Did you mean 'explain'?\n" in near.stderr


def test_what_the_outputs_encoding_lacks_is_a_question_mark() -> None:
    """Windows writes files and pipes in CP1252 by default, which has no tree."""
    asked = ("path", "two_brokers", "--from", "ServerA/DatabaseA", "--to", "TargetService")
    done = hopline(*asked, env={**os.environ, "PYTHONIOENCODING": "cp1252"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n?? ServerB (M3 TargetRoute" in done.stdout


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UsageError("No such place.", "Try another."), 2, "No such place.\n  Try another.\n"),
        (SurroundingsError("Java is missing."), 3, "Java is missing.\n"),
        (InputError("Bad.", file="a.sql", line=3, column=7), 2, "a.sql:3:7: Bad.\n"),
        (FileNotFoundError(2, "No such file or directory", "x.yaml"), 2, "x.yaml: No such file"),
        (
            ModuleNotFoundError("", name="fastavro"),
            2,
            "needs the extra 'run': in a clone, pip install",
        ),
        (ModuleNotFoundError("", name="pyspark.sql"), 2, "pip install '.[monitor]'\n"),
    ],
)
def test_a_failure_is_a_sentence_on_stderr(
    invoke: Invoke, error: Exception, code: int, message: str
) -> None:
    result = invoke(raising(error))
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("hopline: ")
    assert message in result.stderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_failure_is_folded_to_the_terminal(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Remedies that list names are long; what a script reads has each on one line."""
    text = f"hopline: No such place.\n  It has: {', '.join(['Instance'] * 30)}."
    assert folded(text, text_width(sys.stderr)) == text
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stderr", Terminal())
    first, *remedy = folded(text, text_width(sys.stderr)).splitlines()
    assert first == "hopline: No such place." and len(remedy) > 4
    assert all(len(line) <= 60 and line.startswith("  ") for line in remedy)


def test_a_failure_that_quotes_somebody_moves_no_cursor(invoke: Invoke) -> None:
    """A name in it may come from a record that anybody has written."""
    result = invoke(raising(UsageError("x \x1b[2J\x9b1m\u202e", "Or\r that.")))
    assert result.stderr == "hopline: x \\x1b[2J\\x9b1m\\u202e\n  Or\\r that.\n"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ZeroDivisionError("of\n  course"), "ZeroDivisionError: of course"),
        (ModuleNotFoundError("gone", name="streams.nowhere"), "ModuleNotFoundError: gone"),
        (OSError(9, "Bad file descriptor"), "OSError: [Errno 9] Bad file descriptor"),
        (RecursionError("x" * 10_000), f"RecursionError: {'x' * 500}"),
    ],
)
def test_an_unexpected_error_is_a_sentence_with_exit_code_3(
    invoke: Invoke,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    text: str,
) -> None:
    """A process with a log, as this one has, writes the traceback there."""
    monkeypatch.delenv("HOPLINE_TRACEBACK")
    result = invoke(raising(error))
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == f"hopline: stopped because of an unexpected error: {text}\n"
    [record] = caplog.records
    assert record.exc_info is not None and record.exc_info[1] is error


def test_an_unexpected_error_with_a_file_names_it_with_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The value of an option is not the file that is read."""
    monkeypatch.delenv("HOPLINE_TRACEBACK")
    (tmp_path / "out").mkdir()
    (tmp_path / "read").mkdir()

    def fail(*_: object) -> None:
        raise ZeroDivisionError("of course")

    monkeypatch.setattr("streams.cli.options.topology.load", fail)
    words = ["export", "-o", str(tmp_path / "out"), str(tmp_path / "read")]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"hopline: stopped at {tmp_path / 'read'} because of an unexpected" in result.stderr


def test_the_traceback_of_an_unexpected_error_is_printed_on_request() -> None:
    code = (
        "import sys, click, types\n"
        "sys.modules['made_up'] = made = types.ModuleType('made_up')\n"
        "made.it = click.command('it')(lambda: 1 / 0)\n"
        "from streams.cli.group import LazyGroup; from streams.cli.commands import *\n"
        "LazyGroup('hopline', entries={'it': Entry('made_up:it', 'It.')})(['it'])"
    )

    def printed(variable: str) -> str:
        environment = {**os.environ, "HOPLINE_TRACEBACK": variable}
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment
        ).stderr

    assert printed("") == (
        "hopline: stopped because of an unexpected error: ZeroDivisionError: division by zero\n"
        "  Set HOPLINE_TRACEBACK=1 to see the traceback, and report the error with it.\n"
    )
    assert printed("1").startswith("Traceback (most recent call last):\n")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interruption_is_130(invoke: Invoke, error: BaseException) -> None:
    assert invoke(raising(error)).exit_code == 130


def test_clicks_own_errors_are_wrong_use_and_never_bad_news(invoke: Invoke) -> None:
    result = invoke(raising(click.ClickException("Hm.")))
    assert (result.exit_code, result.stderr) == (2, "Error: Hm.\n")


def test_an_exit_code_of_a_command_is_kept(invoke: Invoke) -> None:
    def bad_news() -> None:
        click.echo("{}")
        click.get_current_context().exit(1)

    result = invoke(bad_news)
    assert (result.exit_code, result.stdout) == (1, "{}\n")


def test_a_missing_library_names_its_extra() -> None:
    code = (
        "import sys; sys.modules['confluent_kafka'] = None\n"
        "from streams.cli.group import LazyGroup; from streams.cli.commands import *\n"
        "entries = {'it': Entry('confluent_kafka:it', 'It.')}\n"
        "LazyGroup('hopline', entries=entries)(['it'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        done.stderr
        == "hopline: This command needs the extra 'run': in a clone, pip install '.[run]'\n"
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGPIPE")
def test_a_reader_that_has_gone_ends_it_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "streams", "completion", "zsh"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="a disk that is always full")
def test_a_full_disk_is_reported_with_exit_code_3() -> None:
    command = [sys.executable, "-m", "streams", "completion", "zsh"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        3, "hopline: The output is incomplete: No space left on device.\n",
    )  # fmt: skip


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_calls_hopline(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert f"_HOPLINE_COMPLETE={shell}_complete" in result.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=result.stdout, text=True, check=True)


def test_command_names_are_completed_from_the_table() -> None:
    environment = {**os.environ, "_HOPLINE_COMPLETE": "zsh_complete"}
    environment |= {"COMP_WORDS": "hopline ka", "COMP_CWORD": "1"}
    done = hopline(env=environment)
    assert "kafka" in done.stdout.split()
    assert "explain" not in done.stdout
