"""``hopline check``: find errors in a topology."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from streams.analysis.check import (
    CHECKS,
    Report,
    check_topology,
    page_text,
    report_sarif,
    report_text,
)
from streams.cli.documentation import documentation_url
from streams.cli.exit_codes import NOT_OK
from streams.cli.group import version
from streams.cli.options.answer import format_option
from streams.cli.options.duration import DURATION
from streams.cli.options.topology import ensure_something, find_folder
from streams.cli.text.terminal import BAD, CARE, show_coloured
from streams.errors import UsageError
from streams.prose import clipped
from streams.topology import SUPPRESSIONS_FILE, Severity, Suppression, load, load_suppressions

_COLOURS = {Severity.ERROR: BAD, Severity.WARNING: CARE, Severity.INFO: "blue"}


@click.command()
@click.argument("topology", required=False)
@format_option(("text", "json", "sarif"), "sarif: SARIF 2.1.0, for code hosts and editors.")
@click.option(
    "--fail-on", default="error", show_default=True,
    type=click.Choice([severity.value for severity in Severity]),
    help="Exit with 1 if there is a finding of this severity or worse.",
)  # fmt: skip
@click.option(
    "--suppress", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help=f"File with findings to ignore. [default: {SUPPRESSIONS_FILE} of the topology]",
)  # fmt: skip
@click.option(
    "--expires-within", "soon", default="168h", show_default=True, type=DURATION,
    help="Report routes and certificates that expire within this time.",
)  # fmt: skip
@click.option("--explain", metavar="CODE", help="Describe a finding, such as TA-12.")
@click.pass_context
def check(
    ctx: click.Context,
    topology: str | None,
    format_: str,
    fail_on: str,
    suppress: Path | None,
    soon: int,
    explain: str | None,
) -> None:
    """Find errors in a topology, with evidence and remedy.

    TOPOLOGY is a folder or the name of a shipped topology. The exit code is 1 if a finding has the
    severity of --fail-on or worse.

    \b
    hopline check several_targets
    hopline check --explain TA-12
    """
    if explain is not None:
        click.echo(_page(explain), nl=False)
        return
    if topology is None:
        raise click.UsageError("Missing argument 'TOPOLOGY'.", ctx)
    found, now = find_folder(topology), time.time()
    folder = found.parent if found.is_file() else found
    suppressions = _suppressions(folder, suppress)
    loaded = ensure_something(load(found, now))
    report = check_topology(loaded, now, suppressions=suppressions, soon=soon / 1000)
    _print(report, format_, folder)
    ctx.exit(NOT_OK if report.reaches(Severity(fail_on)) else 0)


def _page(code: str) -> str:
    pages = {row.code: row for row in CHECKS}
    found = pages.get(code.upper())
    if found is None:  # no suggestion, because a code with a similar number is unrelated
        raise UsageError(
            f"There is no finding '{clipped(code.upper())}'.",
            f"The codes are {min(pages)} to {max(pages)}; docs/findings.md lists all of them.",
        )
    return page_text(found, documentation_url())


def _suppressions(folder: Path, named: Path | None) -> tuple[Suppression, ...]:
    file = named or folder / SUPPRESSIONS_FILE
    return load_suppressions(file) if named or file.is_file() else ()


def _print(report: Report, format_: str, folder: Path) -> None:
    if format_ == "text":
        show_coloured(report_text(report, _paint, documentation_url()))
        return
    result = report.to_json()
    if format_ == "sarif":
        here = Path.cwd()
        base = here if folder.resolve().is_relative_to(here) else folder.resolve()
        result = report_sarif(report, CHECKS, base, version(), documentation_url())
    click.echo(json.dumps(result, indent=2, ensure_ascii=False))


def _paint(severity: Severity, text: str) -> str:
    return click.style(text, fg=_COLOURS[severity], bold=True)
