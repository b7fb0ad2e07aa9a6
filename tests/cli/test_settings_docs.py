"""The tables of docs/settings.md match the code; run with REWRITE=1 to write them anew."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from streams.monitor.metrics import figures_of as monitor_figures
from streams.settings import REFUSED, SettingsFile, read_settings, settings_of
from streams.store import Store
from streams.workers.metrics import FIGURES

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def settings_table() -> str:
    rows = ["| in the file | variable | flag | default | what it is |", "| --- " * 5 + "|"]
    for s in settings_of():
        default = getattr(s.default, "value", s.default)
        shown = f"`{str(default).lower()}`" if default != "" else "none"
        rows.append(f"| `{s.key}` | `{s.variable}` | `{s.flag}` | {shown} | {s.says} |")
    return "\n".join(rows)


def properties_table() -> str:
    reasons: dict[str, list[str]] = {}
    for name, why in REFUSED.items():
        reasons.setdefault(why, []).append(f"`{name}`")
    rows = ["| property | why it cannot be set |", "| --- | --- |"]
    for why, names in reasons.items():
        rows.append(f"| {', '.join(names)} | {why[0].upper()}{why[1:]} |")
    return "\n".join(rows)


def metrics_table() -> str:
    rows = ["| metric | what it is | labels | Service Broker's counter |", "| --- " * 4 + "|"]
    for f in FIGURES:
        labels = ", ".join(f"`{label}`" for label in f.labels)
        rows.append(f"| `{f.name}` | {f.says} | {labels} | {f.mirrors} |")
    return "\n".join(rows)


def monitor_table(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('store')}/monitor.sqlite"
    with Store.open(url) as store:
        rows = [f"| `{s.name}` | {s.says} |" for s in monitor_figures([], store, 0)]
    return "\n".join(["| metric | what it is |", "| --- | --- |", *rows])


def test_the_table_of_the_monitor_matches_the_code(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    table = monitor_table(tmp_path_factory)
    test_a_table_matches_the_code("monitor", lambda: table)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("settings", settings_table),
        ("properties", properties_table),
        ("metrics", metrics_table),
    ],
)
def test_a_table_matches_the_code(name: str, table: Callable[[], str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    part = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    wanted = part.sub(lambda m: f"{m[1]}{table()}\n{m[2]}", text)
    if os.environ.get("REWRITE"):
        PAGE.write_text(wanted, encoding="utf-8")
        return
    assert wanted == text


def test_the_example_can_be_read() -> None:
    found = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    read: SettingsFile = read_settings(found[1], "hopline.toml")
    assert len(read.settings) + len(read.properties) == 6
    assert read.settings["worker", "http"].source == "hopline.toml:10"
