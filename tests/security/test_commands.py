"""Commands as the users of their roles: they work, ask for no more, and tell no password."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sqlalchemy as sa

from streams.client.outbox import METADATA, Outbox
from streams.store import LatencyWindow, Store
from tests.monitor.recount import stored
from tests.security.leaks import environment, run
from tests.security.system import Guarded, as_user


@pytest.mark.long
def test_verify_reads_with_java_and_with_librdkafka(system: Guarded, tmp_path: Path) -> None:
    """Spark's source is Java: it gets the same user, by other names."""
    words = ("verify", "--engine", "spark", "--master", "local[1]", "--format", "json")
    done = as_user(system, "verify", tmp_path, *words)
    assert done.code == 0, done.stderr
    assert json.loads(done.stdout)["verdict"].startswith("nothing lost")
    assert system.secured.refused("verify", system.prefix) == set()
    assert system.secured.unused(system.roles["verify"]) == set()
    assert [line for line in done.processes if "java" in line], "Spark's Java was looked at too"


@pytest.mark.long
def test_verify_without_spark_asks_for_no_more(system: Guarded, tmp_path: Path) -> None:
    done = as_user(system, "verify", tmp_path, "verify", "--format", "json")
    assert done.code == 0, done.stderr
    assert json.loads(done.stdout)["engine"] == "local"
    assert system.secured.refused("verify", system.prefix) == set()
    assert not [line for line in done.processes if "java" in line]


@pytest.mark.long
def test_an_observer_sees_all_workers_and_partitions(system: Guarded, tmp_path: Path) -> None:
    """User, password and authority are from the environment, as for every command."""
    where = ("--bootstrap", system.secured.sasl)
    done = as_user(system, "observer", tmp_path, "status", *where, "--format", "json")
    assert done.code == 0, done.stdout
    shown = json.loads(done.stdout)
    assert shown["unserved"] == [] and all(w["ready"] for w in shown["workers"] if w["alive"])
    assert {w["role"] for w in shown["workers"]} == {"forwarder", "endpoint"}
    assert system.secured.refused("observer", system.prefix) == set()


@pytest.mark.long
def test_verify_with_a_key_instead_of_a_password(system: Guarded, tmp_path: Path) -> None:
    certificates = system.secured.certificates
    variables = {
        "HOPLINE_BOOTSTRAP": system.secured.tls,
        "HOPLINE_PREFIX": system.prefix,
        "HOPLINE_KAFKA_SECURITY_PROTOCOL": "ssl",
        "HOPLINE_KAFKA_SSL_CA_LOCATION": system.secured.authority,
        "HOPLINE_KAFKA_SSL_CERTIFICATE_LOCATION": str(certificates / "verify.crt"),
        "HOPLINE_KAFKA_SSL_KEY_LOCATION": str(certificates / "verify.key"),
    }
    words = ("verify", "--engine", "spark", "--master", "local[1]", "--format", "json")
    done = run(tmp_path, variables, *words)
    assert done.code == 0, done.stderr
    key = (certificates / "verify.key").read_text().splitlines()[1]
    for text in (done.stdout, done.stderr, *done.processes):
        assert key not in text
    assert key not in (tmp_path / ".hopline/verify/spark.log").read_text()


@pytest.mark.long
def test_the_monitor_watches(system: Guarded, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/monitor.sqlite"
    words = ("monitor", "--until-idle", "3", "--master", "local[2]", "--store", url)
    done = as_user(system, "monitor", tmp_path, *words, "--checkpoint", str(tmp_path / "c"))
    assert done.code == 0, done.stderr
    with Store.open(url, create=False) as store:
        assert stored(store, LatencyWindow)
    assert system.secured.refused("monitor", system.prefix) == set()
    # What forwarders hold in memory is read only where one holds something; of other clusters'
    # topics there is none here.
    held = {(f"{system.prefix}{kind}.", "Read") for kind in ("txq", "ingress")}
    assert system.secured.unused(system.roles["monitor"]) == held


@pytest.mark.long
@pytest.mark.parametrize(
    ("user", "words"),
    [
        ("observer", ("query", "sys.conversation_endpoints")),
        ("observer", ("query", "sys.dm_broker_forwarded_messages")),
        ("observer", ("query", "SELECT message_body FROM InitiatorQueue")),
        ("observer", ("query", "SELECT message_body FROM TargetQueue")),
        ("observer", ("tail",)),
        ("apply", ("apply", "{topology}", "--dry-run")),
        ("apply", ("topics", "{topology}", "--check")),
    ],
)
def test_what_else_people_run(
    system: Guarded, tmp_path: Path, user: str, words: tuple[str, ...]
) -> None:
    folder = str(system.folder)
    done = as_user(system, user, tmp_path, *(w.replace("{topology}", folder) for w in words))
    assert done.code == 0, done.stderr
    assert system.secured.refused(user, system.prefix) == set()


@pytest.mark.long
def test_what_an_application_has_committed_is_handed_over(system: Guarded, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/shop.sqlite"
    engine = sa.create_engine(store)
    METADATA.create_all(engine)
    with engine.begin() as connection:
        outbox = Outbox(connection)
        dialog = outbox.begin("ServerA", "DatabaseA", "InitiatorService", "TargetService")
        outbox.end(dialog, cleanup=True)
    engine.dispose()
    done = as_user(system, "outbox", tmp_path, "outbox", "--store", store, "--once")
    assert done.code == 0, done.stderr
    assert system.secured.refused("outbox", system.prefix) == set()
    assert system.secured.unused(system.roles["outbox"]) == set()


@pytest.mark.long
def test_what_an_observer_has_recorded_is_replayed(system: Guarded, tmp_path: Path) -> None:
    """The job's position is committed in the same transaction, under a group of its own."""
    taken = as_user(system, "observer", tmp_path, "capture", "--output", "friday")
    assert taken.code == 0, taken.stderr
    words = ("replay", "friday", "--asap", "--new-conversations", "--job", "again")
    done = as_user(system, "replay", tmp_path, *words, "--settle", "2")
    # Of the dialog that was trimmed there is no whole one to say again, and the result is negative.
    assert done.code in (0, 1), done.stderr
    assert "commands delivered" in done.stdout
    for user in ("observer", "replay"):
        assert system.secured.refused(user, system.prefix) == set()
    assert system.secured.unused(system.roles["replay"]) == set()


@pytest.mark.long
def test_a_worker_that_may_not_is_told_and_tells_no_password(
    system: Guarded, tmp_path: Path
) -> None:
    """With everything that librdkafka has to say."""
    words = ("worker", "endpoint", "--instance", "ServerA", "--timeout", "60", "--verbose")
    refused = as_user(system, "monitor", tmp_path, *words, "--kafka", "debug=all")
    assert refused.code == 3
    assert "hopline acl" in refused.stderr


@pytest.mark.long
def test_a_wrong_password_is_told_and_which_one_it_was_is_not(
    system: Guarded, tmp_path: Path
) -> None:
    variables = environment(system.secured, "verify", system.prefix, tmp_path)
    Path(variables["HOPLINE_KAFKA_SASL_PASSWORD_FILE"]).write_text("geheim-verkehrt")
    done = run(tmp_path, variables, "query", "sys.routes", "--timeout", "10")
    done.demand_silence()
    assert done.code == 3
    assert "Authentication failed" in done.stderr
