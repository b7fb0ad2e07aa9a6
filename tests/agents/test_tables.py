"""An application's table whose changelog is so new that the group does not know it yet."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from streams.agents import Dialog, Received
from streams.agents.consumer_thread import ConsumerThread
from streams.agents.driver import consumer_of
from tests.agents.rig import ACCEPTED, AT_B, ORDERS, answers, application, order, serving, shop
from tests.running import eventually, running
from tests.workers.rig import pause


@pytest.mark.long
def test_the_first_row_need_not_wait_until_the_group_knows_the_changelog(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    """Kafka's client asks for metadata every five minutes, and so long each message would fail."""
    with running(kafka, unique, shop(tmp_path)) as system, system.client() as client:
        app = application(system)
        rows, calls = app.Table("rows", default=str), list[bytes]()

        @app.service(ORDERS)
        async def orders(dialog: Dialog, message: Received) -> None:
            calls.append(message.body)
            rows[str(dialog.id)] = message.body.decode()
            await dialog.send(message.body + b"!", type=ACCEPTED)

        with serving(app):
            queue = system.cluster.topics.queue(*AT_B, "OrderQueue")
            mine = lambda: any(tp.topic == queue for tp in app.consumer.assignment())  # noqa: E731
            eventually(lambda: mine() or pause(), "the queue is assigned")
            thread = cast(ConsumerThread, consumer_of(app)._thread)
            changelog = rows.changelog_topic.get_topic_name()
            coordinator = thread._ensure_consumer()._coordinator
            before = coordinator.generation
            coordinator._metadata_snapshot[changelog] = 0
            order(client, b"one")
            assert answers(system, 1) == ["one!"]
            eventually(lambda: coordinator.generation > before or pause(), "another assignment")
            assert coordinator._metadata_snapshot[changelog] == 1
    assert calls == [b"one"]
