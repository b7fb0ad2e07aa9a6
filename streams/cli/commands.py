"""The table of commands: the lines of ``hopline --help``, and the code of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Section(Enum):
    """The headings of ``hopline --help``, in order."""

    START = "Start here (demo and up need Java)"
    ASK = "Ask (needs neither Kafka nor Java)"
    RUN = "Run"
    DIALOGS = "Dialogs"
    LOOK = "Look"
    KAFKA = "Kafka"
    OTHER = "Other"


@dataclass(frozen=True, slots=True)
class Entry:
    """A command: its object as ``module:name``, and one line of help.

    The help line is stored here, not with the command, so that ``--help`` imports no command.
    """

    target: str
    help: str
    start: bool = False

    @property
    def section(self) -> Section:
        """Return the section: START, or the section of the folder that contains the module."""
        if self.start:
            return Section.START
        folder = self.target.removeprefix("streams.cli.").partition(".")[0]
        return Section[folder.upper()]


COMMANDS: dict[str, Entry] = {
    "demo": Entry("streams.cli.run.demo:demo", "Run a demonstration on this machine.", start=True),
    "import": Entry(
        "streams.cli.ask.import_:import_", "Convert T-SQL scripts into a topology.", start=True
    ),
    "explain": Entry(
        "streams.cli.ask.explain:explain", "Explain a routing decision, rule by rule.", start=True
    ),
    "path": Entry(
        "streams.cli.ask.path:path", "Show all forward and return paths of a message.", start=True
    ),
    "check": Entry("streams.cli.ask.check:check", "Find errors in a topology.", start=True),
    "up": Entry("streams.cli.run.up:up", "Run a topology on this machine.", start=True),
    "flows": Entry("streams.cli.ask.flows:flows", "List flows and single points of failure."),
    "diff": Entry("streams.cli.ask.diff:diff", "Show the effect of a change or failure."),
    "diagnose": Entry("streams.cli.ask.diagnose:diagnose", "Explain stuck messages on SQL Server."),
    "simulate": Entry("streams.cli.ask.simulate:simulate", "Run a scenario on a virtual clock."),
    "export": Entry("streams.cli.ask.export:export", "Print a topology as T-SQL."),
    "down": Entry("streams.cli.run.up:down", "Stop what `hopline up` has started."),
    "status": Entry("streams.cli.run.up:status", "Show the workers of `up` or a cluster."),
    "apply": Entry("streams.cli.run.apply:apply", "Write a topology into a cluster's catalog."),
    "sql": Entry("streams.cli.run.sql:sql", "Execute T-SQL on a running system."),
    "queue": Entry("streams.cli.run.queue:queue", "Turn a queue on or off."),
    "failover": Entry("streams.cli.run.failover:failover", "Make another partner the principal."),
    "repartition": Entry(
        "streams.cli.run.repartition:repartition", "Add partitions to an instance."
    ),
    "skip": Entry("streams.cli.run.skip:skip", "Skip an unreadable statement."),
    "worker": Entry("streams.cli.run.worker:worker", "Run forwarder and endpoint workers."),
    "outbox": Entry("streams.cli.run.outbox:outbox", "Relay statements of an outbox to Kafka."),
    "monitor": Entry("streams.cli.run.monitor:monitor", "Stream figures into a SQL store (Spark)."),
    "begin": Entry("streams.cli.dialogs.dialog:begin", "Begin a dialog and print its id."),
    "send": Entry("streams.cli.dialogs.dialog:send", "Send a message in a conversation."),
    "traffic": Entry("streams.cli.dialogs.traffic:traffic", "Generate open-loop load."),
    "receive": Entry("streams.cli.dialogs.receive:receive", "Receive messages from a queue."),
    "end": Entry("streams.cli.dialogs.dialog:end", "End a conversation, also with an error."),
    "timer": Entry("streams.cli.dialogs.dialog:timer", "Set a conversation's timer."),
    "move": Entry("streams.cli.dialogs.dialog:move", "Move a conversation to another group."),
    "tail": Entry("streams.cli.look.tail:tail", "Print decoded records of topics."),
    "query": Entry("streams.cli.look.query:query", "Query system views, such as sys.routes."),
    "trace": Entry("streams.cli.look.trace:trace", "Measure each hop through live workers."),
    "verify": Entry("streams.cli.look.verify:verify", "Audit for lost or duplicated messages."),
    "dashboard": Entry(
        "streams.cli.look.dashboard:dashboard",
        "Serve the monitor's dashboard.",
    ),
    "capture": Entry("streams.cli.look.capture:capture", "Record, import and slice captures."),
    "inspect": Entry("streams.cli.look.inspect:inspect", "Summarize or print a capture."),
    "replay": Entry("streams.cli.look.replay:replay", "Replay a capture."),
    "topics": Entry("streams.cli.kafka.topics:topics", "List or compare a topology's topics."),
    "acl": Entry("streams.cli.kafka.acl:acl", "Print or create the Kafka ACLs of each role."),
    "kafka": Entry("streams.cli.kafka.kafka:kafka", "Start or stop a local Kafka broker."),
    "generate": Entry(
        "streams.cli.other.generate:generate", "Generate synthetic traffic or topologies."
    ),
    "config": Entry("streams.cli.other.config:config", "Show settings and their sources."),
    "completion": Entry(
        "streams.cli.other.completion:completion", "Print a shell's completion script."
    ),
    "help": Entry("streams.cli.other.help:help_", "Show the help of a command."),
    "version": Entry("streams.cli.other.version:version", "Print the version."),
}

EXTRAS = {
    "confluent_kafka": "run",
    "faust": "run",
    "aiokafka": "run",
    "fastavro": "run",
    "backports": "run",
    "jgo": "run",
    "jmespath": "run",
    "re2": "run",
    "sqlalchemy": "run",
    "prometheus_client": "run",
    "mssql_python": "sqlserver",
    "pyarrow": "parquet",
    "pyspark": "monitor",
    "py4j": "monitor",
    "nicegui": "monitor",
    "fastapi": "monitor",
    "starlette": "monitor",
    "uvicorn": "monitor",
    "jinja2": "monitor",
    "markupsafe": "monitor",
}
"""The extra that installs a client library missing from the base install."""
