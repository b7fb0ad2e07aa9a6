"""Lists of dialogs with problems, from the store: slow, delayed, missing, duplicate, leaked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from streams.dashboard import wording
from streams.dashboard.figures import Window
from streams.errors import Number, text_of
from streams.store import (
    CopiedMessage,
    DialogSide,
    Missing,
    Report,
    Situation,
    Store,
    Trouble,
    Which,
)

MOST = 8
LISTS: Mapping[str, tuple[str, str, str]] = {
    "slow": (
        "Slow",
        "initiators with the longest wait for the first answer",
        "No initiator has waited for an answer yet.",
    ),
    "delayed": (
        "Delayed",
        "the same message has waited longer than the longest retry interval",
        "No message is stuck.",
    ),
    "missing": (
        "Missing",
        "transmitted, but not arrived within the monitor's horizon",
        "Every transmitted message has arrived.",
    ),
    "duplicate": (
        "Duplicate",
        "messages that an endpoint received more than once",
        "No message arrived twice.",
    ),
    "failed": (
        "Several answers, or in error",
        "copies that a second target rejected, and failed dialogs",
        "No dialog was answered twice, and none has failed.",
    ),
    "leaked": (
        "Leaked",
        "the other side has ended, but this side has not",
        "No dialog is left open on one side.",
    ),
}
"""Title, hint, and the text of an empty list, by name."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A dialog of a list, with the reason and the figure by which the list is sorted."""

    conversation: str
    what: str
    figure: str


def read_lists(store: Store, window: Window) -> Mapping[str, tuple[Listed, ...]]:
    """Return the lists as of a window's end."""
    situation, report, now = Situation(store), Report(store), window.until
    stuck = situation.dialogs(Which.STUCK, now, limit=MOST)
    failed = situation.dialogs(Which.FAILED, now, limit=MOST)
    return {
        "slow": tuple(map(_slow, situation.dialogs(Which.SLOW, now, limit=MOST))),
        "delayed": tuple(_stuck(side, now) for side in stuck),
        "missing": tuple(_missing(m, now) for m in report.missing(now, limit=MOST)),
        "duplicate": tuple(map(_copied, report.copied(limit=MOST))),
        "failed": tuple(_failed(situation.troubles(), failed))[:MOST],
        "leaked": tuple(
            _leaked(side, now) for side in situation.dialogs(Which.LEAKED, now, limit=MOST)
        ),
    }


def _parties(side: DialogSide) -> str:
    return f"{side.instance}/{side.database}/{side.service} › {side.far_service}"


def _slow(side: DialogSide) -> Listed:
    took = (side.locked_at or side.begun_at) - side.begun_at
    return Listed(side.conversation, _parties(side), wording.duration(took))


def _copied(message: CopiedMessage) -> Listed:
    causes = {
        "retried": message.retries,
        "forwarded twice": message.redeliveries,
        "several routes": message.several_routes,
        "several targets": message.several_targets,
        "replayed": message.replays,
    }
    why = ", ".join(f"{name} {count}" for name, count in causes.items() if count)
    what = f"message {message.sequence} to {message.to_service or message.places}; {why}"
    return Listed(message.conversation, what.rstrip("; "), f"{message.copies} copies")


def _missing(missing: Missing, now: int) -> Listed:
    message = missing.message
    what = f"message {message.sequence} to {message.to_service}, {missing.whereabouts.value}"
    waited = wording.duration(now - message.enqueued_at)
    return Listed(message.conversation, f"{what}; {missing.why}", waited)


def _stuck(side: DialogSide, now: int) -> Listed:
    why = f"{side.status}: {text_of(side.status)}" if side.status else "no acknowledgement"
    waited = now - (side.waiting_since or now)
    return Listed(side.conversation, f"{_parties(side)}; {why}", wording.duration(waited))


def _leaked(side: DialogSide, now: int) -> Listed:
    return Listed(
        side.conversation,
        f"{_parties(side)}; {side.state}",
        wording.duration(now - side.progress_at),
    )


def _failed(troubles: Iterable[Trouble], failed: Iterable[DialogSide]) -> Iterable[Listed]:
    seen: set[str] = set()
    for trouble in troubles:
        if trouble.error == Number.ANOTHER_INSTANCE_CONVERSES and trouble.conversation not in seen:
            seen.add(trouble.conversation)
            what = f"refused at {trouble.instance}: {text_of(trouble.error)}"
            yield Listed(trouble.conversation, what, wording.clock(trouble.last_at))
    for side in failed:
        if side.conversation not in seen:
            seen.add(side.conversation)
            what = f"{_parties(side)}; in the state ERROR"
            yield Listed(side.conversation, what, wording.clock(side.error_at))
