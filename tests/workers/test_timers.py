"""Design, rule 4: a timer that can never be applied waits alone, and holds nobody else up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from streams.client import Conversation
from streams.errors import EventKind, Number
from streams.kafka import TopicPartition, deploy
from streams.wire import decode_event, decode_journey
from streams.wire.records import HOP, header_of
from streams.wire.state_keys import StateKey
from tests.running import DEADLINE
from tests.workers.rig import QUICK, TO_B, Rig, pair
from tests.workers.test_standby import Hurried

POSTPONED = EventKind.MESSAGE_UNDELIVERABLE
DIALOGS = 5


def lose_chunk(two: Rig, dialog: Conversation) -> None:
    """Let the state no longer say where the dialog's message is."""
    key = StateKey("DatabaseA", dialog.id, True, 0).encode()
    two.produce(two.topics.dialog("A"), key, None, partition=0)


def lose_body(two: Rig, dialog: Conversation) -> None:
    """Let the dialog's message be gone: it is the first one behind the BEGINs."""
    gone = TopicPartition(two.topics.cmd("A"), 0, DIALOGS + 1)
    admin = two.cluster.admin()
    for future in admin.delete_records([gone]).values():
        future.result()


def one_broken(
    two: Rig, break_it: Callable[[Rig, Conversation], None], lifetime: int | None = None
) -> list[Conversation]:
    """Leave dialogs whose messages want a retry behind; that of the first one is impossible."""
    first = two.endpoint(limits=QUICK)
    with two.client() as client:
        parties = ("A", "DatabaseA", "InitiatorService", "TargetService")
        dialogs = [client.begin(*parties, lifetime=lifetime) for _ in range(DIALOGS)]
        for dialog in dialogs:
            client.send(dialog, b"x", wait=True)
    first.stop()
    break_it(two, dialogs[0])
    two.commit_forwarder_offset("A", 1_000)  # nothing holds retries back
    return dialogs


def retried(two: Rig, dialogs: list[Conversation], attempt: int) -> None:
    """Wait until these dialogs have made so many retries."""
    missing = {str(dialog.id).encode() for dialog in dialogs}

    def counts(message: object) -> bool:
        journey = decode_journey(header_of(message.headers(), HOP))  # type: ignore[attr-defined]
        found = message.key() in missing and journey.attempt == attempt  # type: ignore[attr-defined]
        missing.discard(message.key() if found else b"")  # type: ignore[attr-defined]
        return found

    two.until(two.topics.out("A"), len(dialogs), counts)


@pytest.mark.long
@pytest.mark.parametrize("break_it", [lose_chunk, lose_body])
def test_a_timer_that_cannot_be_applied_waits_alone(
    two: Rig, break_it: Callable[[Rig, Conversation], None]
) -> None:
    """It is told once, with its number; the other dialogs go on, and so does the worker."""
    broken, *others = one_broken(two, break_it)
    worker = two.endpoint(limits=QUICK)
    retried(two, others, 3)
    reported = [decode_event(m.value()) for m in two.records(two.topics.event)]
    [postponed] = [e for e in reported if e["event"] == POSTPONED]
    assert (postponed["conversation"], postponed["database"]) == (str(broken.id), "DatabaseA")
    assert (postponed["from_initiator"], postponed["error"]) == (True, Number.CORRUPTED_HEADER)
    assert postponed["detail"].startswith("its timer is postponed because it failed twice")
    assert worker.failure is None


def test_a_postponed_timer_is_tried_again_when_its_dialog_is_touched_or_the_catalog_changes(
    two: Rig, tmp_path: Path
) -> None:
    broken, *_ = one_broken(two, lose_body)
    two.endpoint(limits=QUICK)
    about = {"event": POSTPONED, "conversation": str(broken.id)}
    two.events(1, **about)
    with two.client() as client:
        client.send(broken, b"next", wait=True)
    two.events(2, **about)
    deploy(two.cluster, pair(tmp_path, route=TO_B.replace("ToB", "New")), prune=True)
    two.events(3, **about)


@pytest.mark.long
def test_a_postponed_timer_does_not_let_a_dialog_live_for_ever(two: Rig) -> None:
    lifetime = 600
    broken, *_ = one_broken(two, lose_body, lifetime=lifetime)
    control = two.controls["hurried",] = Hurried(two.cluster, ("A",), timeout=DEADLINE)
    control.start()
    two.endpoint(limits=QUICK, control=control)
    two.events(1, event=POSTPONED, conversation=str(broken.id))
    control.ahead = lifetime * 1_000
    [over] = two.events(1, error=Number.LIFETIME_EXCEEDED, conversation=str(broken.id))
    assert over["event"] == EventKind.CONVERSATION
