"""`hopline verify` from a terminal: what it prints, and what it refuses before Spark starts."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.verify import capture
from streams.capture import CaptureReader, CaptureWriter
from streams.cli.group import main
from streams.cli.look.verify_text import verified_text
from streams.errors.refusals import Refusal
from streams.kafka import Hung
from streams.live.verify import Verified
from streams.report import Fate, Fault, Missing
from streams.report.account import Account

DIALOG = uuid.UUID("6f1c0000-0000-4000-8000-000000000001")


def account(*faults: Fault) -> Account:
    found = Account(dialogs=2)
    found.ledger.outcomes.update({Fate.DELIVERED: 7, Fate.PARKED: 2, Fate.EXPIRED: 1})
    found.ledger.locked["ServerB/DatabaseB"] = 2
    for number, fault in enumerate(faults):
        message = Missing(DIALOG, True, number, uuid.UUID(int=9), "ServerA/DatabaseA", 1_000)
        found.ledger.note(fault, message)
    return found


def test_the_account_in_words() -> None:
    found = account()
    found.drops[11292] = 3
    for at in (2_000, 1_000):
        found.refusals.note(8430, Refusal(at, DIALOG, False, uuid.UUID(int=at), "ServerB/B"))
    assert verified_text(Verified(found, ("A note.",))).splitlines() == [
        "accepted                10 messages in 2 dialogs",
        "delivered               7 at the locked target",
        "still waiting           2 parked for a queue that is off",
        "discarded               1 expired with their dialog",
        "copies removed          0",
        "copies dropped          3 x 11292, the transport could not send the message",
        "delayed                 0",
        "statements refused      2 x 8430, the message body failed the validation of its type",
        f"                          first 1970-01-01T00:00:01.000Z, {DIALOG}, target, ServerB/B",
        "dialogs locked          ServerB/DatabaseB 2",
        "  A note.",
        "verdict                 nothing lost",
    ]


def test_one_message_of_one_dialog_is_in_the_singular() -> None:
    found = Account(dialogs=1)
    found.ledger.outcomes[Fate.DELIVERED] = 1
    first = verified_text(Verified(found, ())).splitlines()[0]
    assert first == "accepted                1 message in 1 dialog"


def test_messages_that_unread_events_may_excuse_are_a_row_of_their_own() -> None:
    found = account()
    found.ledger.outcomes[Fate.UNDECIDED] = 2
    lines = verified_text(Verified(found)).splitlines()
    assert "undecided               2 may be explained by unread events" in lines
    assert lines[-1] == "verdict                 nothing lost, 2 undecided"
    assert not any(line.startswith("before the logs begin") for line in lines)
    assert found.to_json()["undecided"] == 2


@pytest.mark.parametrize(("faults", "code"), [((), 3), ((Fault.TWICE,), 1)])
def test_events_that_cannot_be_read_are_named_and_end_it_with_3(
    faults: tuple[Fault, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung = Hung("ssb.event", 0, 4711)
    found = Verified(account(*faults), (), (hung,))
    monkeypatch.setattr("streams.cli.look.verify._clusters", lambda *_: found)
    ended = CliRunner().invoke(main, ["verify", "--format", "json"])
    assert ended.exit_code == code
    row = {"topic": "ssb.event", "partition": 0, "offset": 4711}
    assert json.loads(ended.stdout)["hung"] == [row]
    assert str(hung) in ended.stderr and hung.remedy in ended.stderr


def test_exceptions_in_words_are_cut_and_counted() -> None:
    found = account(Fault.MISCOUNTED, *[Fault.LOST] * 30)
    *lines, verdict = verified_text(Verified(found)).splitlines()
    shown = [line for line in lines if str(DIALOG) in line]
    assert len(shown) == 20 and shown[0] == (
        f"  lost       {DIALOG}  message 1 of the initiator, issued 1970-01-01T00:00:01.000Z, "
        "ServerA/DatabaseA"
    )
    assert lines[-1] == "  ... and 11 more: --format json"
    assert verdict == "verdict                 30 lost, 1 miscounted by one side"
    alone = verified_text(Verified(account(Fault.MISCOUNTED)))
    assert "initiator counts 0 sent, but its commands differ, ServerA/DatabaseA" in alone


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--since", "yesterday"], "is not a time"),
        (["--capture", "x.avro", "--also", "other:9092"], "Leave one out"),
        (
            [
                "--engine",
                "spark",
                "--kafka",
                "security.protocol=ssl",
                "--kafka",
                "enable.ssl.certificate.verification=false",
            ],
            "Java's Kafka client always verifies certificates",
        ),
    ],
)
def test_wrong_use_is_reported_before_anything_starts(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["verify", *arguments])
    assert (result.exit_code, result.stdout) == (2, "") and message in result.stderr


@pytest.mark.long
def test_verify_from_a_terminal(tmp_path: Path) -> None:
    """A capture of all topics without one message of a queue: a negative result, and JSON."""
    whole = CaptureReader(capture(tmp_path / "whole.avro", 1, 200))
    with CaptureWriter(tmp_path / "spoiled.avro", whole.metadata) as writer:
        queued = [n for n, r in enumerate(whole) if ".queue." in r.topic]
        for number, record in enumerate(whole):
            if number != queued[0]:
                writer.write(record)
    command = [
        *(sys.executable, "-m", "streams", "verify"),
        *("--capture", str(tmp_path / "spoiled.avro"), "--format", "json"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)
    assert answer["engine"] == "local"
    assert (answer["accepted"], answer["delivered"], answer["dialogs"]) == (200, 199, 20)
    assert (answer["verdict"], answer["listed"], answer["notes"]) == ("1 lost", 1, [])
    [lost] = answer["exceptions"]
    assert lost["fault"] == "lost" and lost["place"] == "ServerA/DatabaseA"
