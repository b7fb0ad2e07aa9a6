"""A cluster as a topology states it: address from there or from the settings, secrets never."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import UsageError
from streams.kafka import demand_stateable, stated_cluster
from streams.settings import NOTHING, credentials_of, read_settings, variable_of
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
    assert (cluster.bootstrap, cluster.topics) == ("b:2", HOME)  # whatever the topology says
    assert cluster.properties == {
        "linger.ms": "5", "sasl.username": "me", "sasl.password": "secret",
    }  # fmt: skip
    assert "secret" not in f"{cluster!r}{set_!r}"


def test_credentials_may_have_a_name_of_their_own_and_a_cluster_a_prefix() -> None:
    stated = Stated("dmz", {"bootstrap.servers": "a:1"}, prefix="theirs.", credentials="guest")
    set_ = credentials_of(NOTHING, {"HOPLINE_CLUSTERS__GUEST__LINGER_MS": "5"})
    cluster = stated_cluster(stated, HOME, set_)
    assert (cluster.bootstrap, cluster.topics.prefix) == ("a:1", "theirs.")
    assert cluster.properties == {"linger.ms": "5"}


GUEST = {
    "HOPLINE_CLUSTERS__GUEST__BOOTSTRAP_SERVERS": "right:1",
    "HOPLINE_CLUSTERS__GUEST__SECURITY_PROTOCOL": "SASL_SSL",
    "HOPLINE_CLUSTERS__GUEST__SASL_MECHANISMS": "SCRAM-SHA-512",
    "HOPLINE_CLUSTERS__GUEST__SASL_PASSWORD": "secret",
}


@pytest.mark.parametrize(
    "stated",
    [
        {"bootstrap.servers": "evil:1"},
        {"security.protocol": "SASL_PLAINTEXT"},
        {"sasl.mechanism": "PLAIN"},
        {"bootstrap.servers": "evil:1", "security.protocol": "SASL_PLAINTEXT"},
    ],
)
def test_who_writes_the_catalog_cannot_send_for_a_password(stated: dict[str, str]) -> None:
    set_ = credentials_of(NOTHING, GUEST)
    cluster = stated_cluster(Stated("dmz", stated, credentials="guest"), HOME, set_)
    assert cluster.bootstrap == "right:1"
    assert cluster.properties == {
        "security.protocol": "SASL_SSL", "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.password": "secret",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bootstrap.servers", "evil:1"),
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "PLAIN"),
        ("ssl.ca.location", "/tmp/theirs.pem"),
        ("ssl.endpoint.identification.algorithm", "none"),
        ("enable.ssl.certificate.verification", "false"),
    ],
)
@pytest.mark.parametrize("credential", ["SASL_PASSWORD", "SSL_KEY_LOCATION"])
def test_where_credentials_are_set_trust_is_not_stated(
    name: str, value: str, credential: str
) -> None:
    set_ = credentials_of(NOTHING, {f"HOPLINE_CLUSTERS__GUEST__{credential}": "secret"})
    with pytest.raises(UsageError) as told:
        stated_cluster(Stated("dmz", {name: value}, credentials="guest"), HOME, set_)
    assert f"{name} of the cluster dmz is set in the topology only" in told.value.message
    assert variable_of("guest", name) in told.value.remedy
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    "name", ["plugin.library.paths", "plugin.x", "ssl.engine.location", "ssl.providers"]
)
def test_a_topology_that_would_run_code_is_refused(name: str) -> None:
    stated = Stated("dmz", {"bootstrap.servers": "a:1", name: "/tmp/x.so"})
    for look in (
        lambda: stated_cluster(stated, HOME, NOBODY),
        lambda: demand_stateable(Topology(clusters={"dmz": stated})),
    ):
        with pytest.raises(UsageError, match="cannot be set: the writer of a file"):
            look()


@pytest.mark.parametrize("name", ["log_level", "sasl.kerberos.keytab", "nonsense", "debug"])
def test_a_topology_states_only_what_is_known_to_be_harmless(name: str) -> None:
    with pytest.raises(UsageError) as told:
        demand_stateable(Topology(clusters={"dmz": Stated("dmz", {name: "1"})}))
    assert f"{name} of the cluster dmz is not allowed in a topology" in told.value.message


def test_where_nothing_says_the_address_it_is_told_how_to() -> None:
    with pytest.raises(UsageError) as told:
        stated_cluster(Stated("the dmz"), HOME, NOBODY)
    assert told.value.message == "The cluster the dmz has no bootstrap servers."
    assert "HOPLINE_CLUSTERS__THE_DMZ__BOOTSTRAP_SERVERS" in told.value.remedy


def test_what_would_lose_messages_is_refused_there_too() -> None:
    with pytest.raises(UsageError, match="acks cannot be set"):
        stated_cluster(Stated("dmz", {"bootstrap.servers": "a:1", "acks": "0"}), HOME, NOBODY)


def test_a_password_in_a_topology_is_refused() -> None:
    clusters = {"dmz": Stated("dmz", {"sasl.password": "secret"})}
    with pytest.raises(UsageError) as told:
        demand_stateable(Topology(clusters=clusters))
    assert "HOPLINE_CLUSTERS__DMZ__SASL_PASSWORD" in told.value.remedy
    assert "secret" not in str(told.value)


def test_a_topology_cannot_name_a_device(tmp_path: Path) -> None:
    """The client library would read some devices without end, and nothing else would run."""
    (tmp_path / "ca.pem").write_text("a certificate")
    (tmp_path / "empty.pem").touch()  # as files of /proc, some of which block
    for place in (tmp_path, tmp_path / "ca.pem", tmp_path / "missing", "half a \ud800", "\0"):
        stated = Stated("dmz", {"bootstrap.servers": "a:1", "ssl.ca.location": str(place)})
        assert stated_cluster(stated, HOME, NOBODY).properties["ssl.ca.location"] == str(place)
    for special in ("/dev/null", str(tmp_path / "empty.pem")):
        stated = Stated("dmz", {"bootstrap.servers": "a:1", "ssl.ca.location": special})
        with pytest.raises(UsageError, match="neither a file nor a folder"):
            stated_cluster(stated, HOME, NOBODY)


@pytest.mark.parametrize(
    ("addresses", "prefix", "why"),
    [
        (",".join(["a:1"] * 21), None, "names too many brokers"),
        ("a" * 4_097, None, "names too many brokers"),
        ("a:1", "\U0001f600" * 127, "prefix .* is invalid"),
        ("a:1", "a/b", "prefix .* is invalid"),
    ],
)
def test_a_cluster_in_the_catalog_has_few_addresses_and_a_prefix_of_kafka(
    addresses: str, prefix: str | None, why: str
) -> None:
    """The client library starts a thread for each address, and crashes on very long topic names."""
    stated = Stated("dmz", {"bootstrap.servers": addresses}, prefix=prefix)
    with pytest.raises(UsageError, match=why):
        stated_cluster(stated, HOME, NOBODY)
    most = Stated("dmz", {"bootstrap.servers": ",".join(["a:1"] * 20)}, prefix="a" * 200)
    assert stated_cluster(most, HOME, NOBODY).topics.prefix == "a" * 200
