"""Every consumer group of the code is in the list of docs/operation.md.

The list states what each group does when Kafka has deleted its offsets. Tests on a real Kafka
verify this.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.faults.test_rules import functions

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "streams"
PAGE = TESTS.parent / "docs" / "operation.md"
APPLICATION = "any name"
AGENTS = "the application's name"
SPARK = "Spark's own"
NAMED_ELSEWHERE = {
    "client/ahead.py: group": APPLICATION,
    "kafka/committed.py: group": APPLICATION,
    "kafka/spans.py: group": "capture",
    "live/admin/repartition.py: _group(cluster, home)": "endpoint.<>",
    "workers/forwarder/loop.py: self._group": "forwarder.<>",
    "workers/forwarder/loop.py: group": "forwarder.<>.<>",
}
"""Consumers whose group is not named in the call itself."""
OTHER_LIBRARIES = {
    r"[^\w]Consumer\(\n?\s*\{": set[str](),
    r"\"group\.id\"": {"kafka/cluster.py", "settings/properties.py"},
    r"\(faust\.App\)": {"agents/connected.py"},
    r"\.format\(\"kafka\"\)": {"monitor/batch.py", "monitor/read.py"},
}
"""What else makes consumers or names groups, and the files where that is known."""
SHOWN = {
    APPLICATION: "client/test_begin.py::"
    "test_forgotten_offsets_are_refused_and_nothing_is_received_again",
    AGENTS: "agents/test_begin.py::test_forgotten_offsets_are_refused_and_no_handler_runs_again",
    "endpoint.<>": "workers/test_restore.py::"
    "test_positions_come_from_the_state_where_the_groups_are_gone",
    "forwarder.<>": "workers/test_late.py::"
    "test_a_forwarder_whose_offsets_are_gone_delivers_no_dialog_twice",
    "outbox.<>": "outbox/test_relay.py::"
    "test_a_batch_whose_position_kafka_has_forgotten_is_left_to_somebody_who_looks",
    "replay.<>": "capture/test_job.py::"
    "test_a_job_with_expired_offsets_is_refused_and_sends_nothing_again",
}
"""For each group that has offsets: the test that deletes it."""


def rows() -> list[list[str]]:
    """Return the cells of the list: group, members, topics, what happens, why."""
    _, _, section = PAGE.read_text("utf-8").partition("## When Kafka forgets offsets\n")
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def names(cell: str) -> list[str]:
    """Return the groups that a row is about."""
    for words in (APPLICATION, AGENTS, SPARK):
        if cell.startswith(words):
            return [words]
    return [re.sub(r"<\w+>", "<>", name) for name in re.findall("`([^`]+)`", cell)]


def listed() -> set[str]:
    return {name for cells in rows() for name in names(cells[0])}


def calls() -> Iterator[tuple[str, ast.expr]]:
    """Yield every call of ``Cluster.consumer``: the file, and its first argument."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr="consumer"), args=[group, *_]):
                    yield file.relative_to(SOURCE).as_posix(), group


def group_of(file: str, group: ast.expr) -> str:
    """Return the group that a call names, without the prefix; ``<>`` for each part that varies."""
    if not isinstance(group, ast.JoinedStr):
        return NAMED_ELSEWHERE.get(f"{file}: {ast.unparse(group)}", f"{file}: {ast.unparse(group)}")
    parts = [
        "<>" if isinstance(p, ast.FormattedValue) else ast.literal_eval(p) for p in group.values
    ]
    return "".join(parts).removeprefix("<>")


def test_every_group_of_the_code_is_in_the_list() -> None:
    found = {group_of(file, group) for file, group in calls()}
    assert len(found) > 10
    assert found - listed() == set(), "say in docs/operation.md what it does without its offsets"


def test_every_group_in_the_list_is_one_of_the_code() -> None:
    found = {group_of(file, group) for file, group in calls()}
    assert listed() - found == {AGENTS, SPARK}, "these are made by Faust and Spark"


def test_nothing_else_makes_consumers() -> None:
    files = {p.relative_to(SOURCE).as_posix(): p.read_text("utf-8") for p in SOURCE.rglob("*.py")}
    for pattern, known in OTHER_LIBRARIES.items():
        found = {name for name, text in files.items() if re.search(pattern, text)}
        assert found == known, pattern


def test_each_group_that_has_offsets_is_deleted_by_a_test() -> None:
    have = {names(cells[0])[0] for cells in rows() if not cells[3].startswith("nothing")}
    assert have == set(SHOWN)
    tests = [named.split("::") for named in SHOWN.values()]
    assert [t for file, t in tests if t not in functions(TESTS / file)] == []
