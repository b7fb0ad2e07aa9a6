"""Dialog: the history of one conversation, step by step."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from streams.dashboard.address import Address
from streams.dashboard.context import Context
from streams.dashboard.model.dialog import (
    Choice,
    MessageRow,
    Pages,
    conversation_of,
    message_rows,
    picture_of,
    same_row,
    state_of,
    step_of,
    summary_of,
    window_of,
)
from streams.dashboard.model.dialog_lists import LISTS, Listed, read_lists
from streams.dashboard.model.dialog_words import decision_words, parties_of, refused_of, title_of
from streams.dashboard.page import Content, Page, Places
from streams.dashboard.slow import CachedResult
from streams.dashboard.template import part
from streams.diagram import Diagram, Links
from streams.errors import text_of
from streams.live.life import Bounds, Endpoint, Life, read_life

PATH = "/dialog"
_OF_ONE = ("head", "tiles", "diagram", "step", "endpoints", "messages")
_BOUNDS = Bounds(records=30_000)


def layout(places: Places) -> None:
    """Create the places of the page."""
    places.html("search", "search")
    for name in LISTS:
        places.html(f"list-{name}", "panel half")
    places.html("head", "head")
    places.html("tiles", "tiles")
    places.html("diagram", "panel two-thirds")
    places.html("step", "panel third one-step")
    places.html("endpoints", "panel")
    places.html("messages", "panel")


def view(context: Context, address: Address) -> Mapping[str, Content]:
    """Return the content of the places."""
    asked = address.get("id") or address.path.removeprefix(PATH).strip("/")
    conversation = conversation_of(asked)
    empty: dict[str, Content] = dict.fromkeys((*_OF_ONE, *(f"list-{name}" for name in LISTS)))
    search = {"search": part("dialog", "search", asked, bool(asked) and conversation is None)}
    if conversation is None:
        return {**empty, **search, **_lists(context, address)}
    return {**empty, **search, **_dialog(context, address, conversation)}


def weight_of(value: object) -> int:
    """Return the size of a cached value in units of 3 kB, the size of a step."""
    return max(len(value.steps), value.size // 3_000) if isinstance(value, Life) else 1


# --- one dialog ----------------------------------------------------------------------------------


def _dialog(context: Context, address: Address, conversation: uuid.UUID) -> Mapping[str, Content]:
    cluster = context.cluster
    if cluster is None:
        return {"diagram": part("dialog", "waiting", conversation, None, away=True)}
    answer = context.slow.get(
        ("life", conversation), lambda: read_life(cluster, conversation, _BOUNDS)
    )
    life = answer.value
    if life is None:
        return {"diagram": part("dialog", "waiting", conversation, answer.trouble, away=False)}
    if not life.known:
        return {"diagram": part("dialog", "unknown", conversation, life.left_out)}
    return _shown(address, answer, life)


def _shown(address: Address, answer: CachedResult[Life], life: Life) -> Mapping[str, Content]:
    choice = Choice.of(address.get)
    summary = summary_of(life)
    states = [
        (f"{'initiator' if e.is_initiator else 'target'} at {e.instance}", state_of(e))
        for e in life.endpoints
    ]
    diagram, pages = window_of(life, choice)
    return {
        "head": part("dialog", "head", life, parties_of(life), answer),
        "tiles": part("dialog", "tiles", summary, states),
        "diagram": _diagram(address, choice, diagram, pages),
        "step": _step(address, choice, life, diagram),
        "endpoints": part("dialog", "endpoints", [_Side.of(e) for e in life.endpoints]),
        "messages": _messages(address, life, choice),
    }


def _diagram(address: Address, choice: Choice, diagram: Diagram, pages: Pages) -> Markup:
    def page(number: int | None) -> str | None:
        return None if number is None else str(address.with_(page=str(number), step=""))

    links = Links(lambda key: str(address.with_(step=str(key))), choice.step)
    fold = str(address.with_(rows="" if choice.all_rows else "all"))
    rules = str(address.with_(rules="" if choice.rules else "yes"))
    return part(
        "dialog",
        "diagram",
        picture_of(diagram, links),
        pages,
        page(pages.before),
        page(pages.after),
        (fold, str(choice.all_rows).lower()),
        (rules, str(choice.rules).lower()),
    )


def _step(address: Address, choice: Choice, life: Life, diagram: Diagram) -> Markup:
    def to(step: int) -> str | None:
        found = 0 <= step < len(life.steps)
        return str(address.with_(step=str(step), page="")) if found else None

    chosen = step_of(life, choice)
    if chosen is None:
        first = next((row.keys[0] for row in diagram.rows if row.keys), -1)
        return part("dialog", "no_step", to(first))
    number, step = chosen
    same = [(other, to(other)) for other in same_row(diagram, number)]
    shown = {
        "at": step.at,
        "facts": step.facts,
        "where": step.where,
        "decisions": [decision_words(decided) for decided in step.decisions],
    }
    return part(
        "dialog", "step", number, shown, title_of(step), to(number - 1), to(number + 1), same
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of the dialog, with the meaning of its transmission status."""

    instance: str
    database: str
    is_initiator: bool
    dialog: Any
    status: str

    @classmethod
    def of(cls, endpoint: Endpoint) -> _Side:
        number = endpoint.dialog.status if endpoint.dialog is not None else 0
        status = f"{number}: {text_of(number)}" if number else ""
        names = (endpoint.instance, endpoint.database, endpoint.is_initiator)
        return cls(*names, endpoint.dialog, status)


def _messages(address: Address, life: Life, choice: Choice) -> Markup:
    rows, pages = message_rows(life, choice.messages)

    def page(number: int | None) -> str | None:
        return (
            None if number is None else str(address.with_(messages=str(number) if number else ""))
        )

    shown = [_message(address, row) for row in rows]
    return part("dialog", "messages", shown, pages, page(pages.before), page(pages.after))


def _message(address: Address, row: MessageRow) -> dict[str, object]:
    message = row.message
    to = None if row.step is None else str(address.with_(step=str(row.step), page=""))
    sent, done = message.sent_at, message.acknowledged_at
    return {
        "message": message,
        "to": to,
        "type": message.type.rpartition("/")[2] or message.type,
        "acknowledged": None if sent is None or done is None else done - sent,
        "refused": refused_of(message),
    }


# --- which dialog --------------------------------------------------------------------------------


def _lists(context: Context, address: Address) -> Mapping[str, Content]:
    found: Mapping[str, tuple[Listed, ...]] = context.figures.ask(read_lists, address.span, {})
    contents: dict[str, Content] = {}
    for name, (title, hint, empty) in LISTS.items():
        rows = [
            {
                "id": f"{name}-{number}",
                "to": str(address.to(f"{PATH}/{listed.conversation}")),
                "conversation": listed.conversation,
                "what": listed.what,
                "figure": listed.figure,
            }
            for number, listed in enumerate(found.get(name, ()))
        ]
        contents[f"list-{name}"] = part("dialog", "list", title, hint, rows, empty)
    return contents


DIALOG = Page(PATH, "Dialog", "3", layout, view, (f"{PATH}/{{conversation}}",))
