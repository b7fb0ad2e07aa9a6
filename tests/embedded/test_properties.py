"""The broker's settings survive Java's file format, and keep to the loopback."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.embedded.properties import server_properties
from streams.errors import UsageError


def parsed(text: str) -> dict[str, str]:
    lines = (line.partition("=") for line in text.splitlines())
    return {name: value.encode("ascii").decode("unicode_escape") for name, _, value in lines}


def test_only_the_loopback_is_listened_on() -> None:
    settings = parsed(server_properties(Path("/data"), 9092, 9093))
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093"
    assert settings["controller.quorum.voters"] == "1@127.0.0.1:9093"


def test_topics_do_not_appear_by_accident_and_transactions_end() -> None:
    settings = parsed(server_properties(Path("/data"), 1, 2))
    assert settings["auto.create.topics.enable"] == "false"
    assert int(settings["transaction.max.timeout.ms"]) <= 15000


def test_any_folder_name_is_written_as_java_reads_it() -> None:
    settings = parsed(server_properties(Path("/data/Übung/a b"), 1, 2))
    assert settings["log.dir"] == "/data/Übung/a b"


def test_a_comma_would_be_two_folders() -> None:
    with pytest.raises(UsageError, match="has a comma"):
        server_properties(Path("/a,b"), 1, 2)
