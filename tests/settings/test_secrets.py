"""Secrets by file: a property or a variable that names one."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import UsageError
from streams.settings import Sourced, credentials_of, is_filed, read_settings, with_files_read


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text("geheim\n", encoding="utf-8")
    return path


def test_a_file_stands_for_a_password(secret: Path) -> None:
    properties = {
        "sasl.password.file": Sourced(str(secret), "f:3"),
        "linger.ms": Sourced("5", "f:4"),
    }
    assert with_files_read(properties) == {
        "sasl.password": Sourced("geheim", "f:3"), "linger.ms": Sourced("5", "f:4"),
    }  # fmt: skip
    properties["sasl.password"] = Sourced("said", "f:5")
    assert with_files_read(properties)["sasl.password"].value == "said"


def test_only_one_newline_at_the_end_is_none_of_it(tmp_path: Path) -> None:
    path = tmp_path / "odd"
    for text, value in (("a b ", "a b "), ("x\n\n", "x\n"), ("x\r\n", "x")):
        path.write_bytes(text.encode())
        found = with_files_read({"ssl.key.password.file": Sourced(str(path), "-")})
        assert found["ssl.key.password"].value == value


@pytest.mark.parametrize(
    ("name", "filed"),
    [
        ("sasl.password.file", True),
        ("sasl.oauthbearer.client.secret.file", True),
        ("sasl.oauthbearer.assertion.private.key.file", False),  # librdkafka's own
        ("ssl.key.location", False),
    ],
)
def test_what_librdkafka_reads_itself_is_left_to_it(name: str, filed: bool) -> None:
    assert is_filed(name) is filed


def test_a_missing_or_empty_file_is_reported_with_its_source(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    for name, why in (("gone", "No such file"), ("empty", "is empty")):
        with pytest.raises(UsageError, match=why) as refused:
            with_files_read({"sasl.password.file": Sourced(str(tmp_path / name), "X_FILE")})
        assert refused.value.message.startswith("X_FILE: ")


def test_other_clusters_have_files_too(secret: Path) -> None:
    file = read_settings(f'[clusters.dmz]\nsasl.password.file = "{secret.as_posix()}"', "f")
    assert credentials_of(file, {}).named("dmz") == {"sasl.password": "geheim"}
    variable = {"HOPLINE_CLUSTERS__DMZ__SASL_PASSWORD_FILE": str(secret)}
    assert credentials_of(read_settings("", "f"), variable).named("dmz") == {
        "sasl.password": "geheim"
    }
    text = '[clusters.dmz]\nsasl.password = "former"'
    assert credentials_of(read_settings(text, "f"), variable).named("dmz") == {
        "sasl.password": "geheim"
    }
