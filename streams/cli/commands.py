"""The table of commands: what ``hopline --help`` lists, and where each one's code is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Section(Enum):
    """A heading of ``hopline --help``, in its order."""

    ASK = "Ask (needs neither Kafka nor Java)"
    RUN = "Run"
    DIALOGS = "Dialogs"
    LOOK = "Look"
    KAFKA = "Kafka"
    OTHER = "Other"


@dataclass(frozen=True, slots=True)
class Entry:
    """A command: the object behind it as ``module:name``, and one line of help.

    The line stands here and not with the command, so that ``--help`` imports no command.
    """

    target: str
    help: str

    @property
    def section(self) -> Section:
        """Return the heading: the folder of the command's module is called by it."""
        folder = self.target.removeprefix("streams.cli.").partition(".")[0]
        return Section[folder.upper()]


COMMANDS: dict[str, Entry] = {
    "explain": Entry("streams.cli.ask.explain:explain", "One routing decision, rule by rule."),
    "import": Entry(
        "streams.cli.ask.import_:import_", "T-SQL scripts as they are, into a topology."
    ),
    "path": Entry("streams.cli.ask.path:path", "Every way of a message, there and back again."),
    "check": Entry(
        "streams.cli.ask.check:check", "What is already wrong, with evidence and remedy."
    ),
    "flows": Entry("streams.cli.ask.flows:flows", "Who reaches whom, and what must not fail."),
    "diff": Entry("streams.cli.ask.diff:diff", "What a change or a failure does to every flow."),
    "diagnose": Entry("streams.cli.ask.diagnose:diagnose", "Why rows are stuck on live servers."),
    "simulate": Entry("streams.cli.ask.simulate:simulate", "A scenario, run on a virtual clock."),
    "export": Entry(
        "streams.cli.ask.export:export", "A topology as T-SQL, for servers or to import."
    ),
    "demo": Entry("streams.cli.run.demo:demo", "The main job in three acts, here."),
    "up": Entry("streams.cli.run.up:up", "Run a topology here: Kafka, catalog, workers."),
    "down": Entry("streams.cli.run.up:down", "Stop what `hopline up` has started."),
    "status": Entry("streams.cli.run.up:status", "Say how the system of `hopline up` is."),
    "apply": Entry("streams.cli.run.apply:apply", "Write a topology into a cluster's catalog."),
    "sql": Entry("streams.cli.run.sql:sql", "T-SQL on a running system."),
    "queue": Entry("streams.cli.run.queue:queue", "Turn a queue on or off."),
    "failover": Entry(
        "streams.cli.run.failover:failover", "Another partner becomes the principal."
    ),
    "repartition": Entry(
        "streams.cli.run.repartition:repartition", "More partitions for an instance."
    ),
    "skip": Entry("streams.cli.run.skip:skip", "Give a statement up that cannot be read."),
    "worker": Entry("streams.cli.run.worker:worker", "Run forwarder and endpoint workers."),
    "outbox": Entry(
        "streams.cli.run.outbox:outbox", "Hand over what an application's database has committed."
    ),
    "monitor": Entry(
        "streams.cli.run.monitor:monitor", "Watch a cluster with Spark, into a SQL store."
    ),
    "begin": Entry("streams.cli.dialogs.dialog:begin", "BEGIN DIALOG: a new dialog."),
    "send": Entry("streams.cli.dialogs.dialog:send", "SEND ON CONVERSATION: a message."),
    "traffic": Entry(
        "streams.cli.dialogs.traffic:traffic", "Load at a rate that waits for nobody."
    ),
    "receive": Entry("streams.cli.dialogs.receive:receive", "RECEIVE: the messages of a queue."),
    "end": Entry("streams.cli.dialogs.dialog:end", "END CONVERSATION."),
    "timer": Entry("streams.cli.dialogs.dialog:timer", "BEGIN CONVERSATION TIMER: be told later."),
    "move": Entry("streams.cli.dialogs.dialog:move", "MOVE CONVERSATION to another group."),
    "tail": Entry("streams.cli.look.tail:tail", "What is in the topics, decoded."),
    "query": Entry("streams.cli.look.query:query", "A system view, such as sys.routes."),
    "trace": Entry("streams.cli.look.trace:trace", "A probe through the live workers, ms per hop."),
    "verify": Entry("streams.cli.look.verify:verify", "Whether every message is where it may be."),
    "dashboard": Entry(
        "streams.cli.look.dashboard:dashboard",
        "What the monitor has found, in a browser; reads only.",
    ),
    "capture": Entry(
        "streams.cli.look.capture:capture", "Record what is in Kafka; import and slice captures."
    ),
    "inspect": Entry(
        "streams.cli.look.inspect:inspect", "What a capture holds, and a dialog's path."
    ),
    "replay": Entry("streams.cli.look.replay:replay", "Do again what a capture says was done."),
    "topics": Entry("streams.cli.kafka.topics:topics", "The topics that a topology needs."),
    "acl": Entry("streams.cli.kafka.acl:acl", "What each role may do on Kafka: its ACLs."),
    "kafka": Entry(
        "streams.cli.kafka.kafka:kafka", "Start, stop or ask about a Kafka broker here."
    ),
    "generate": Entry(
        "streams.cli.other.generate:generate", "Generate traffic or an estate, from a seed."
    ),
    "config": Entry(
        "streams.cli.other.config:config", "What is set, and where each value is from."
    ),
    "completion": Entry(
        "streams.cli.other.completion:completion", "Print a shell's completion script."
    ),
}

EXTRAS = {
    "confluent_kafka": "run",
    "faust": "run",
    "aiokafka": "run",
    "fastavro": "run",
    "backports": "run",
    "jgo": "run",
    "jmespath": "run",
    "sqlalchemy": "run",
    "prometheus_client": "run",
    "pyarrow": "parquet",
    "pyspark": "monitor",
    "nicegui": "monitor",
    "fastapi": "monitor",
    "uvicorn": "monitor",
    "jinja2": "monitor",
}
"""Which extra brings a client library that the base install does without."""
