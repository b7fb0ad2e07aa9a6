"""``hopline flows``: all flows of a topology."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping

import click

from streams.analysis import Survey, survey_flows, survey_mermaid, survey_text
from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option
from streams.cli.options.topology import TopologyArgument, ensure_something
from streams.cli.text.terminal import ENDINGS, show
from streams.errors import UsageError
from streams.topology import Severity, Topology


def _json(survey: Survey) -> str:
    return json.dumps(survey.to_json(), indent=2, ensure_ascii=False) + "\n"


_FORMATS: Mapping[str, Callable[[Survey], str]] = {
    "text": survey_text,
    "json": _json,
    "mermaid": survey_mermaid,
}


@click.command()
@click.argument("topology", type=TopologyArgument())
@click.option(
    "--from", "senders", multiple=True, metavar="PATTERN",
    help="Only flows from Instance[/Database[/Service]]; * and ? are wildcards.",
)  # fmt: skip
@click.option(
    "--to", "targets", multiple=True, metavar="PATTERN",
    help="Only flows to a service or an Instance[/Database]; * and ? are wildcards.",
)  # fmt: skip
@format_option(_FORMATS)
@click.option(
    "--fail-on", default="error", show_default=True,
    type=click.Choice([Severity.ERROR.value, Severity.WARNING.value]),
    help="error: exit with 1 if a flow fails for certain; warning: also if it may fail.",
)  # fmt: skip
@click.pass_context
def flows(
    ctx: click.Context,
    topology: Topology,
    senders: tuple[str, ...],
    targets: tuple[str, ...],
    format_: str,
    fail_on: str,
) -> None:
    """List flows: shares, redundancy, single points of failure, unused routes.

    TOPOLOGY is a folder or the name of a shipped topology. Flows are derived from expect, BEGIN
    DIALOG, routes, bindings, priorities and contracts. The number of paths includes only paths that
    share no instance. If the topology does not contain the services of a database, its flows are
    unknown, and the output says so. --from and --to may be given several times.

    The exit code is 1 if any listed flow is `broken` or a `hazard` for a reason that `hopline
    check` reports as an error. A flow can also be broken only because the topology lacks a part of
    the estate: the next instance, or the broker id of a database that is known only from scripts.
    Such a flow is not certain to fail; it counts with --fail-on warning.
    """
    survey = survey_flows(ensure_something(topology), time.time(), senders, targets)
    if not survey.answers and not survey.services_unknown and (senders or targets):
        raise UsageError(
            "No flow matches --from and --to.",
            "Quote patterns ('Server*/*'); without patterns, hopline flows lists all flows.",
        )
    text = _FORMATS[format_](survey)
    if format_ == "text":
        show(text, ENDINGS)
    else:
        click.echo(text, nl=False)
    ctx.exit(NOT_OK if survey.reaches(Severity(fail_on)) else 0)
