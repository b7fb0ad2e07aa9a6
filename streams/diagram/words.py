"""Names in a diagram: messages, acknowledgements and events of the broker."""

from __future__ import annotations

import re
from collections.abc import Callable

from streams.diagram.rows import Shape, printable
from streams.errors import Event, EventKind, Number
from streams.protocol import DIALOG_TIMER, Ack, Flag, Fragment, Header, State

Words = tuple[Shape, str, int | None, str]
"""Shape, verb, number and rest, as in a :class:`Sight`."""

_LONGEST_BODY = 24
_CODE = re.compile(rb"<Code>(-?\d+)</Code>")


# --- messages and acknowledgements ---------------------------------------------------------------


def message_words(header: Header, body: bytes) -> Words:
    """Return the shape and the text of a message."""
    number = header.sequence if header.sequenced else None
    if header.flags & Flag.ERROR:
        return Shape.ERROR, "Error", number, f" ({error_code(body)})"
    if header.flags & Flag.END:
        return Shape.END, "EndDialog", number, ""
    if header.type == DIALOG_TIMER:
        return Shape.MESSAGE, "DialogTimer", number, ""
    if header.fragments > 1:
        verb, number = f"message {header.sequence}, fragment", header.fragment
        return Shape.MESSAGE, verb, number, f" of {header.fragments}"
    return Shape.MESSAGE, "message", number, ""


def ack_words(ack: Ack) -> Words:
    """Return the text of an acknowledgement: the stored and the buffered message numbers."""
    parts = [_below(ack.next)]
    parts += [f"buffers {_run(first, last)}" for first, last in ack.held]
    parts += ["closed"] if ack.closed else []
    return Shape.ACK, f"ack {', '.join(parts)}", None, ""


def _below(place: Fragment) -> str:
    """Return the numbers that an acknowledgement covers: all numbers below a place."""
    sequence, fragment = place
    if fragment:
        return f"up to {sequence}, fragment {fragment - 1}"
    return "of nothing" if sequence == 0 else "0" if sequence == 1 else f"0–{sequence - 1}"


def _run(first: Fragment, last: Fragment) -> str:
    places = [str(s) if not f else f"{s}, fragment {f}" for s, f in (first, last)]
    return places[0] if first == last else "–".join(places)


def excerpt(body: bytes) -> str:
    """Return the start of a body in quotes, after a space; "" for an empty body."""
    text = body.decode("utf-8", "replace")
    shown = printable(text)
    more = len(shown) > _LONGEST_BODY
    return f' "{shown[:_LONGEST_BODY]}{"…" if more else ""}"' if shown else ""


def error_code(body: bytes) -> str:
    """Return the number in the body of an Error message."""
    found = _CODE.search(body)
    return found[1].decode() if found else "no number"


# --- events --------------------------------------------------------------------------------------


def event_words(event: Event) -> Words:
    """Return the name of an event: a note over its instance."""
    return _WORDS.get(EventKind(event["event"]), _other)(event)


def _conversation(event: Event) -> Words:
    where, state = event.get("database", ""), event.get("state") or ""
    known = State.__members__.get(state)  # any frame may claim another broker id
    text = f"{where}: {known.value if known else state}".rstrip()
    if event["error"]:
        return Shape.TROUBLE, text, None, f" {_reason(event)}"
    return Shape.NOTE, text, None, ""


def _lock(event: Event) -> Words:
    return Shape.NOTE, f"locked to {event.get('from_broker')}", None, ""


def _undeliverable(event: Event) -> Words:
    if event["error"] == Number.DUPLICATE:
        attempt = event.get("attempt")
        rest = f", attempt {attempt}" if attempt else ""
        return Shape.NOTE, "duplicate of message", event.get("sequence"), rest
    return _refused("drops", event)


def _refused(verb: str, event: Event) -> Words:
    number = event.get("sequence")
    what = "an acknowledgement" if number is None else "message"
    return Shape.TROUBLE, f"{verb} {what}", number, f": {_reason(event)}"


def _other(event: Event) -> Words:
    title = EventKind(event["event"]).title.removeprefix("Broker:")
    return Shape.TROUBLE, f"{title}: {_reason(event)}", None, ""


def _reason(event: Event) -> str:
    number = f"{int(event['error'])} " if event["error"] else ""
    return f"{number}{event['detail']}".strip()


_WORDS: dict[EventKind, Callable[[Event], Words]] = {
    EventKind.CONVERSATION: _conversation,
    EventKind.REMOTE_MESSAGE_ACKNOWLEDGEMENT: _lock,
    EventKind.MESSAGE_UNDELIVERABLE: _undeliverable,
    EventKind.MESSAGE_CLASSIFY: lambda event: _refused("delays", event),
    EventKind.FORWARDED_MESSAGE_DROPPED: lambda event: _refused("drops", event),
}
