"""`hopline config show`: the file, a variable, a flag; the later wins, and each source is shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import click
import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.cli.options.shared import cluster_of, cluster_options
from streams.errors import UsageError
from streams.kafka import Cluster
from streams.settings.properties import unknown_variables

FILE = """\
bootstrap = "file:1"
[kafka]
sasl.password = "geheim"
sasl.username = "u"
[worker]
verbose = true
timeout = 7
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def show(*args: str, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(main, ["config", "show", *args])


def shown(*args: str, **environment: str) -> dict[str, tuple[Any, str]]:
    result = show("--format", "json", *args, **environment)
    assert result.exit_code == 0, result.stderr
    return {row["setting"]: (row["value"], row["source"]) for row in json.loads(result.stdout)}


def test_without_a_file_everything_is_the_default() -> None:
    rows = shown()
    assert rows["bootstrap"] == ("127.0.0.1:9092", "default")
    assert {source for _, source in rows.values()} == {"default"}


def test_each_later_source_wins(folder: Path) -> None:
    (folder / "hopline.toml").write_text(FILE)
    assert shown()["bootstrap"] == ("file:1", "hopline.toml:1")
    env = {"HOPLINE_BOOTSTRAP": "variable:2", "HOPLINE_KAFKA_SASL_USERNAME": "v"}
    rows = shown(**env)
    assert rows["bootstrap"] == ("variable:2", "HOPLINE_BOOTSTRAP")
    assert rows["kafka.sasl.username"] == ("v", "HOPLINE_KAFKA_SASL_USERNAME")
    assert rows["worker.timeout"] == (7.0, "hopline.toml:7")
    rows = shown("--bootstrap", "flag:3", "--no-verbose", "--kafka", "sasl.username=f", **env)
    assert rows["bootstrap"] == ("flag:3", "--bootstrap")
    assert rows["kafka.sasl.username"] == ("f", "--kafka")
    assert rows["worker.verbose"] == (False, "--verbose")


def test_the_file_is_named_by_a_flag_or_a_variable(folder: Path) -> None:
    (folder / "hopline.toml").write_text("prefix = 'here.'")
    (folder / "other.toml").write_text("prefix = 'other.'")
    assert shown("--config", "other.toml")["prefix"] == ("other.", "other.toml:1")
    assert shown(HOPLINE_CONFIG="other.toml")["prefix"] == ("other.", "other.toml:1")
    gone = show("--config", "gone.toml")
    why, remedy = gone.stderr.splitlines()
    assert (gone.exit_code, why) == (2, "hopline: gone.toml: No such file or directory")
    assert "--config or HOPLINE_CONFIG" in remedy


def test_a_file_that_is_found_and_not_named_is_announced(folder: Path) -> None:
    """It may be a stranger's: that of a clone, or of a folder that many write."""
    (folder / "hopline.toml").write_text(FILE)
    assert show().stderr == "Settings: hopline.toml in this folder.\n"
    assert show("--config", "hopline.toml").stderr == ""


@pytest.mark.parametrize(
    "line",
    [
        "plugin.library.paths = '/tmp/theirs.so'",
        "ssl.engine.location = '/tmp/theirs.so'",
        "ssl.providers = 'theirs'",
        "sasl.kerberos.kinit.cmd = 'touch /tmp/x'",
        "sasl.kerberos.principal = 'me; touch x'",
        "sasl.kerberos.keytab = '$(touch x)'",
    ],
)
@pytest.mark.parametrize("table", ["kafka", "clusters.dmz"])
def test_no_file_makes_a_client_run_something(folder: Path, line: str, table: str) -> None:
    (folder / "hopline.toml").write_text(f"[{table}]\n{line}\n")
    result = show()
    assert result.exit_code == 2
    assert "hopline.toml:2: " in result.stderr


def test_a_secret_is_never_printed(folder: Path) -> None:
    (folder / "hopline.toml").write_text(FILE)
    for form in ("text", "json"):
        result = show("--format", form)
        assert "geheim" not in result.output
        assert "***" in result.output
    assert "geheim" not in repr(Cluster("x:1", properties={"sasl.password": "geheim"}))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("timeout = 'soon'", "hopline.toml:2: worker.timeout: 'soon' is not a valid float."),
        ("log_format = 'xml'", "hopline.toml:2: worker.log_format: 'xml' is not one of"),
    ],
)
def test_a_value_that_cannot_be_meant_has_its_place(folder: Path, line: str, message: str) -> None:
    (folder / "hopline.toml").write_text(f"[worker]\n{line}\n")
    result = show()
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(f"hopline: {message}")


def test_a_property_that_would_lose_messages_is_refused_wherever_it_stands() -> None:
    message = "acks cannot be set: a confirmed record must be on all in-sync replicas"
    flag, variable = show("--kafka", "acks=1"), show(HOPLINE_KAFKA_ACKS="1")
    assert (flag.exit_code, variable.exit_code) == (2, 2)
    assert f"hopline: --kafka: {message}" in flag.stderr
    assert f"hopline: HOPLINE_KAFKA_ACKS: {message}" in variable.stderr
    with pytest.raises(UsageError, match="acks cannot be set"):
        Cluster("x:1", properties={"acks": "1"})


