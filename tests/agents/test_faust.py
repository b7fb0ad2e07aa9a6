"""What Faust documents is there: its command line, tables that pages show, ordinary agents, and
``@app.service`` for a class.
"""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.agents.rig import answers, order, shop
from tests.agents.test_page import BIN, faust
from tests.ports import reserved
from tests.running import System, eventually, running
from tests.workers.rig import pause

PROGRAM = '''
import faust

from streams.agents import Dialog, Received, hopline_app

app = hopline_app("ledger", instance="ServerB", database="DatabaseB")
orders_of = app.Table("orders_of", default=int)
noted = app.topic("ledger-noted", internal=True, value_type=bytes, value_serializer="raw")
seen = []


@app.service("//shop/OrderService")
async def orders(dialog: Dialog, message: Received) -> None:
    """Answer every order."""
    await dialog.send(b"yes" if dialog.confirmed else b"perhaps", type="//shop/Accepted")
    await dialog.commit()
    orders_of[str(dialog.id)] += 1
    await noted.send(value=message.body)


@app.service
class Beside(faust.Service):
    async def on_start(self) -> None:
        seen.append("begun")


@app.agent(noted)
async def note(bodies):
    async for body in bodies:
        seen.append(body.decode())


@app.page("/ledger/{id}")
@app.table_route(table=orders_of, match_info="id")
async def page(web, request, id):
    return web.json({"orders": orders_of[id], "seen": seen})
'''


@pytest.fixture
def system(kafka: str, unique: str, tmp_path: Path) -> Iterator[System]:
    (tmp_path / "ledger.py").write_text(PROGRAM.replace('"ledger', f'"{unique}ledger'))
    with running(kafka, unique, shop(tmp_path)) as made:
        yield made


@pytest.mark.long
def test_a_page_shows_a_table_beside_an_ordinary_agent(system: System, tmp_path: Path) -> None:
    with (
        reserved(1) as (port,),
        system.client() as client,
        faust(system, tmp_path, "ledger", "--web-port", str(port)),
    ):
        dialog = order(client, b"one", b"two")
        assert len(answers(system, 2)) == 2

        def shown() -> bool:
            pause()
            with suppress(OSError, ValueError):
                url = f"http://127.0.0.1:{port}/ledger/{dialog.id}"
                with urllib.request.urlopen(url, timeout=10) as page:
                    return bool(json.load(page) == {"orders": 2, "seen": ["begun", "one", "two"]})
            return False

        eventually(shown, "the page of the dialog")


def test_the_command_line_lists_agents_and_tables(system: System, tmp_path: Path) -> None:
    def names(what: str) -> list[str]:
        around = {
            **os.environ,
            "HOPLINE_BOOTSTRAP": system.cluster.bootstrap,
            "HOPLINE_PREFIX": system.cluster.topics.prefix,
        }
        done = subprocess.run(
            [str(BIN / "faust"), "--json", "-A", "ledger", what],
            cwd=tmp_path, env=around, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return [row["name"] for row in json.loads(done.stdout)]

    assert names("agents") == ["@note", "@orders"]
    assert names("tables") == ["orders_of"]
