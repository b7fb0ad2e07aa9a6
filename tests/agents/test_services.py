"""A service as an agent: it answers, ends, is woken, and begins dialogs of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from streams.agents import Dialog, HoplineApp, Received
from streams.client import Client, Conversation
from streams.protocol import DIALOG_TIMER, END_DIALOG, ERROR
from tests.agents.rig import (
    ACCEPTED,
    AT_A,
    AT_B,
    CONTRACT,
    ORDER,
    ORDERS,
    STOCK,
    WEB,
    application,
    serving,
    shop,
)  # fmt: skip
from tests.running import System, running


@dataclass
class Shop:
    """What serves for all tests of this file; ``seen`` is what its handlers were called for."""

    system: System
    client: Client
    seen: list[Received] = field(default_factory=list)

    def order(self, body: bytes) -> Conversation:
        dialog = self.client.begin(*AT_A, WEB, ORDERS, contract=CONTRACT)
        self.client.send(dialog, body, type=ORDER)
        return dialog

    def answers(self, dialog: Conversation, count: int) -> list[tuple[str, str]]:
        """Return type and body of so many messages that the customer gets on a dialog."""
        topic = self.system.cluster.topics.queue(*AT_A, "WebQueue")
        mine = self.system.records(topic, lambda d: d["conversation"] == str(dialog.id), count)
        return [(found["message"]["type"], found["body"]["text"]) for found in mine]


def handlers(app: HoplineApp, seen: list[Received]) -> None:
    waiting: dict[uuid.UUID, uuid.UUID] = {}

    @app.service(ORDERS, contract=CONTRACT)
    async def orders(dialog: Dialog, message: Received) -> None:
        seen.append(message)
        match message.type, message.body:
            case "//shop/Order", b"wake me":
                await dialog.timer(1)
            case "//shop/Order", b"refuse":
                await dialog.end(error=(42, "sold out"))
            case "//shop/Order", b"certain?":
                await dialog.send(b"yes" if dialog.confirmed else b"not yet", type=ACCEPTED)
            case "//shop/Order", b"ask":
                asked = await dialog.begin(STOCK)
                await asked.send(b"how many?", type=ORDER)
                waiting[asked.id] = dialog.id
            case "//shop/Order", body:
                await dialog.send(body + b"!", type=ACCEPTED)
                await dialog.end()
            case "//shop/Accepted", body:
                customer = dialog.on(waiting[dialog.id], is_initiator=False)
                await customer.send(body, type=ACCEPTED)
            case kind, _ if kind == DIALOG_TIMER:
                await dialog.send(b"woken", type=ACCEPTED)
                await dialog.end()
            case _ if message.ends_dialog:
                await dialog.end()

    @app.service(STOCK)
    async def stock(dialog: Dialog, message: Received) -> None:
        seen.append(message)
        if not message.ends_dialog:
            await dialog.send(b"seven", type=ACCEPTED)
            await dialog.end()


@pytest.fixture(scope="module")
def open_shop(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    topology = shop(tmp_path_factory.mktemp("shop"))
    prefix = f"t{uuid.uuid4().hex[:12]}."
    with running(kafka, prefix, topology) as system, system.client() as client:
        app = application(system)
        made = Shop(system, client)
        handlers(app, made.seen)
        with serving(app):
            yield made


@pytest.mark.long
def test_a_service_answers_and_ends(open_shop: Shop) -> None:
    found = open_shop.answers(open_shop.order(b"hello"), 2)
    assert found == [(ACCEPTED, "hello!"), (END_DIALOG, "")]


@pytest.mark.long
def test_a_timer_wakes_it(open_shop: Shop) -> None:
    found = open_shop.answers(open_shop.order(b"wake me"), 2)
    assert found == [(ACCEPTED, "woken"), (END_DIALOG, "")]


def test_it_ends_with_an_error(open_shop: Shop) -> None:
    [(kind, body)] = open_shop.answers(open_shop.order(b"refuse"), 1)
    assert kind == ERROR and "<Code>42</Code>" in body and "sold out" in body


def test_a_related_dialog_comes_to_the_same_handler(open_shop: Shop) -> None:
    """A dialog that it begins joins the group: its answer comes behind, on the same partition."""
    before = len(open_shop.seen)
    dialog = open_shop.order(b"ask")
    assert open_shop.answers(dialog, 1) == [(ACCEPTED, "seven")]
    asked = next(m for m in open_shop.seen[before:] if m.body == b"seven").conversation
    topic = open_shop.system.cluster.topics.queue(*AT_B, "OrderQueue")
    mine = {str(dialog.id), str(asked.id)}
    both = open_shop.system.records(topic, lambda d: d["conversation"] in mine, 2)
    assert len({found["key"] for found in both}) == 1, "one conversation group"


def test_it_knows_when_its_side_is_the_one_that_the_initiator_is_locked_to(
    open_shop: Shop,
) -> None:
    """The first message cannot say so; one that was sent behind an answer does."""
    dialog = open_shop.order(b"certain?")
    assert open_shop.answers(dialog, 1) == [(ACCEPTED, "not yet")]
    open_shop.client.send(dialog, b"certain?", type=ORDER)
    assert open_shop.answers(dialog, 2)[1:] == [(ACCEPTED, "yes")]


def test_it_hears_of_the_end(open_shop: Shop) -> None:
    """Whoever has ended is answered with an end, and both endpoints close."""
    dialog = open_shop.order(b"ask")
    open_shop.answers(dialog, 1)
    open_shop.client.end(dialog)
    closed = open_shop.system.events(
        124, lambda e: e["conversation"] == str(dialog.id) and e.get("state") == "CD"
    )
    assert closed
