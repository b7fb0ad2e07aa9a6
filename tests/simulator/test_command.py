"""``hopline simulate``: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.node.object_ids import object_id
from streams.protocol import Message
from streams.protocol.parking import Parking
from tests.simulator.build import path_of


def hopline(*args: str | Path) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, ["simulate", *map(str, args)])


def test_the_contract_keys() -> None:
    done = hopline(path_of("local", "request_reply"), "--format", "json")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert list(answer)[:6] == [
        "seed", "events", "queues", "endpoints", "transmission_queue", "summary",
    ]  # fmt: skip
    row = answer["queues"]["ServerA/DatabaseB/TargetQueue"][0]
    assert {"conversation", "sequence", "type", "body"} <= row.keys()
    assert answer["endpoints"][0].keys() >= {"instance", "database", "conversation_id", "state"}
    for row in answer["endpoints"]:  # as in the views of a running system
        assert row["service_id"] == object_id(row["service_name"]) is not None
        assert row["service_contract_id"] == object_id(row["contract_name"]) is not None
    assert answer["summary"] == {
        "sent": 7, "delivered": 7, "waiting": 0, "discarded": 0, "lost": 0,
        "duplicates": 0, "delivered_twice": 0, "dropped": {},
    }  # fmt: skip
    assert answer["violation"] is None


def test_the_text_fits_a_terminal() -> None:
    done = hopline(path_of("load_balanced", "table_change"))
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 100
    assert "120 sent = 120 delivered + 0 waiting + 0 discarded + 0 lost" in done.stdout
    assert "ServerB/DatabaseB/TargetQueue: 38 messages of 19 dialogs" in done.stdout


def test_a_shipped_scenario_has_a_name() -> None:
    by_name, by_path = hopline("local/request_reply"), hopline(path_of("local", "request_reply"))
    assert by_name.exit_code == 0
    assert by_name.stdout == by_path.stdout
    unknown = hopline("local/nothing")
    assert unknown.exit_code == 2
    assert "There is no file or shipped scenario 'local/nothing'" in unknown.stderr


def test_another_seed_is_another_run() -> None:
    path = path_of("load_balanced", "table_change")
    assert hopline(path, "--seed", "1").stdout != hopline(path, "--seed", "2").stdout


def test_a_broken_invariant_is_bad_news(monkeypatch: pytest.MonkeyPatch) -> None:
    show = Parking._enqueue

    def twice(parking: Parking, message: Message) -> None:
        show(parking, message)
        parking.effects.append(parking.effects[-1])

    monkeypatch.setattr(Parking, "_enqueue", twice)
    done = hopline(path_of("local", "request_reply"))
    assert done.exit_code == 1
    assert "BROKEN: invariant 1 at 0.0" in done.stdout
    result = hopline(path_of("local", "request_reply"), "--format", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["violation"]["invariant"] == 1


def test_a_scenario_that_cannot_be_read_is_wrong_use(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("topology: nowhere\n", encoding="utf-8")
    done = hopline(file)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert f"{file}:1:11: There is no topology" in done.stderr
