"""The group behind ``hopline``: load commands on demand, and report every failure.

The exit codes are 0 (success), 1 (the result is negative), 2 (incorrect usage or unreadable input),
3 (the environment is missing or broken, or an unexpected error), 130 (interrupted) and 141 (the
reader of the output has closed it).
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from streams.cli.commands import COMMANDS, EXTRAS, Entry, Section
from streams.cli.exit_codes import INTERRUPTED, READER_GONE
from streams.cli.text.terminal import coloured, folded, text_width
from streams.errors import HoplineError

_HELP = f"{__name__}.help"
"""Key in a click context's ``meta``: whether the arguments request help."""
_WORDS = f"{__name__}.words"
"""Key in a click context's ``meta``: the part of the command line after the command's group."""
_TRACEBACK = "HOPLINE_TRACEBACK"
"""The environment variable that makes Python print tracebacks of unexpected errors."""
_LONGEST = 500
"""Maximum number of characters of an unexpected error."""


class SuggestingGroup(click.Group):
    """A group that suggests a similar command for an unknown name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for an unknown name, suggest a similar one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if not args[0].startswith("-"):
                from streams.prose import meant  # imported only on failure

                hint = meant(args[0], self.list_commands(ctx))
                error.message = f"{error.message} {hint}".rstrip()
            raise


class LazyGroup(SuggestingGroup):
    """A group whose commands are in a table and imported one at a time."""

    def __init__(self, *args: Any, entries: dict[str, Entry] | None = None, **extra: Any) -> None:
        """Accept click's arguments, and the table of commands."""
        super().__init__(*args, **extra)
        self.entries = COMMANDS if entries is None else entries

    def make_context(
        self, info_name: str | None, args: list[str], *parent: click.Context | None, **extra: Any
    ) -> click.Context:
        """Make the context, which sets the width and the colour for all its commands."""
        extra = {"max_content_width": text_width(), "color": coloured(), **extra}
        return super().make_context(info_name, args, *parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the table's order."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; without its extra, only its help and completion work.

        Raises ModuleNotFoundError if the command is to run and a library is missing.
        """
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        try:
            return _imported(entry)
        except ModuleNotFoundError as missing:
            if _extra_of(missing) is None or not (ctx.resilient_parsing or ctx.meta.get(_HELP)):
                raise
            from streams.cli.stand_ins import only_help, stand_ins  # imported only on failure

            with stand_ins():
                command = _imported(entry)
            only_help(command, missing)
            return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and record whether only its help is requested."""
        ctx.meta[_HELP] = not set(ctx.help_option_names).isdisjoint(args)
        ctx.meta[_WORDS] = tuple(args)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings."""
        for section in Section:
            rows = [(n, e.help) for n, e in self.entries.items() if e.section is section]
            if rows:
                with formatter.section(section.value):
                    formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete command names from the table."""
        names = [
            CompletionItem(name, help=entry.help)
            for name, entry in self.entries.items()
            if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command; turn every failure into a message and an exit code."""
        from streams.prose import WIDTH, wrapping_at  # listing the commands needs no wrapping

        _show_what_there_is()
        with _worded(ctx), wrapping_at(text_width() or WIDTH):
            result = super().invoke(ctx)
            sys.stdout.flush()  # detect a closed reader here, not at exit
            return result


def _imported(entry: Entry) -> click.Command:
    module, _, name = entry.target.partition(":")
    command = getattr(importlib.import_module(module), name)
    if not isinstance(command, click.Command):
        raise TypeError(f"{entry.target} is not a click command")
    return command


def _extra_of(missing: ModuleNotFoundError) -> str | None:
    return EXTRAS.get((missing.name or "").partition(".")[0])


def _show_what_there_is() -> None:
    """Print a question mark for characters that the output's encoding lacks (files on Windows)."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")


@contextlib.contextmanager
def _worded(ctx: click.Context) -> Iterator[None]:
    try:
        yield
    except HoplineError as error:
        _fail(ctx, str(error), error.exit_code)
    except ModuleNotFoundError as error:
        extra = _extra_of(error)
        if extra is None:
            _stop(ctx, error)
        sentence = f"This command needs the extra '{extra}': in a clone, pip install '.[{extra}]'"
        _fail(ctx, sentence, 2)
    except (KeyboardInterrupt, click.Abort):
        ctx.exit(INTERRUPTED)
    except click.ClickException as error:
        # click uses 1 for some errors, but here 1 means a negative result
        error.exit_code = HoplineError.exit_code
        error.message = _masked(error.message)
        raise
    except BrokenPipeError:
        _drop_output()
        ctx.exit(READER_GONE)
    except OSError as error:
        if error.filename is not None:
            _fail(ctx, f"{error.filename}: {error.strerror}", 2)
        if error.errno != errno.ENOSPC:
            _stop(ctx, error)
        _drop_output()
        _fail(ctx, f"The output is incomplete: {error.strerror}.", 3)
    except click.exceptions.Exit:
        raise
    except Exception as error:
        # by name, because --help must not import the client
        if type(error).__name__ != "KafkaException":
            _stop(ctx, error)
        from streams.kafka import KafkaException, worded

        assert isinstance(error, KafkaException)
        failure = worded(error)
        _fail(ctx, str(failure), failure.exit_code)


def _stop(ctx: click.Context, error: Exception) -> NoReturn:
    """Report an error that no command expects, with the file that the command probably read.

    A process with a log writes the traceback there, because it may run for days before it fails.
    """
    if os.environ.get(_TRACEBACK):
        raise error
    import logging  # imported only on failure

    log, remedy = logging.getLogger("hopline"), ""
    if log.hasHandlers():
        log.error("unexpected error", exc_info=error)
    else:
        remedy = f"\n  Set {_TRACEBACK}=1 to see the traceback, and report the error with it."
    words = pairwise(ctx.meta.get(_WORDS, ()))  # the value of an option is not the input
    file = next((w for last, w in words if not last.startswith("-") and os.path.exists(w)), None)
    text = " ".join(str(error).split())[:_LONGEST]
    about = "" if file is None else f" at {file}"
    sentence = f"stopped{about} because of an unexpected error: {type(error).__name__}: {text}"
    _fail(ctx, sentence + remedy, 3 if file is None else 2)


def _drop_output() -> None:
    """Discard buffered output; without this the interpreter reports an error at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(ctx: click.Context, sentence: str, code: int) -> NoReturn:
    from streams.prose import lines  # imported only on failure

    # The message may contain untrusted text.
    text = lines(f"hopline: {_masked(sentence)}")
    click.echo(folded(text, text_width(sys.stderr)), err=True)
    ctx.exit(code)


def _masked(text: str) -> str:
    from streams.cli.options.shown import masked  # imported only on failure

    return masked(text)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    click.echo(version_text())
    ctx.exit()


def version_text() -> str:
    """Return the output of ``hopline --version``."""
    return f"hopline {version()}"


def version() -> str:
    """Return the installed version."""
    from importlib import metadata  # this import takes half as long as `hopline --help`

    try:
        return metadata.version("hopline")
    except metadata.PackageNotFoundError:
        return "(not installed)"


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Run `hopline help COMMAND` for the description and the options of a command.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
def main() -> None:
    """Service Broker's dialogs and routes as a Kafka stream processor.

    Explain where a message will go before it is sent, follow its path, and audit its
    delivery.
    """
