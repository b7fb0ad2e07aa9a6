"""The data-dependent routing service on a real Kafka (EX-68, EX-69, EX-70, EX-72)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streams.kafka import read_live
from streams.protocol import DEFAULT, END_DIALOG, ERROR
from tests.agents.routers import CLIENT, NORTH, ROUTERS, SOUTH, Bench, routed
from tests.node.evidence import shows
from tests.running import eventually
from tests.workers.rig import pause


@pytest.fixture(scope="module")
def bench(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with routed(kafka, tmp_path_factory.mktemp("routing")) as made:
        yield made


@pytest.mark.long
@shows("EX-68", "EX-69")
def test_the_first_message_is_classified_and_answers_come_back(bench: Bench) -> None:
    """Once for each dialog; the second message names the other partition, and is not asked."""
    north, south = (body.replace(b"<message>", b"<message id='1'>") for body in (NORTH, SOUTH))
    bodies = [north, south, b"no XML at all"]  # other tests have others
    dialog = bench.order(*bodies)
    found = bench.came(CLIENT, "ClientQueue", 3, {str(dialog.id)})
    answers = [(DEFAULT, f"from the North: {body.decode()}") for body in bodies]
    assert found == {str(dialog.id): answers}
    assert bench.classified.count(north.decode()) == 1
    assert south.decode() not in bench.classified


def rows(bench: Bench, dialog: str) -> int:
    """Return how many rows of the routers' tables speak of a dialog, as Kafka keeps them."""
    found = 0
    for place in ROUTERS:
        name = bench.system.cluster.topics.name("routing", *place)
        kept = read_live(bench.system.cluster, f"{name}-resolved_conversations-changelog", 0)
        found += sum(dialog.encode() in key + value for key, value in kept.items())
    return found


@pytest.mark.long
@shows("EX-70")
def test_the_end_of_one_dialog_is_the_end_of_both(bench: Bench) -> None:
    """Both rows are there as long as it lives, and then none."""
    dialog = bench.order(SOUTH)
    bench.came(CLIENT, "ClientQueue", 1, {str(dialog.id)})
    eventually(lambda: rows(bench, str(dialog.id)) == 2 or pause(), "a row for each direction")
    bench.client.end(dialog)
    there = bench.came(("South", "South"), "OrderQueue", 2)
    assert [(DEFAULT, SOUTH.decode()), (END_DIALOG, "")] in there.values()
    eventually(lambda: rows(bench, str(dialog.id)) == 0 or pause(), "no row is left")


@shows("EX-70")
def test_an_error_is_wrapped(bench: Bench) -> None:
    dialog = bench.order(NORTH, b"sold out?")
    _, (kind, body) = bench.came(CLIENT, "ClientQueue", 2, {str(dialog.id)})[str(dialog.id)]
    assert kind == ERROR and "<Code>42</Code>" in body and "forwarded: sold out" in body


@shows("EX-68")
def test_who_names_no_service_is_refused(bench: Bench) -> None:
    dialog = bench.order(b"<message/>")
    [(kind, body)] = bench.came(CLIENT, "ClientQueue", 1, {str(dialog.id)})[str(dialog.id)]
    assert kind == ERROR and "<Code>1</Code>" in body and "does not name its target service" in body


@shows("EX-72")
def test_a_dialog_keeps_its_router(bench: Bench) -> None:
    dialogs = {str(bench.order(NORTH, b"1", b"2").id) for _ in range(8)}
    assert len(bench.came(CLIENT, "ClientQueue", 24, dialogs)) == 8
    at = []
    for place in ROUTERS:
        topic = bench.system.cluster.topics.queue(*place, "RoutingQueue")
        seen = {one["conversation"] for one in bench.system.snapshot(topic)}
        at.append(dialogs & seen)
    assert at[0] | at[1] == dialogs and not at[0] & at[1]