def test_a_property_is_name_and_value() -> None:
    assert "'linger.ms' is not NAME=VALUE" in show("--kafka", "linger.ms").stderr


def test_an_unknown_variable_is_reported() -> None:
    result = show(HOPLINE_WORKER_SLOTT="1")
    assert result.exit_code == 0
    assert "WORKER_SLOTT. Did you mean HOPLINE_WORKER_SLOT?" in result.stderr


def test_a_variable_that_the_code_or_the_page_names_is_read() -> None:
    """Those that name a cluster or a property of librdkafka's are as many as one likes."""
    root = Path(__file__).parents[2]
    texts = [path.read_text(encoding="utf-8") for path in root.glob("streams/**/*.py")]
    texts.append((root / "docs/settings.md").read_text(encoding="utf-8"))
    named = {name for text in texts for name in re.findall(r"\bHOPLINE_[A-Z_]*[A-Z]\b", text)}
    assert {"HOPLINE_DASHBOARD_TOKEN", "HOPLINE_DIRECTORY", "HOPLINE_OUTBOX"} < named
    assert dict(unknown_variables(dict.fromkeys(named, "x"))) == {}


def test_a_broken_file_stops_no_command_that_does_not_read_it(folder: Path) -> None:
    (folder / "hopline.toml").write_text("this is no TOML")
    assert CliRunner().invoke(main, ["completion", "bash"]).exit_code == 0
    assert CliRunner().invoke(main, ["worker", "--help"]).exit_code == 0
    assert show().exit_code == 2


def cluster_by(*args: str) -> Cluster:
    found: list[Cluster] = []

    @click.command()
    @cluster_options
    def command(bootstrap: str, prefix: str) -> None:
        found.append(cluster_of(bootstrap, prefix))

    command.main(args, standalone_mode=False)
    return found[0]


def test_a_cluster_is_made_of_the_settings(folder: Path) -> None:
    (folder / "hopline.toml").write_text(FILE)
    cluster = cluster_by("--prefix", "p.")
    assert (cluster.bootstrap, cluster.topics.prefix) == ("file:1", "p.")
    assert cluster.properties == {"sasl.password": "geheim", "sasl.username": "u"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("no.such=1", '--kafka: No such configuration property: "no.such".'),
        ("compression.type=bar", '--kafka: Invalid value "bar" for configuration property'),
    ],
)
def test_a_property_that_librdkafka_rejects_is_reported_with_its_source(
    given: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        cluster_by("--kafka", given)
    assert caught.value.message.startswith(message)


def test_a_property_wins_over_what_is_set_here_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, Any]] = []
    for client in ("Producer", "CheckedConsumer"):
        monkeypatch.setattr(
            f"streams.kafka.cluster.{client}", lambda c, *_: given.append(c) or Mock()
        )
    cluster = Cluster("x:1", properties={"linger.ms": "9", "session.timeout.ms": "8000"})
    cluster.producer(linger_ms=1)
    cluster.consumer("g")
    assert given[0]["linger.ms"] == "9"
    assert given[0]["acks"] == "all"
    assert given[1]["session.timeout.ms"] == "8000"
    assert given[1]["isolation.level"] == "read_committed"


def test_a_secret_is_no_flag(folder: Path) -> None:
    """Everybody could see it in the list of processes; nothing of it is printed either."""
    refused = show("--kafka", "sasl.password=geheim")
    assert refused.exit_code == 2 and "geheim" not in refused.output
    assert "HOPLINE_KAFKA_SASL_PASSWORD, or --kafka sasl.password.file=FILE" in refused.stderr
    mistyped = show("--kafka", "sasl.password:geheim")
    assert mistyped.exit_code == 2 and "geheim" not in mistyped.output


def test_a_secret_may_be_in_a_file(folder: Path) -> None:
    (folder / "secret").write_text("geheim\n")
    assert cluster_by("--kafka", "sasl.password.file=secret").properties == {
        "sasl.password": "geheim"
    }
    rows = shown(HOPLINE_KAFKA_SASL_PASSWORD_FILE="secret")
    assert rows["kafka.sasl.password"] == ("***", "HOPLINE_KAFKA_SASL_PASSWORD_FILE")


def test_what_secures_a_connection_is_looked_at_together(folder: Path) -> None:
    """SASL alone would be Kerberos, a key alone no pair."""
    words = ("security.protocol=sasl_ssl", "sasl.mechanisms=SCRAM-SHA-512", "sasl.username=u")
    flags = [word for each in words for word in ("--kafka", each)]
    (folder / "secret").write_text("geheim\n")
    cluster = cluster_by(*flags, "--kafka", "sasl.password.file=secret")
    assert cluster.properties["security.protocol"] == "sasl_ssl"
    with pytest.raises(UsageError, match=r"--kafka: .*mechanism"):
        cluster_by("--kafka", "security.protocol=sasl_ssl", "--kafka", "sasl.mechanisms=X")
