"""`import --force` changes its own keys of topology.yaml, and keeps everything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from streams.cli import main
from streams.errors import InputError
from streams.topology.importing.merge import Merged, Written, merge

SQL: dict[str, Any] = {"sql": ["A/a.sql"], "scripts": "as_found"}
A = {"A": Written("A", SQL)}
BLOCK = "  A:\n    sql:\n    - A/a.sql\n    scripts: as_found\n"
SCRIPT = "USE D; CREATE QUEUE Q; CREATE SERVICE S ON QUEUE Q ([DEFAULT]);"


def merged(text: str, written: dict[str, Written] | None = None) -> Merged:
    return merge(text, "topology.yaml", written or A)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"instances:\n{BLOCK}"),
        ("# mine", f"# mine\ninstances:\n{BLOCK}"),
        ("expect: []  # none\n", f"expect: []  # none\ninstances:\n{BLOCK}"),
        ("instances:\nexpect: []\n", f"instances:\n{BLOCK}expect: []\n"),
        ("{expect: []}", "{instances: {A: {sql: [A/a.sql], scripts: as_found}}, expect: []}"),
        ("instances: {}\n", f"instances:\n{BLOCK}"),
        ("instances:\n  A:\n", f"instances:\n{BLOCK}"),
        (
            "instances:\n  A:\n    aliases: [x]  # alias\n  B: {}\n",
            "instances:\n  A:\n    aliases: [x]  # alias\n    sql:\n    - A/a.sql\n"
            "    scripts: as_found\n  B: {}\n",
        ),
        # Another name of the same instance; its reading is the user's
        (
            "instances:\n  a: {scripts: strict, sql: [A/old.sql]}\n",
            "instances:\n  a: {scripts: strict, sql: [A/a.sql]}\n",
        ),
        # The last value is long, or has no line end
        (
            "instances:\n  B:\n    address: |-\n      tcp://B\n\n# end\n",
            f"instances:\n  B:\n    address: |-\n      tcp://B\n{BLOCK}\n# end\n",
        ),
        ("instances:\n  B: {}  # last", f"instances:\n  B: {{}}  # last\n{BLOCK.rstrip()}"),
        ("instances:\r\n  B: {}\r\n", f"instances:\n  B: {{}}\n{BLOCK}".replace("\n", "\r\n")),
        # A snapshot of an earlier import, which is not given any more; and the user's own
        (
            "instances:\n  A:\n    sql: [A/a.sql]\n    snapshot: A/snapshot/a.json # old\n"
            "    scripts: as_found\n",
            "instances:\n  A:\n    sql: [A/a.sql]\n    scripts: as_found\n",
        ),
        (
            "instances: {A: {snapshot: A/snapshot, sql: [A/a.sql], scripts: as_found}}",
            "instances: {A: {sql: [A/a.sql], scripts: as_found}}",
        ),
        (
            "instances: {A: {sql: [A/a.sql], scripts: as_found, snapshot: A/snapshot}}",
            "instances: {A: {sql: [A/a.sql], scripts: as_found}}",
        ),
        (
            "instances: {A: {snapshot: mine.json, sql: [A/a.sql], scripts: as_found}}",
            "instances: {A: {snapshot: mine.json, sql: [A/a.sql], scripts: as_found}}",
        ),
    ],
)
def test_the_text_after_an_import(before: str, after: str) -> None:
    assert merged(before).text == after
    assert merged(after).text == after


def test_scripts_of_the_user() -> None:
    """They stay where they are; so do the database and the variables of an imported script."""
    items = ["first.sql", {"file": "A/a.sql", "database": "D"}, "A/gone.sql", "own/last.sql"]
    text = yaml.safe_dump({"instances": {"A": {"sql": items, "aliases": ["x"]}, "B": {}}})
    found = merged(text, {"A": Written("A", {**SQL, "sql": ["A/a.sql", "A/new.sql"]})})
    instances = yaml.safe_load(found.text)["instances"]
    assert instances["A"]["sql"] == [items[0], items[1], "A/new.sql", items[3]]
    assert found.kept == ("A: sql first.sql", "A: sql own/last.sql", "A: aliases", "instance B")
    assert found.dropped == ("A/gone.sql",)
    stated = {"file": "A/a.sql", "database": "E", "variables": {"V": "1"}}
    found = merged(text, {"A": Written("A", {**SQL, "sql": [stated]})})
    assert stated in yaml.safe_load(found.text)["instances"]["A"]["sql"]


@pytest.mark.parametrize(
    "text",
    [
        "instances: [",
        "- a list",
        "instances: 1",
        "instances: {B: &b {aliases: [x]}, A: *b}",
        "x: &b {aliases: [x]}\ninstances:\n  B: *b\n",
        "instances:\n  A: &a\n    aliases: [x]\n  B: *a\n",
    ],
)
def test_what_cannot_be_changed_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        merged(text)


WORDS = st.sampled_from(["A/x.sql", "yes", "1", "a: b", "#", "two\nlines", "ä", "'", "", "own.sql"])
VALUES = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers(0, 9),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=6,
)
INSTANCES = st.dictionaries(
    st.sampled_from(["A", "B", "C:1"]),
    st.none() | st.dictionaries(st.sampled_from(["sql", "aliases", "scripts", "x"]), VALUES),
)


@given(INSTANCES, VALUES, st.sampled_from([None, True, False]), st.sampled_from([2, 4]))
def test_any_topology_keeps_its_values(
    instances: dict[str, Any], more: Any, flow: bool | None, indent: int
) -> None:
    """Whatever the style of the file: only the keys of the import differ."""
    before = {"expect": more, "instances": instances, "clusters": more}
    text = yaml.safe_dump(before, default_flow_style=flow, indent=indent, sort_keys=False)
    after = yaml.safe_load(merged(text, {**A, "D": Written("D", SQL)}).text)
    assert (after["expect"], after["clusters"]) == (more, more)
    for name, given_ in instances.items():
        if name != "A":
            assert after["instances"][name] == given_
    old = {k: v for k, v in (instances.get("A") or {}).items() if k not in ("sql", "scripts")}
    assert {**after["instances"]["A"], **old} == after["instances"]["A"]
    assert "A/a.sql" in after["instances"]["A"]["sql"]
    assert after["instances"]["D"] == SQL


# --- The command ---------------------------------------------------------------------------------


def hopline(*words: object) -> Result:
    return CliRunner().invoke(main, [*map(str, words)], catch_exceptions=False)


def test_import_again(tmp_path: Path) -> None:
    """What was added by hand stays, is reported, and has its effect."""
    script, output = tmp_path / "a.sql", tmp_path / "estate"
    script.write_text(SCRIPT, encoding="utf-8")
    hopline("import", f"A={script}", "--output", output)
    file = output / "topology.yaml"
    added = "expect:  # by hand\n  - {from: A/D/T, to: S, verdict: ok}\n"
    text = file.read_text("utf-8").replace("    sql:", "    aliases: [10.0.0.4]\n    sql:") + added
    file.write_text(text, encoding="utf-8")
    script.write_text(SCRIPT.replace("S ON", "T ON"), encoding="utf-8")
    again = hopline("import", f"A={script}", f"B={script}", "--output", output, "--force")
    assert "kept in topology.yaml: expect; A: aliases\n" in again.stdout
    assert file.read_text("utf-8").startswith(text.removesuffix(added))
    assert file.read_text("utf-8").endswith(added)
    assert "T -> S" in hopline("flows", output).stdout
    report = json.loads(
        hopline("import", f"B={script}", "--output", output, "--force", "--format", "json").stdout
    )
    assert (report["kept"], report["dropped"]) == (["expect", "instance A"], [])


def test_files_of_other_instances_are_not_overwritten(tmp_path: Path) -> None:
    """Two names can become the same folder, also in two imports."""
    script, output = tmp_path / "a.sql", tmp_path / "estate"
    for name, database in (("A:1", "One"), ("A_1", "Two")):
        script.write_text(SCRIPT.replace("USE D", f"USE {database}"), encoding="utf-8")
        hopline("import", f"{name}={script}", "--output", output, "--force")
    assert "One" in (output / "A_1" / "a.sql").read_text("utf-8")
    assert "Two" in (output / "A_1-2" / "a.sql").read_text("utf-8")


def test_a_file_that_cannot_be_changed_stays(tmp_path: Path) -> None:
    """With everything else in the folder."""
    script, output = tmp_path / "a.sql", tmp_path / "estate"
    script.write_text(SCRIPT, encoding="utf-8")
    output.mkdir()
    file = output / "topology.yaml"
    file.write_bytes(b"instances: {A: &a {aliases: [x]}, B: *a}\n")
    refused = hopline("import", f"A={script}", "--output", output, "--force")
    assert refused.exit_code == 2 and "cannot change this file" in refused.stderr
    assert list(output.iterdir()) == [file] and b"*a" in file.read_bytes()
