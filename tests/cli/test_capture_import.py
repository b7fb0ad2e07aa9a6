"""``hopline capture import``: as documented, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams.capture import CaptureReader
from streams.capture.schedule import contents_of
from tests.capture.foreign import samples, shop
from tests.command import hopline

PAGE = Path(__file__).parents[2] / "docs" / "capture.md"
SHOP = PAGE.parent / "examples" / "shop.csv"
LOG = ("--conversation", "order_id", "--time", "at", "--body", "payload")
WHO = ("--from-service", "InitiatorService", "--to-service", "TargetService")
MORE = ("--contract", "//hopline/OrderContract", "--type", "type")


def test_the_shipped_log_imports_and_every_message_has_a_path(tmp_path: Path) -> None:
    """The documented command; the judge of `diff` does what a dry run would."""
    output = tmp_path / "shop.avro"
    code, out, err = hopline(
        "capture", "import", SHOP, *LOG, *WHO, *MORE, "--topology", "combined",
        "--output", output, "--format", "json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["rows"] == {"rows of a log": 2_000}
    assert answer["made"] == {"BEGIN commands": 240, "SEND commands": 2_000, "END commands": 240}
    found = contents_of(CaptureReader(output), "ssb.")
    assert (found.commands, found.dialogs, found.skipped) == (2_480, 240, 0)
    code, out, _ = hopline("diff", "combined", "--capture", output, "--format", "json")
    assert code == 0
    judged = json.loads(out)["capture"]
    assert (judged["messages"], judged["judged"]) == (2_000, 2_000)


def test_the_documented_command_is_this_one() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").replace("\\\n", " ").split())
    words = ("hopline capture import docs/examples/shop.csv", *LOG, *WHO, *MORE, "--topology")
    assert " ".join(words) in text


def test_the_shipped_log_is_what_its_seed_makes() -> None:
    assert shop.PATH.read_text(encoding="utf-8") == shop.text()


def test_extended_events_import_as_text(tmp_path: Path) -> None:
    path = tmp_path / "friday.xml"
    path.write_text("".join(map(samples.element, samples.story())))
    code, out, _ = hopline("capture", "import", path, "--output", tmp_path / "f.avro")
    assert code == 0
    assert "10  broker_conversation" in out
    assert "25 records (2 BEGIN commands, 18 events, 4 SEND commands and 1 END commands)" in out


def test_what_was_not_mapped_is_bad_news(tmp_path: Path) -> None:
    path = tmp_path / "friday.xml"
    path.write_text(samples.element(samples.story()[0]).replace("2026-", "0026-"))
    code, out, _ = hopline("capture", "import", path, "--output", tmp_path / "f.avro")
    assert code == 1
    assert "1  broker_conversation without a valid time (first: " in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "unknown format; its columns are: order_id, at"),
        (LOG[:2], "A message log needs three columns"),
        (LOG, "A message log does not name the services"),
        ((*LOG, *WHO), "A message log does not name the services"),
        (
            (*LOG, *WHO, "--topology", "data_dependent"),
            "The topology has no service 'InitiatorService'",
        ),
        ((*LOG[:4], "--body", "text", *WHO, "--topology", "combined"), "there is no column 'text'"),
        ((*LOG, *WHO, "--utc-offset", "2h"), "is not a UTC offset; write it like +02:00"),
    ],
)
def test_wrong_use_is_a_sentence(words: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    code, out, err = hopline("capture", "import", SHOP, *words, "--output", tmp_path / "x.avro")
    assert (code, out) == (2, "")
    assert sentence in err
    assert not (tmp_path / "x.avro").exists()


def test_a_servers_own_form_is_refused_with_the_query_that_reads_it(tmp_path: Path) -> None:
    (tmp_path / "friday.xel").write_bytes(b"\0\1")
    code, _, err = hopline("capture", "import", tmp_path / "friday.xel", "--output", tmp_path / "x")
    assert code == 2
    assert "SELECT event_data FROM sys.fn_xe_file_target_read_file" in err


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    code, _, err = hopline(
        "capture", "import", tmp_path / "no.csv", "--output", tmp_path / "x.avro"
    )
    assert code == 2
    assert "no.csv: The file cannot be read: No such file or directory" in err
