"""``hopline failover``: make another partner the principal."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.confirm import Changes, confirm, yes_option
from streams.cli.options.shared import cluster_options
from streams.cli.options.statement import reached
from streams.live.admin.failover import Moved, move_role


@click.command()
@click.argument("pair")
@click.option(
    "--to", required=True, metavar="INSTANCE", help="Instance that becomes the principal."
)
@yes_option
@timeout_option(help="Seconds to wait until the new principal reports its role.")
@format_option()
@cluster_options
@click.pass_context
def failover(
    ctx: click.Context,
    pair: str,
    to: str,
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """Fail PAIR (a mirrored pair or an availability group) over to another instance.

    The new principal continues the dialogs from the old principal's last commit. No data is copied,
    because the pair has its own topics. From then on, the old principal cannot commit, whether it
    is stopped, disconnected or killed. When it returns, it becomes the mirror. Senders that use a
    mirrored route wait until the new principal reports its role; listeners resolve to the new
    principal immediately. At a terminal the command asks for confirmation.

    The exit code is 1 if the catalog is changed but the new principal has not yet reported its
    role.

    \b
    hopline failover Orders --to Partner2
    """
    cluster = reached(bootstrap, prefix, timeout)
    moved = move_role(
        cluster, pair, to, timeout, lambda plan: confirm(Changes(cluster, (_planned(plan),)))
    )
    if format_ == "json":
        click.echo(json.dumps(asdict(moved)))
    else:
        _show(moved, timeout)
    if not moved.claimed:
        ctx.exit(NOT_OK)


def _planned(plan: Moved) -> str:
    before = f", in place of {plan.before}" if plan.before else ""
    return f"make {plan.now} the principal of {plan.pair}{before}"


def _show(moved: Moved, timeout: float) -> None:
    click.echo(
        f"{moved.pair}: {moved.before or 'none'} > {moved.now}, epoch {moved.epoch}, "
        f"catalog version {moved.version}"
    )
    if moved.claimed:
        click.echo(f"{moved.now} reports that it is the principal")
    else:
        click.echo(
            f"{moved.now} has not reported within {timeout:g} s that it is the principal. Until "
            "then, other instances send nothing to it.\nIs its forwarder running? "
            f"(hopline worker forwarder --instance {moved.now})"
        )
