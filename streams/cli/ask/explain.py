"""``hopline explain``: one routing decision, rule by rule."""

from __future__ import annotations

import json
import time
import uuid

import click

from streams.analysis import Question, explain_decision, explain_text, find_at
from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option
from streams.cli.options.parameters import BROKER_ID, SERVICE
from streams.cli.options.topology import (
    TopologyArgument,
    doubt_broker,
    doubt_service,
    hash_option,
)
from streams.cli.text.terminal import BAD, CARE, GOOD, show
from streams.topology import Topology

_WORDS = {
    r"(?<=^  )dropped(?=:)": BAD,
    r"(?<=^  )delayed(?=[:,])": CARE,
    r"(?<=^  )delivered(?= to )": GOOD,
}


@click.command()
@click.argument("topology", type=TopologyArgument())
@click.option(
    "--at",
    required=True,
    metavar="INSTANCE[/DATABASE]",
    help="Instance and database where the message is.",
)
@click.option("--to", "service", required=True, type=SERVICE, help="Target service of the message.")
@click.option("--broker", type=BROKER_ID, help="Broker id that the conversation specifies.")
@hash_option(default="any")
@click.option(
    "--outside", is_flag=True, help="The message came from the network, so msdb's routes decide."
)
@click.option(
    "--from-target", is_flag=True, help="The message is a reply: the target's side sent it."
)
@format_option()
@click.pass_context
def explain(
    ctx: click.Context,
    topology: Topology,
    at: str,
    service: str,
    broker: str | None,
    conversation: uuid.UUID | None,
    outside: bool,
    from_target: bool,
    format_: str,
) -> None:
    """Explain where a message goes next, and why.

    TOPOLOGY is a folder or the name of a shipped topology. The exit code is 1 if the message is
    delayed or dropped.

    \b
    hopline explain hub --at ServerA/DatabaseA --to TargetService
    hopline explain hub --at Hub --outside --to TargetService
    """
    instance, database = find_at(topology, at)
    doubt_service(topology, service)
    doubt_broker(topology, broker)
    question = Question(instance, database, service, broker, conversation, outside, from_target)
    answer = explain_decision(topology, question, time.time())
    if format_ == "json":
        click.echo(json.dumps(answer.to_json(), indent=2, ensure_ascii=False))
    else:
        show(explain_text(answer), _WORDS)
    ctx.exit(0 if answer.good else NOT_OK)
