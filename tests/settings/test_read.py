"""hopline.toml: values with their lines, and what is refused, with its place."""

from __future__ import annotations

import pytest

from streams.errors import InputError, UsageError
from streams.settings import (
    REFUSED,
    Sourced,
    credentials_of,
    demand_safe,
    is_secret,
    property_variables,
    read_settings,
    settings_of,
    unknown_variables,
)

FILE = """\
# bootstrap = "not this one"
bootstrap = \"""
a:1,\\
b:2\"""

worker.slot = "1" # dotted, before its table
[kafka]
sasl.password = "s"
"socket.keepalive.enable" = true
linger.ms = 3
"""


def test_every_value_knows_the_line_on_which_it_begins() -> None:
    read = read_settings(FILE, "f.toml")
    assert read.settings == {
        ("", "bootstrap"): Sourced("a:1,b:2", "f.toml:2"),
        ("worker", "slot"): Sourced("1", "f.toml:6"),
    }
    assert read.properties == {
        "sasl.password": Sourced("s", "f.toml:8"),
        "socket.keepalive.enable": Sourced("true", "f.toml:9"),
        "linger.ms": Sourced("3", "f.toml:10"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\nbootstrp = "x"', "f:2: Unknown setting bootstrp.\n  Did you mean 'bootstrap'?"),
        (
            "[worker]\nslots = 1",
            "f:2: Unknown setting worker.slots.\n  Did you mean",
        ),
        ("[workr]\nslot = 1", "f:2: Unknown table [workr].\n  Did you mean 'worker'?"),
        ("[worker.more]\nslot = 1", "f:2: Unknown setting worker.more.slot."),
        ("worker = 3", "f:1: Unknown setting worker."),
        ("\na = ", "f:2: This is not valid TOML: Invalid value."),
        ("a", "f:1"),
        ("[worker]\nverbose = 1", "f:2: worker.verbose must be true or false."),
        ("[worker]\nslot = [1]", "f:2: worker.slot must be a string or an integer."),
        ("[worker]\nslot = 3.5", "f:2: worker.slot must be a string or an integer."),
        ("[worker]\nkeep = [1]", "f:2: worker.keep must be a string or a number."),
        ("prefix = true", "f:1: prefix must be a string or an integer."),
        (
            "[kafka]\nlinger.ms = [1]",
            "f:2: kafka.linger.ms must be a string, a number, true or false.",
        ),
        ("[clusters]\ndmz = 3", "f:2: clusters.dmz is a table of librdkafka's properties."),
        ("clusters = 3", "f:1: Unknown setting clusters."),
        ('[clusters.dmz]\nacks = "1"', "f:2: acks cannot be set: "),
        (
            "[clusters.dmz]\nlinger.ms = [1]",
            "f:2: clusters.dmz.linger.ms must be a string, a number",
        ),
        ('[kafka]\nacks = "1"', "f:2: acks cannot be set: "),
        ("[kafka]\nenable.auto.commit = true", "f:2: enable.auto.commit cannot be set: "),
        ("[kafka.error_cb]\nx = 1\n[kafka]\nstats_cb = 1", "f:4: stats_cb cannot be set: "),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_settings(text, "f")
    assert str(caught.value).startswith(message)


def test_lines_may_end_as_windows_writes_them() -> None:
    text = '[kafka]\r\nclient.id = "x"  # a comment\r\n[worker]\r\nslot = 1\r\n'
    assert str(read_settings(text, "f").settings["worker", "slot"].source) == "f:4"


@pytest.mark.parametrize("text", ["", "[worker]", "[kafka]\n", "# nothing"])
def test_a_file_may_say_nothing(text: str) -> None:
    read = read_settings(text, "f")
    assert not read.settings
    assert not read.properties


@pytest.mark.parametrize("name", REFUSED)
def test_a_property_that_could_lose_messages_is_refused_with_a_sentence(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        demand_safe([name], "here")
    assert caught.value.message == f"here: {name} cannot be set: {REFUSED[name]}"
    assert REFUSED[name].endswith(".")


def test_variables_set_properties_and_log_level_is_written_with_an_underscore() -> None:
    environment = {
        "HOPLINE_KAFKA_SASL_PASSWORD": "s",
        "HOPLINE_KAFKA_LOG_LEVEL": "7",
        "OTHER_KAFKA_X": "",
    }
    assert dict(property_variables(environment)) == {
        "sasl.password": Sourced("s", "HOPLINE_KAFKA_SASL_PASSWORD"),
        "log_level": Sourced("7", "HOPLINE_KAFKA_LOG_LEVEL"),
    }


def test_unknown_variables_are_reported_with_the_nearest_known() -> None:
    environment = dict.fromkeys(["HOPLINE_BOOTSTRP", "HOPLINE_Q", "HOPLINE_KAFKA_X", "PATH"], "")
    environment |= {s.variable: "" for s in settings_of()}
    assert list(unknown_variables(environment)) == [
        ("HOPLINE_BOOTSTRP", "HOPLINE_BOOTSTRAP"),
        ("HOPLINE_Q", ""),
    ]


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("sasl.password", True),
        ("ssl.key.password", True),
        ("ssl.key.pem", True),
        ("sasl.oauthbearer.client.secret", True),
        ("sasl.oauthbearer.config", True),
        ("sasl.username", False),
        ("linger.ms", False),
    ],
)
def test_what_must_not_be_shown(name: str, secret: bool) -> None:
    assert is_secret(name) is secret


def test_no_setting_is_without_a_sentence() -> None:
    for setting in settings_of():
        assert setting.says.endswith("."), setting.key
        assert len(setting.says) > 10, setting.key


def test_other_clusters_have_tables_and_variables_of_their_own() -> None:
    text = '[clusters.dmz]\nbootstrap.servers = "b:2"\n[clusters."the rest".sasl]\nusername = "me"'
    variables = {
        "HOPLINE_CLUSTERS__DMZ__SASL_PASSWORD": "s",
        "HOPLINE_CLUSTERS__DMZ__BOOTSTRAP_SERVERS": "c:3",
    }
    found = credentials_of(read_settings(text, "f"), variables)
    assert found.named("dmz") == {"bootstrap.servers": "c:3", "sasl.password": "s"}
    assert found.named("the rest") == {"sasl.username": "me"}
    assert found.named("nobody") == {}
    assert [(name, key, s.source) for name, key, s in found] == [
        ("DMZ", "bootstrap.servers", "HOPLINE_CLUSTERS__DMZ__BOOTSTRAP_SERVERS"),
        ("DMZ", "sasl.password", "HOPLINE_CLUSTERS__DMZ__SASL_PASSWORD"),
        ("THE_REST", "sasl.username", "f:4"),
    ]
    assert list(unknown_variables(variables)) == []


def test_what_would_lose_messages_is_refused_for_other_clusters_too() -> None:
    with pytest.raises(UsageError, match="acks cannot be set"):
        credentials_of(read_settings("", "f"), {"HOPLINE_CLUSTERS__DMZ__ACKS": "0"})


@pytest.mark.parametrize("text", ["[clusters.dmz]", "[clusters]"])
def test_an_empty_table_sets_nothing(text: str) -> None:
    assert list(credentials_of(read_settings(text, "f"), {})) == []
