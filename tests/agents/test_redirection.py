"""The redirection variant on a real Kafka (reference, section 6)."""

from __future__ import annotations

from pathlib import Path

from streams.protocol import DEFAULT, END_DIALOG, ERROR
from tests.agents.routers import CLIENT, NORTH, ROUTERS, SOUTH, routed
from tests.node.evidence import shows


@shows("6-4", "6-6")
def test_the_answer_is_the_name_and_the_initiator_goes_there_itself(
    kafka: str, tmp_path: Path
) -> None:
    """No message passes the routers but the first, and the target sees who asks."""
    with routed(kafka, tmp_path, "--redirect", DEFAULT) as bench:
        asked = [str(bench.order(body).id) for body in (NORTH, SOUTH, b"<message/>")]
        answers = bench.came(CLIENT, "ClientQueue", 5, set(asked))
        assert [answers[dialog] for dialog in asked[:2]] == [
            [(DEFAULT, "OrdersNorth"), (END_DIALOG, "")],
            [(DEFAULT, "OrdersSouth"), (END_DIALOG, "")],
        ]
        [(kind, refusal)] = answers[asked[2]]
        assert kind == ERROR and "<Code>1</Code>" in refusal

        [(_, name), _] = answers[asked[1]]
        direct = bench.client.begin(*CLIENT, "OrderClient", name)
        bench.client.send(direct, b"order", wait=True)
        [there] = bench.system.records(
            bench.system.cluster.topics.queue("South", "South", "OrderQueue"),
            lambda d: d["conversation"] == str(direct.id),
        )
        assert there["route"]["from_service"] == "OrderClient"
        assert bench.came(CLIENT, "ClientQueue", 1, {str(direct.id)}) == {
            str(direct.id): [(DEFAULT, "from the South: order")]
        }
        for place in ROUTERS:
            topic = bench.system.cluster.topics.queue(*place, "RoutingQueue")
            seen = {one["conversation"] for one in bench.system.snapshot(topic)}
            assert seen <= set(asked)
