"""A snapshot as the source of an import: kept as it is, read under the given name."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.errors import InputError, UsageError
from streams.topology import load
from streams.topology.importing import imported_instances
from tests.snapshots import NOW, documents, write_csv, write_json
from tests.topology.build import shipped


def run(*args: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["import", *map(str, args)])
    return result.exit_code, result.output


def test_a_document_under_a_name_with_a_script_on_top(tmp_path: Path) -> None:
    found = write_json(tmp_path / "in", documents(shipped("two_brokers")))
    (tmp_path / "more.sql").write_text("USE DatabaseA\nGO\nDROP ROUTE TargetRoute\n")
    out = tmp_path / "out"
    code, output = run(f"sql01={found}/ServerA.json", f"sql01={tmp_path}/more.sql", "--output", out)
    assert (code, "sys.routes 3" in output) == (0, True)
    instance = load(out, NOW).instances["sql01"]
    assert "ServerA" in instance.aliases
    [route] = instance.databases["DatabaseA"].routes
    assert route.name == "AutoCreatedLocal"
    copied = Path(route.source.file)
    assert copied.is_relative_to(out)
    assert copied.read_bytes() == (found / "ServerA.json").read_bytes()


@pytest.mark.parametrize("write", [write_json, write_csv])
def test_a_folder_of_snapshots(tmp_path: Path, write: type) -> None:
    found = write(tmp_path / "in", documents(shipped("two_brokers")))
    out = tmp_path / "out"
    assert run(found, "--output", out)[0] == 0
    topology = load(out, NOW)
    assert set(topology.instances) == {"ServerA", "ServerB"}
    assert "TargetService" in topology.instances["ServerB"].databases["DatabaseB"].services
    assert not topology.findings


def test_a_folder_of_csvs_under_a_name(tmp_path: Path) -> None:
    found = write_csv(tmp_path / "in", documents(shipped("two_brokers")))
    out = tmp_path / "out"
    assert run(f"sql02={found}/ServerB", "--output", out)[0] == 0
    assert list(load(out, NOW).instances["sql02"].databases) == ["DatabaseB"]


def test_two_snapshots_of_one_instance_are_wrong_use(tmp_path: Path) -> None:
    found = write_json(tmp_path, documents(shipped("two_brokers")))
    with pytest.raises(UsageError, match="two snapshots"):
        imported_instances([f"A={found}/ServerA.json", f"A={found}/ServerB.json"])


def test_what_the_file_states_outranks_the_snapshot(tmp_path: Path) -> None:
    write_json(tmp_path, documents(shipped("two_brokers")))
    (tmp_path / "topology.yaml").write_text(
        "instances:\n  S:\n    snapshot: ServerA.json\n    address: tcp://gate:5000\n"
        "    aliases: [other]\n    databases: {More: {}}\n"
    )
    instance = load(tmp_path, NOW).instances["S"]
    assert str(instance.address) == "tcp://gate:5000"
    assert instance.aliases == ("other", "ServerA")
    assert list(instance.databases) == ["DatabaseA", "More"]


def test_a_missing_snapshot_is_reported_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "topology.yaml").write_text("instances:\n  S:\n    snapshot: no.json\n")
    with pytest.raises(InputError) as caught:
        load(tmp_path, NOW)
    assert (caught.value.line, caught.value.column) == (3, 15)
