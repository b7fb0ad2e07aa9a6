"""A cluster as a topology states it: address from there or from the settings, secrets never."""

from __future__ import annotations

import pytest

from streams.errors import UsageError
from streams.kafka import refuse_secrets, stated_cluster
from streams.settings import NOTHING, credentials_of, read_settings
from streams.topology import Cluster as Stated
from streams.topology import Topology
from streams.wire import Topics

HOME = Topics("home.")
NOBODY = credentials_of(NOTHING, {})


def test_the_settings_win_and_the_prefix_is_that_of_home() -> None:
    stated = Stated("dmz", {"bootstrap.servers": "a:1", "linger.ms": "5"})
    assert stated_cluster(stated, HOME, NOBODY).bootstrap == "a:1"
    file = read_settings('[clusters.dmz]\nbootstrap.servers = "b:2"\nsasl.username = "me"', "f")
    set_ = credentials_of(file, {"HOPLINE_CLUSTERS__DMZ__SASL_PASSWORD": "secret"})
    cluster = stated_cluster(stated, HOME, set_)
    assert (cluster.bootstrap, cluster.topics) == ("b:2", HOME)
    assert cluster.properties == {
        "linger.ms": "5", "sasl.username": "me", "sasl.password": "secret",
    }  # fmt: skip
    assert "secret" not in f"{cluster!r}{set_!r}"


def test_credentials_may_have_a_name_of_their_own_and_a_cluster_a_prefix() -> None:
    stated = Stated("dmz", {"bootstrap.servers": "a:1"}, prefix="theirs.", credentials="guest")
    set_ = credentials_of(NOTHING, {"HOPLINE_CLUSTERS__GUEST__SASL_USERNAME": "guest"})
    cluster = stated_cluster(stated, HOME, set_)
    assert (cluster.topics.prefix, cluster.properties) == ("theirs.", {"sasl.username": "guest"})


def test_where_nothing_says_the_address_it_is_told_how_to() -> None:
    with pytest.raises(UsageError) as told:
        stated_cluster(Stated("the dmz"), HOME, NOBODY)
    assert told.value.message == "Nothing says where the cluster the dmz is."
    assert "HOPLINE_CLUSTERS__THE_DMZ__BOOTSTRAP_SERVERS" in told.value.remedy


def test_what_would_lose_messages_is_refused_there_too() -> None:
    with pytest.raises(UsageError, match="acks cannot be set"):
        stated_cluster(Stated("dmz", {"bootstrap.servers": "a:1", "acks": "0"}), HOME, NOBODY)


def test_a_password_in_a_topology_is_refused() -> None:
    clusters = {"dmz": Stated("dmz", {"sasl.password": "secret"})}
    with pytest.raises(UsageError) as told:
        refuse_secrets(Topology(clusters=clusters))
    assert "HOPLINE_CLUSTERS__DMZ__SASL_PASSWORD" in told.value.remedy
    assert "secret" not in str(told.value)
