"""Invalid values are reported before Kafka is asked: here there is no Kafka, and no test waits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import main

NOWHERE = ("--bootstrap", "127.0.0.1:1")
ID = "7a6e0e52-6a0c-4d0e-9a53-52b3a1a6d0f1"
SERVICES = ("--from", "I", "--to", "T")
WORKER = ("worker", "forwarder", "--instance", "ServerA")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, **environment: str) -> Result:
    return CliRunner(env={"COLUMNS": "200", **environment}).invoke(main, words)


def refused(result: Result, message: str) -> None:
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert message in re.sub(r"\s+", " ", result.stderr)


@pytest.mark.parametrize(
    "words",
    [
        ("begin", *SERVICES),
        ("send", "--conversation", ID, "x"),
        ("end", "--conversation", ID),
        ("timer", "--conversation", ID, "3"),
        ("move", "--conversation", ID, "--conversation-group", ID),
        ("receive", "--queue", "Q", "--group", "g"),
        ("sql", "DROP ROUTE R"),
        ("queue", "on", "Q"),
    ],
)
@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("ServerA", "'ServerA' has no database; write INSTANCE/DATABASE."),
        ("ServerA/", "'ServerA/' has no database; write INSTANCE/DATABASE."),
        ("/D", "'/D' has no instance; write INSTANCE/DATABASE."),
    ],
)
def test_a_place_is_complete(words: tuple[str, ...], at: str, message: str) -> None:
    refused(run(*words, "--at", at, *NOWHERE), message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("query", "sys.routes", "--at", ""), "'' has no instance; write INSTANCE[/DATABASE]."),
        (("query", "sys.routes", "--at", "A/"), "'A/' has no database"),
        (("trace", "--from", "A", "--to", "T"), "write INSTANCE/DATABASE[/SERVICE]."),
        (("trace", "--from", "A/D/", "--to", "T"), "'A/D/' has no service"),
        (("traffic", "--from", "A", "--to", "T"), "'A' has no database"),
        (("traffic", "--from", "A/D", "--to", "T", "--rate", "nan"), "nan is not a finite number"),
        (("outbox", "--poll", "-1"), "-1 is not between 0 and 2147483."),
        (("monitor", "--http", "banana"), "'banana' is not HOST:PORT."),
        (("monitor", "--keep", "inf"), "inf is not a finite number"),
        ((*WORKER, "--http", "banana"), "'banana' is not HOST:PORT. Write 9187, or"),
        ((*WORKER, "--http", "x:99999"), "'x:99999' is not HOST:PORT."),
        ((*WORKER, "--keep", "nan"), "nan is not between -1 and"),
        ((*WORKER, "--answer-within", "-1"), "-1 is not between 0 and"),
    ],
)
def test_invalid_values_are_reported(words: tuple[str, ...], message: str) -> None:
    refused(run(*words, *NOWHERE), message)


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "local", "--at", "ServerA/DatabaseA", "--to", ""),
        ("path", "local", "--from", "ServerA/DatabaseA", "--to", ""),
        ("trace", "--from", "A/D", "--to", ""),
        ("traffic", "--from", "A/D", "--to", ""),
        ("begin", "--at", "A/D", "--to", "T", "--from", ""),
        ("begin", "--at", "A/D", "--from", "I", "--to", ""),
        ("generate", "traffic", "--to", ""),
        ("capture", "slice", "no.avro", "--service", ""),
        ("capture", "import", "no.csv", "--to-service", ""),
    ],
)
def test_a_service_has_a_name(words: tuple[str, ...]) -> None:
    refused(run(*words), "The service must not be empty.")


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "local", "--at", "ServerA/DatabaseA", "--to", "T"),
        ("path", "local", "--from", "ServerA/DatabaseA", "--to", "T"),
        ("trace", "--from", "A/D", "--to", "T"),
        ("begin", "--at", "A/D", *SERVICES),
    ],
)
def test_a_broker_id_is_a_text(words: tuple[str, ...]) -> None:
    refused(run(*words, "--broker", ""), "The id must not be empty.")


def test_a_lifetime_is_an_integer_of_t_sql() -> None:
    """The engine refuses 0 and less with 8411, so the help names the valid range only."""
    words = ("begin", "--at", "A/D", *SERVICES, "--lifetime", str(2**31))
    refused(run(*words), f"{2**31} is not in the range 1<=x<={2**31 - 1}.")
    shown = " ".join(run("begin", "--help").stdout.split())
    assert "Lifetime of the dialog, at least 1. [default: 68 years] --related" in shown


@pytest.mark.parametrize(
    "words",
    [("demo", "--speed", "nan"), ("capture", "slice", "--percent", "nan", "no.avro")],
)
def test_what_is_counted_with_is_a_number(words: tuple[str, ...]) -> None:
    refused(run(*words), "nan is not a finite number.")


@pytest.mark.long
@pytest.mark.parametrize("command", ["trace", "traffic"])
def test_a_service_may_have_slashes(command: str) -> None:
    words = (command, "--from", "A/D///shop/Web", "--to", "//shop/OrderService")
    result = run(*words, *NOWHERE, "--timeout", "0.1" if command == "trace" else "1")
    assert result.exit_code == 3, result.output  # Kafka was asked
    refused(run("generate", "traffic", "--from", "A/D"), "'A/D' has no service; write INSTANCE")
    made = run("generate", "traffic", "--from", "A/D///shop/Web", "--output", "made.avro")
    assert made.exit_code == 0, made.output


def test_only_a_cluster_that_is_named_is_read_by_the_dashboard() -> None:
    text = " ".join(run("dashboard", "--help").stdout.split())
    assert "default: (without a cluster)" in text and "127.0.0.1:9092" not in text


@pytest.mark.parametrize(
    "words",
    [
        ("topics", "two_brokers"),
        ("query", "sys.routes"),
        ("tail",),
        ("up", "two_brokers"),
        ("verify",),
        ("status",),
        ("begin", "--at", "A/D", *SERVICES),
        ("failover", "P", "--to", "A"),
        WORKER,
    ],
)
@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "-inf", "1e12"])
def test_a_time_to_wait_is_one_that_can_be_waited(words: tuple[str, ...], seconds: str) -> None:
    message = f"{seconds} is not between 0 and 2147483."
    refused(run(*words, "--timeout", seconds), message)


@pytest.mark.parametrize(
    "words",
    [
        ("tail",),
        ("up", "two_brokers"),
        ("monitor",),
        ("replay", "file"),
        ("generate", "traffic"),
        WORKER,
    ],
)
@pytest.mark.parametrize("prefix", ["a b", "grün.", "a/", "x" * 201, "a\n"])
def test_a_prefix_is_what_a_topics_name_can_begin_with(words: tuple[str, ...], prefix: str) -> None:
    refused(run(*words, "--prefix", prefix), "Topic names cannot begin with '")


def test_a_variable_and_the_file_are_checked_likewise(folder: Path) -> None:
    refused(run("tail", HOPLINE_PREFIX="a b"), "(env var: 'HOPLINE_PREFIX'): Topic names")
    refused(run(*WORKER, HOPLINE_WORKER_HTTP="x"), "'HOPLINE_WORKER_HTTP'): 'x' is not HOST:PORT.")
    refused(run(*WORKER, HOPLINE_WORKER_TIMEOUT="-1"), "-1 is not between")
    file = folder / "hopline.toml"
    file.write_text('prefix = "a b"')
    refused(run("tail"), "hopline: hopline.toml:1: prefix: Topic names cannot begin with 'a b'")
    file.write_text("[worker]\ntimeout = nan\n")
    refused(run(*WORKER), "hopline: hopline.toml:2: worker.timeout: nan is not between")
    file.write_text('[worker]\n\nhttp = "banana"\n')
    refused(run(*WORKER), "hopline: hopline.toml:3: worker.http: 'banana' is not HOST:PORT.")


@pytest.mark.parametrize(
    "words",
    [
        ("--prefix", ""),
        ("--prefix", "A_b-9."),
        ("--timeout", "0"),
        ("--timeout", "0.5"),
        ("--keep", "-1"),
        ("--http", ""),
        ("--http", "[::1]:0"),
        ("--http", "9187"),
    ],
)
def test_what_can_be_meant_is_taken(words: tuple[str, ...]) -> None:
    assert run("config", "show", *words).exit_code == 0
