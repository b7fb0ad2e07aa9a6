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
    """A command: the object behind it as ``module:name``, its heading and one line of help.

    The line stands here and not with the command, so that ``--help`` imports no command.
    """

    target: str
    section: Section
    help: str


COMMANDS: dict[str, Entry] = {
    "explain": Entry(
        "streams.cli.explain:explain", Section.ASK, "One routing decision, rule by rule."
    ),
    "import": Entry(
        "streams.cli.import_:import_", Section.ASK, "T-SQL scripts as they are, into a topology."
    ),
    "path": Entry(
        "streams.cli.path:path", Section.ASK, "Every way of a message, there and back again."
    ),
    "check": Entry(
        "streams.cli.check:check", Section.ASK, "What is already wrong, with evidence and remedy."
    ),
    "flows": Entry(
        "streams.cli.flows:flows", Section.ASK, "Who reaches whom, and what must not fail."
    ),
    "diff": Entry(
        "streams.cli.diff:diff", Section.ASK, "What a change or a failure does to every flow."
    ),
    "diagnose": Entry(
        "streams.cli.diagnose:diagnose", Section.ASK, "Why rows are stuck on live servers."
    ),
    "simulate": Entry(
        "streams.cli.simulate:simulate", Section.ASK, "A scenario, run on a virtual clock."
    ),
    "export": Entry(
        "streams.cli.export:export", Section.ASK, "A topology as T-SQL, for servers or to import."
    ),
    "demo": Entry("streams.cli.demo:demo", Section.RUN, "The main job in three acts, here."),
    "up": Entry("streams.cli.up:up", Section.RUN, "Run a topology here: Kafka, catalog, workers."),
    "down": Entry("streams.cli.up:down", Section.RUN, "Stop what `hopline up` has started."),
    "status": Entry("streams.cli.up:status", Section.RUN, "Say how the system of `hopline up` is."),
    "apply": Entry(
        "streams.cli.apply:apply", Section.RUN, "Write a topology into a cluster's catalog."
    ),
    "sql": Entry("streams.cli.sql:sql", Section.RUN, "T-SQL on a running system."),
    "queue": Entry("streams.cli.queue:queue", Section.RUN, "Turn a queue on or off."),
    "failover": Entry(
        "streams.cli.failover:failover", Section.RUN, "Another partner becomes the principal."
    ),
    "repartition": Entry(
        "streams.cli.repartition:repartition", Section.RUN, "More partitions for an instance."
    ),
    "skip": Entry("streams.cli.skip:skip", Section.RUN, "Give a statement up that cannot be read."),
    "worker": Entry(
        "streams.cli.worker:worker", Section.RUN, "Run forwarder and endpoint workers."
    ),
    "outbox": Entry(
        "streams.cli.outbox:outbox",
        Section.RUN,
        "Hand over what an application's database has committed.",
    ),
    "begin": Entry("streams.cli.dialog:begin", Section.DIALOGS, "BEGIN DIALOG: a new dialog."),
    "send": Entry("streams.cli.dialog:send", Section.DIALOGS, "SEND ON CONVERSATION: a message."),
    "traffic": Entry(
        "streams.cli.traffic:traffic", Section.DIALOGS, "Load at a rate that waits for nobody."
    ),
    "receive": Entry(
        "streams.cli.receive:receive", Section.DIALOGS, "RECEIVE: the messages of a queue."
    ),
    "end": Entry("streams.cli.dialog:end", Section.DIALOGS, "END CONVERSATION."),
    "timer": Entry(
        "streams.cli.dialog:timer", Section.DIALOGS, "BEGIN CONVERSATION TIMER: be told later."
    ),
    "move": Entry(
        "streams.cli.dialog:move", Section.DIALOGS, "MOVE CONVERSATION to another group."
    ),
    "tail": Entry("streams.cli.tail:tail", Section.LOOK, "What is in the topics, decoded."),
    "query": Entry("streams.cli.query:query", Section.LOOK, "A system view, such as sys.routes."),
    "trace": Entry(
        "streams.cli.trace:trace", Section.LOOK, "A probe through the live workers, ms per hop."
    ),
    "verify": Entry(
        "streams.cli.verify:verify", Section.LOOK, "Whether every message is where it may be."
    ),
    "monitor": Entry(
        "streams.cli.monitor:monitor", Section.RUN, "Watch a cluster with Spark, into a SQL store."
    ),
    "dashboard": Entry(
        "streams.cli.dashboard:dashboard",
        Section.LOOK,
        "What the monitor has found, in a browser; reads only.",
    ),
    "topics": Entry(
        "streams.cli.topics:topics", Section.KAFKA, "The topics that a topology needs."
    ),
    "acl": Entry("streams.cli.acl:acl", Section.KAFKA, "What each role may do on Kafka: its ACLs."),
    "kafka": Entry(
        "streams.cli.kafka:kafka", Section.KAFKA, "Start, stop or ask about a Kafka broker here."
    ),
    "capture": Entry(
        "streams.cli.capture:capture",
        Section.LOOK,
        "Record what is in Kafka; import and slice captures.",
    ),
    "inspect": Entry(
        "streams.cli.inspect:inspect", Section.LOOK, "What a capture holds, and a dialog's path."
    ),
    "replay": Entry(
        "streams.cli.replay:replay", Section.LOOK, "Do again what a capture says was done."
    ),
    "generate": Entry(
        "streams.cli.generate:generate",
        Section.OTHER,
        "Generate traffic or an estate, from a seed.",
    ),
    "config": Entry(
        "streams.cli.config:config", Section.OTHER, "What is set, and where each value is from."
    ),
    "completion": Entry(
        "streams.cli.completion:completion", Section.OTHER, "Print a shell's completion script."
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
