"""`hopline apply`: a plan in one language, and then nothing to do."""

from __future__ import annotations

from click.testing import CliRunner

from streams.cli import main
from streams.kafka import Cluster
from streams.resources import topologies_dir
from tests.workers.rig import configure


def apply(kafka: str, prefix: str, *more: str) -> list[str]:
    folder = str(topologies_dir() / "two_brokers")
    args = ("apply", folder, "--bootstrap", kafka, "--prefix", prefix, *more)
    result = CliRunner().invoke(main, args, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


def test_a_plan_says_what_is_added_and_what_is_changed(kafka: str, unique: str) -> None:
    """Topics like objects: ``+`` is new, ``~`` is changed; a second run finds nothing to do."""
    plan = apply(kafka, unique, "--dry-run")
    assert f"  + topic {unique}cmd.ServerA" in plan
    assert "  + ServerA/DatabaseA/route/TargetRoute" in plan
    assert {line.split()[0] for line in plan} == {"+"}
    assert apply(kafka, unique) == [*plan, "catalog version 1"]
    assert apply(kafka, unique) == ["nothing to do", "catalog version 1"]
    topic = f"{unique}cmd.ServerA"
    configure(Cluster(kafka), topic, {"retention.ms": "1000"})
    [line, _] = apply(kafka, unique)
    assert line == f"  ~ topic {topic} retention.ms is 1000 and must be -1"
