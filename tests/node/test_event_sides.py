"""Whose side ``from_initiator`` of an event names: the endpoint's, or that of a frame's sender."""

from __future__ import annotations

from streams.errors import EventKind

from .harness import Net
from .places import D1, A, B
from .test_examples import several_targets


def sides(net: Net, instance: str, kind: EventKind) -> list[bool]:
    """Return the side that each event of a kind names."""
    return [e["from_initiator"] for e in net[instance].events if e["event"] == kind]


def test_an_event_about_a_frame_names_its_sender() -> None:
    """Where an endpoint has refused it (8495), as much as where there was no endpoint for it."""
    net = several_targets()
    net.settle()
    assert sides(net, "ServerA", EventKind.MESSAGE_UNDELIVERABLE) == [False]
    assert sides(net, "ServerA", EventKind.REMOTE_MESSAGE_ACKNOWLEDGEMENT) == [False]
    net.send(A, D1, b"2")
    net.run(100)
    assert set(sides(net, "ServerC", EventKind.MESSAGE_UNDELIVERABLE)) == {True}


def test_an_event_about_a_conversation_names_the_endpoint() -> None:
    net = several_targets()
    net.settle()
    net.end(B, D1, from_initiator=False)
    net.settle()
    assert set(sides(net, "ServerA", EventKind.CONVERSATION)) == {True}
    assert set(sides(net, "ServerB", EventKind.CONVERSATION)) == {False}
