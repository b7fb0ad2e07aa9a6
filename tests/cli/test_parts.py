"""`apply` and `topics` of a topology that names two clusters, here two prefixes of one broker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.kafka import Cluster, read_catalog
from streams.resources import topologies_dir
from streams.wire import Topics

TEXT = (topologies_dir() / "two_clusters" / "topology.yaml").read_text(encoding="utf-8")


def run(*args: str, **variables: str) -> Result:
    return CliRunner().invoke(main, args, env=variables, catch_exceptions=False)


@pytest.fixture
def folder(tmp_path: Path, kafka: str, unique: str) -> str:
    """Return the shipped topology, with both clusters where there is a broker."""
    beginning = TEXT[: TEXT.index("clusters:")]
    clusters = {
        name: {"bootstrap.servers": kafka, "prefix": f"{unique}{name}."}
        for name in ("buyer", "seller")
    }
    text = f"{beginning}clusters: {json.dumps(clusters)}\n"
    (tmp_path / "topology.yaml").write_text(text, encoding="utf-8")
    return str(tmp_path)


def catalog(kafka: str, prefix: str) -> tuple[set[str], set[str]]:
    """Return the instances and neighbours that a cluster's catalog has."""
    topology = read_catalog(Cluster(kafka, Topics(prefix))).topology
    assert topology is not None
    return set(topology.instances), set(topology.neighbours)


@pytest.mark.long
def test_each_cluster_gets_its_share_and_only_that(folder: str, kafka: str, unique: str) -> None:
    planned = run("apply", folder, "--dry-run").stdout.splitlines()
    assert [line for line in planned if line.startswith("cluster ")] == [
        f"cluster buyer at {kafka}",
        f"cluster seller at {kafka}",
    ]
    assert f"  + topic {unique}seller.txq.GatewayB" in planned
    assert f"  + topic {unique}buyer.txq.GatewayB" not in planned
    assert f"  + topic {unique}seller.ingress.GatewayB.buyer" in planned
    assert "  + GatewayB//ingress/buyer" in planned
    assert "  + //neighbour/GatewayB" in planned

    done = run("apply", folder)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.endswith("catalog version 1 of buyer\ncatalog version 1 of seller\n")
    assert catalog(kafka, f"{unique}buyer.") == ({"ServerA", "ServerC", "GatewayA"}, {"GatewayB"})
    assert catalog(kafka, f"{unique}seller.") == ({"ServerB", "GatewayB"}, {"GatewayA"})

    again: dict[str, Any] = json.loads(run("apply", folder, "--format", "json").stdout)
    assert {n: (c["version"], c["added"]) for n, c in again["clusters"].items()} == {
        "buyer": (1, []), "seller": (1, []),
    }  # fmt: skip

    checked = run("topics", folder, "--check")
    assert (checked.exit_code, checked.stdout.count("topics match")) == (0, 2)
    only = run("topics", folder, "--check", "--cluster", "seller", "--format", "json")
    assert list(json.loads(only.stdout)["clusters"]) == ["seller"]

    wrong = ("--bootstrap", kafka, "--prefix", f"{unique}seller.")
    refused = run("apply", folder, "--cluster", "buyer", *wrong)
    assert refused.exit_code == 2
    assert f"The catalog at {kafka} belongs to a cluster other than buyer" in refused.stderr


def test_where_a_cluster_is_the_settings_say_and_bootstrap_of_a_chosen_one(
    folder: str, kafka: str, unique: str
) -> None:
    nowhere = {"HOPLINE_CLUSTERS__SELLER__BOOTSTRAP_SERVERS": "127.0.0.1:1"}
    away = run("apply", folder, "--timeout", "5", **nowhere)  # the buyer has to answer in time
    assert away.exit_code == 3
    assert "Kafka at 127.0.0.1:1 cannot be reached" in away.stderr
    assert not [n for n in _topics(kafka) if n.startswith(unique)], "a plan fails before it is done"
    named = ("--cluster", "seller", "--bootstrap", kafka, "--prefix", f"{unique}seller.")
    assert run("apply", folder, *named, **nowhere).stdout.endswith("version 1 of seller\n")


def _topics(kafka: str) -> list[str]:
    return list(Cluster(kafka).admin().list_topics(timeout=30).topics)


def test_one_bootstrap_is_not_two_clusters(folder: str) -> None:
    refused = run("apply", folder, "--bootstrap", "127.0.0.1:1")
    assert refused.exit_code == 2
    assert "--bootstrap names one cluster; the topology has 2." in refused.stderr
    refused = run("up", folder, "--bootstrap", "127.0.0.1:1", "--data", f"{folder}/up")
    assert refused.exit_code == 2
    assert "The topology has 2 clusters, but --bootstrap gives only one." in refused.stderr


def test_a_password_in_a_topology_is_not_published(folder: str) -> None:
    path = Path(folder) / "topology.yaml"
    text = path.read_text(encoding="utf-8").replace('"prefix"', '"sasl.password": "x", "prefix"')
    path.write_text(text, encoding="utf-8")
    refused = run("apply", folder)
    assert refused.exit_code == 2
    assert "Set HOPLINE_CLUSTERS__BUYER__SASL_PASSWORD" in refused.stderr
