"""What a command line must not say, and what a printed one must not do."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.cli.options.shown import masked
from streams.cli.text.record_lines import lines, story
from streams.cli.text.records import content_text
from streams.cli.text.values import shorten
from streams.errors import UsageError
from streams.protocol import ERROR
from streams.store import Store
from streams.wire import Topics, encode_event
from streams.wire.describe import Description, RawRecord, describe
from streams.wire.plain import body_of

STORE = "postgresql+psycopg://me:s3cret@127.0.0.1:1/shop"
QUERY = "postgresql+psycopg://127.0.0.1:1/shop?user=me&{}=s3cret"


@pytest.mark.parametrize(
    "words",
    [
        ("dashboard", "--store", STORE),
        ("monitor", "--store", STORE),
        ("outbox", "--store", STORE),
        ("outbox", "--store", STORE.replace("me", "me@corp.com")),
        ("monitor", "--store", QUERY.format("password")),
        ("dashboard", "--store", QUERY.format("sslPassword")),
        ("dashboard", "--token", "s3cret"),
    ],
)
def test_a_secret_on_the_command_line_is_refused(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, "process list" in done.output) == (2, True)
    assert "s3cret" not in done.output


URL = "mssql://me@corp.com:s3cret@sql01"


@pytest.mark.parametrize(
    "words",
    [
        ("diagnose", URL),
        ("diagnose", "mssql://me:a s3cret@sql01"),
        ("diagnose", "mssql://sql01?PWD=s3cret"),
        ("diagnose", "mssql://sql01;pwd = a s3cret;Encrypt=yes"),
        ("diagnose", "snapshots", "--topology", URL),
        ("check", URL),
        ("import", URL, "-o", "out"),
        ("import", f"A={URL}", "-o", "out"),
        ("inspect", URL),
        ("simulate", URL),
        ("verify", URL),
        (URL,),
    ],
)
def test_no_error_shows_the_password_of_a_url(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, "***" in done.output, "s3cret" in done.output) == (2, True, False)
    assert "mssql:/" in done.output and "Traceback" not in done.output


@pytest.mark.parametrize(
    "text",
    [
        "a.sql:3:1: 'tcp://ServerA:4022' is not '@address'",
        "C:/shop/a:b@c.sql is not a script",
        "mssql://me@sql01:1433 does not answer",
    ],
)
def test_an_error_without_a_password_is_shown_as_it_is(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "postgresql//me:s3cret@h/d",
        "me:s3cret@h",
        "postgresql://me:s3/cr@et:x@h:port/d",
        "//s3cret@",
        "postgresql//h/d?password=s3cret",
        "postgresql//h/d?password=s3@cret",
        "me:s3cret@h?password=s3cret",
    ],
)
def test_an_address_that_is_none_is_shown_without_its_password(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        Store.open(text)
    assert not any(part in str(refused.value) for part in ("s3cret", "s3/cr", "et:x", "@cret"))
    assert "***@" in str(refused.value)


def test_printed_grants_are_commands_of_kafka_and_nothing_else(tmp_path: Path) -> None:
    """`hopline acl | sh` is what the page says; a name with a line's end in it was a command."""
    made = tmp_path / "made"
    (tmp_path / "topology.yaml").write_text(
        "instances:\n"
        f'  "A; touch {made}": {{cluster: "one\\ntouch {made}"}}\n'
        f'  "$(touch {made})": {{cluster: "two`touch {made}`"}}\n'
    )
    done = CliRunner().invoke(main, ["acl", str(tmp_path), "--principal", "User:{role}'\n touch x"])
    assert done.exit_code == 0, done.output
    script = "kafka-acls.sh() { :; }\n" + done.output
    subprocess.run(["bash", "-euc", script], check=True, cwd=tmp_path, env={"AT": ""})
    assert not made.exists()
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("printing", [lines, story])
def test_no_name_of_a_record_moves_a_cursor(
    printing: Callable[[], Callable[[Description], None]], capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b[2J\x9b1m\u202e\ufeff"
    event = {"event": 149, "at": 1, "instance": evil, "database": evil, "conversation": evil}
    raw = RawRecord("event", 0, 0, 1, evil.encode(), encode_event({**event, "detail": evil}), ())
    printing()({**describe(raw, Topics("")), "conversation": evil})
    output = capsys.readouterr().out
    assert "\\x1b[2J" in output
    assert [c for c in output if not c.isprintable() and c != "\n"] == []


def test_a_body_of_megabytes_is_shortened_at_once() -> None:
    """A compressed record of some kilobytes may hold it."""
    started = time.thread_time()
    assert shorten("\0" * 100_000_000, 9) == "\\x00\\x00…"
    assert time.thread_time() - started < 5


@pytest.mark.parametrize("kind", [ERROR, "//any/Type"])
def test_a_body_of_repeated_errors_is_shown_in_linear_time(kind: str) -> None:
    started = time.thread_time()
    body = b"<Code>1</Code><Description>" * 10_000
    assert "1: " not in content_text(kind, body_of(body))
    shown = content_text(kind, body_of(body + b"a &amp; b</Description>"))
    assert shown.endswith(" 1: a & b") is (kind == ERROR)
    assert time.thread_time() - started < 5
