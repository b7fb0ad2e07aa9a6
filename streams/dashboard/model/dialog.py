"""The content of a dialog's page: one page of its diagram, one step, its messages."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from streams.diagram import Diagram, Links, svg_text
from streams.errors import text_of
from streams.live.life import Endpoint, Life, MessageLife, Step, cut, draw_life
from streams.protocol import State

ROWS = 60
"""Rows per page of the diagram."""
MESSAGES = 25
"""Rows per page of the list of messages."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The user's choices: a step or a page of the diagram, and a page of the messages.

    With ``all_rows``, no rows are folded; with ``rules``, the arrows show the rules.
    """

    step: int | None = None
    page: int | None = None
    messages: int = 0
    all_rows: bool = False
    rules: bool = False

    @classmethod
    def of(cls, get: object) -> Choice:
        """Parse the URL's parameters (``get(name)``); invalid parameters count as missing."""
        assert callable(get)
        step, page, messages = (_number(get(name)) for name in ("step", "page", "messages"))
        return cls(step, page, messages or 0, get("rows") == "all", get("rules") == "yes")


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None


def conversation_of(text: str) -> uuid.UUID | None:
    """Parse a pasted conversation id with braces, spaces or capitals; ``None`` if invalid."""
    try:
        return uuid.UUID(text.strip())
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Pages:
    """The current page, with the previous and the next page if they exist."""

    first: int
    last: int
    of: int
    before: int | None
    after: int | None


def pages_of(page: int, size: int, count: int) -> Pages:
    """Return the pages for this number of items; a page beyond the end becomes the last page."""
    most = max(0, (count - 1) // size)
    at = min(max(page, 0), most)
    return Pages(
        at * size,
        min((at + 1) * size, count),
        count,
        at - 1 if at else None,
        at + 1 if at < most else None,
    )


@dataclass(frozen=True, slots=True)
class Summary:
    """A dialog's figures; times are in milliseconds.

    ``locked_after`` is the time from BEGIN until the broker id was known, ``slowest`` the longest
    time from a statement to a queue.
    """

    began: int
    lasted: int
    over: bool
    sent: dict[bool, int]
    delivered: int
    retried: int
    removed: int
    refused: dict[int, int]
    locked_to: str | None
    locked_after: int | None
    slowest: int | None

    @property
    def troubles(self) -> tuple[tuple[int, str, int], ...]:
        """Return the error number, meaning and count of rejections, most frequent first."""
        rows = sorted(self.refused.items(), key=lambda row: (-row[1], row[0]))
        return tuple((number, text_of(number), count) for number, count in rows)


def summary_of(life: Life) -> Summary:
    """Return the figures of a dialog."""
    began = life.steps[0].at if life.steps else 0
    lock = next((s for s in life.steps if s.sight.verb.startswith("locked to ")), None)
    refused: Counter[int] = Counter()
    for message in life.messages:
        refused.update(message.refused)
    return Summary(
        began,
        life.steps[-1].at - began if life.steps else 0,
        all(e.dialog is None or e.dialog.state is State.CD for e in life.endpoints),
        {side: sum(m.from_initiator is side for m in life.messages) for side in (True, False)},
        sum(m.queued_at is not None for m in life.messages),
        sum(max(0, m.attempts - 1) for m in life.messages),
        sum(m.removed for m in life.messages),
        dict(refused),
        _locked_to(life, lock),
        None if lock is None else lock.at - began,
        max((m.took for m in life.messages if m.took is not None), default=None),
    )


def _locked_to(life: Life, lock: Step | None) -> str | None:
    if lock is not None:
        return lock.sight.verb.removeprefix("locked to ")
    sides = (e.dialog for e in life.endpoints if e.is_initiator and e.dialog is not None)
    return next((d.far_broker for d in sides if d.locked), None)


def state_of(endpoint: Endpoint) -> str:
    """Return the state of a side as in sys.conversation_endpoints."""
    return "forgotten" if endpoint.dialog is None else endpoint.dialog.state.value


def window_of(life: Life, choice: Choice) -> tuple[Diagram, Pages]:
    """Return the chosen page of the diagram (by default that of the step), and its position."""
    whole = draw_life(life, rules=choice.rules, fold=not choice.all_rows)
    page = choice.page
    if page is None:
        rows = (n for n, row in enumerate(whole.rows) if choice.step in row.keys)
        page = next(rows, 0) // ROWS
    pages = pages_of(page, ROWS, len(whole.rows))
    return cut(whole, pages.first, pages.last), pages


def picture_of(diagram: Diagram, links: Links) -> str:
    """Return a diagram as SVG with linked rows, without its notes about omitted parts."""
    return svg_text(replace(diagram, left_out=()), links)


def step_of(life: Life, choice: Choice) -> tuple[int, Step] | None:
    """Return the chosen step, with its number."""
    if choice.step is None or choice.step >= len(life.steps):
        return None
    return choice.step, life.steps[choice.step]


def same_row(diagram: Diagram, step: int) -> Sequence[int]:
    """Return the steps in the same row as a step, including itself."""
    return next((row.keys for row in diagram.rows if step in row.keys), (step,))


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message of the list, with its first step."""

    message: MessageLife
    step: int | None


def message_rows(life: Life, page: int) -> tuple[tuple[MessageRow, ...], Pages]:
    """Return a page of the messages, in the order sent."""
    first: dict[tuple[bool, int], int] = {}
    for number, step in enumerate(life.steps):
        if step.message is not None:
            first.setdefault(step.message, number)
    ordered = sorted(life.messages, key=lambda m: (m.sent_at or 0, not m.from_initiator))
    pages = pages_of(page, MESSAGES, len(ordered))
    shown = ordered[pages.first : pages.last]
    return tuple(MessageRow(m, first.get((m.from_initiator, m.sequence))) for m in shown), pages
