"""``hopline inspect``: numbers, conditions, a dialog's path, exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streams.capture import CaptureReader
from tests.capture.commands import begin, capture, records, send
from tests.capture.foreign import samples
from tests.capture.foreign.samples import ONE, TWO
from tests.capture.test_salvage import damaged
from tests.command import hopline


@pytest.fixture
def friday(tmp_path: Path) -> Path:
    """The sample's two dialogs, imported."""
    path = tmp_path / "friday.xml"
    path.write_text("".join(map(samples.element, samples.story())))
    code, _, err = hopline("capture", "import", path, "--output", tmp_path / "friday.avro")
    assert code == 0, err
    return tmp_path / "friday.avro"


def answer(*words: object) -> dict[str, Any]:
    code, out, err = hopline("inspect", *words, "--format", "json")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def test_the_numbers(friday: Path) -> None:
    found = answer(friday)
    assert found["records"] == 25
    assert found["dialogs"] == {"seen": 2, "begun": 2, "ended": 1}
    assert found["flows"] == [
        {
            "from": "InitiatorService", "to": "TargetService",
            "contract": "//hopline/OrderContract", "dialogs": 2, "messages": 4,
        }
    ]  # fmt: skip
    assert found["topics"] == {"ssb.cmd.ServerA": 6, "ssb.cmd.ServerB": 1, "ssb.event": 18}
    assert found["errors"] == {"28007": 1}
    assert sum(found["rates"]["counts"]) == 25
    assert (found["complete"], found["lost"], found["kind"]) == (True, 0, "imported")
    assert found["gaps"] == {"offsets": 0, "sequences": 0}
    assert set(found["duplicates"].values()) == {0}


def test_a_person_reads_them_in_100_columns(friday: Path) -> None:
    code, out, _ = hopline("inspect", friday)
    assert code == 0
    assert "2 dialogs: 2 begin here, 1 end" in out
    assert "InitiatorService -> TargetService (//hopline/OrderContract)" in out
    assert "No gaps, no duplicates." in out
    assert max(map(len, out.splitlines())) <= 100 + len(str(friday))


def test_gaps_and_duplicates_are_counted(tmp_path: Path) -> None:
    made = records([begin(1), send(1), send(1), send(2)])
    one, two, three, four = made
    path = capture(tmp_path / "c", [one, two, two, four])
    found = answer(path)
    assert found["gaps"]["offsets"] == 1
    assert found["duplicates"]["records"] == 1
    assert three not in list(CaptureReader(path))
    assert "records captured twice" in hopline("inspect", path)[1]


def test_what_queues_lack_and_have_twice_is_counted() -> None:
    from streams.capture.look import Look
    from streams.capture.survey import survey

    def queued(n: int, sequence: int) -> Look:
        return Look("q", 0, n, n, "queue", conversation="c", side="initiator", what="message",
                    sequence=sequence)  # fmt: skip

    found = survey([queued(0, 0), queued(1, 1), queued(2, 1), queued(3, 4)])
    assert (found.sequences, found.repeated_deliveries) == (2, 1)


def test_numbers_that_no_sum_can_hold_are_counted() -> None:
    from streams.capture.look import Look
    from streams.capture.survey import survey

    large = 2**62
    found = survey(
        Look("q", n, offset, n, "queue", conversation=str(n), side="initiator", what="message",
             sequence=large - 1)
        for n in range(3) for offset in (0, large)
    )  # fmt: skip
    assert [found.offsets, found.sequences] == [pytest.approx(3 * large)] * 2
    assert found.repeated_deliveries == 3


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("what = 'SEND'", 4),
        ("kind = 'event' AND error = 28007", 1),
        ("instance = 'ServerB' AND side = 'target'", 7),
        ("time < '2026-01-05T09:00:00.002Z'", 4),
        ("conversation LIKE '%2222'", 5),
        ("body IS NOT NULL AND key LIKE '%1111'", 15),
        ("headers LIKE 'sb-command:%'", 7),
        ("type = '//hopline/Order' -- and a comment", 3),
        ("colour IS NULL", None),
    ],
)
def test_conditions(friday: Path, condition: str, count: int | None) -> None:
    code, out, err = hopline("inspect", friday, "--where", condition, "--format", "json")
    if count is None:
        assert code == 2
        assert "no such column: colour" in err
    else:
        assert json.loads(out)["records"] == count


@pytest.mark.parametrize(
    "condition",
    [
        "1); DROP TABLE x; SELECT (1", "'", "", "load_extension('x')", "x IN (SELECT 1 FROM y)",
        "(WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n FROM t) SELECT count(*) FROM t)",
        "ATTACH 'x' AS y",
    ],
)  # fmt: skip
def test_a_condition_can_do_nothing_else(friday: Path, condition: str) -> None:
    code, out, err = hopline("inspect", friday, "--where", condition)
    assert (code, out) == (2, "")
    assert "The condition cannot be read" in err


def test_the_path_of_a_dialog(friday: Path) -> None:
    """Reference 7.3: classify, forward, arrive, acknowledge."""
    code, out, _ = hopline("inspect", friday, "--conversation", str(ONE))
    assert code == 0
    assert "The initiator's messages: ServerA -> GatewayA -> ServerB" in out
    assert "The target's messages: ServerB -> GatewayA" in out
    code, out, _ = hopline("inspect", friday, "--conversation", str(TWO), "--format", "json")
    found = json.loads(out)
    assert found["ways"]["initiator"] == {
        "way": ["ServerA", "GatewayA"], "drops": ["28007 at GatewayA"]
    }  # fmt: skip
    assert len(found["records"]) == 5


def test_a_dialog_that_is_not_there_or_two_that_are(friday: Path) -> None:
    code, out, err = hopline("inspect", friday, "--conversation", "O-17")
    assert (code, out) == (1, "")
    assert "no record of conversation O-17. This is not a GUID (" in err
    _, _, err = hopline("inspect", friday, "--conversation", "99999999")
    assert "no record of conversation 99999999.\n" in err
    code, _, err = hopline("inspect", friday, "--conversation", "00000000")
    assert code == 2
    assert "matches several conversations" in err


def test_records_as_json_lines(friday: Path) -> None:
    code, out, _ = hopline("inspect", friday, "--records", "--limit", 3, "--format", "json")
    assert code == 0
    first, *_ = rows = [json.loads(line) for line in out.splitlines()]
    assert len(rows) == 3
    assert first["command"]["kind"] == "BEGIN"
    assert first["command"]["from_service"] == "InitiatorService"


def test_parquet(friday: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    out = tmp_path / "friday.parquet"
    assert answer(friday, "--parquet", out) == {"file": str(out), "records": 25}
    rows = parquet.read_table(out).to_pylist()
    made = list(CaptureReader(friday))
    assert [(row["topic"], row["offset"], row["key"], row["value"]) for row in rows] == [
        (r.topic, r.offset, r.key, r.value) for r in made
    ]
    assert [[(h["key"], h["value"]) for h in row["headers"]] for row in rows] == [
        list(r.headers) for r in made
    ]
    assert json.loads(rows[0]["decoded"])["command"]["kind"] == "BEGIN"


def test_salvage_reports_the_losses(tmp_path: Path) -> None:
    damaged(tmp_path / "c")
    code, _, err = hopline("inspect", tmp_path / "c")
    assert code == 2
    assert "in the block at byte" in err
    code, out, err = hopline("inspect", tmp_path / "c", "--salvage")
    assert code == 1
    assert "records" in out
    assert "Lost: " in err and " records, in 1 place." in err
