"""Messages that did not arrive: where each is by what the store knows of its dialog."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from streams.store import (
    AlarmKind,
    Cause,
    DialogSide,
    Report,
    Row,
    Severity,
    Situation,
    Store,
    Whereabouts,
)
from streams.store.freshness import ARRIVALS, QUERIES
from streams.store.message_tables import ACKNOWLEDGED
from tests.store.build import COPIED, FOUND, GAP, MISSING
from tests.store.build_state import DIALOG

NOW = 20_000_000
SENDER = replace(DIALOG, acknowledged=5, depth=0, status=0)
RECEIVER = replace(DIALOG, instance="ServerB", is_initiator=False, parked=0, depth=0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        store.reach(dict.fromkeys((*QUERIES, ARRIVALS), NOW))
        yield store


CASES: dict[str, tuple[Whereabouts, str, tuple[DialogSide, ...]]] = {
    "acknowledged and nowhere": (Whereabouts.LOST, "not in any queue", (SENDER, RECEIVER)),
    "nothing is known of the target": (Whereabouts.LOST, "not in any queue", (SENDER,)),
    "not acknowledged": (
        Whereabouts.WAITING,
        "transmission queue of ServerA (9753: ",
        (replace(SENDER, acknowledged=3, status=9753), RECEIVER),
    ),
    "its queue is off": (
        Whereabouts.WAITING,
        "waits in ServerB for a queue",
        (SENDER, replace(RECEIVER, parked=2)),
    ),
    "in error there": (
        Whereabouts.DISCARDED,
        "in error",
        (replace(SENDER, acknowledged=3), replace(RECEIVER, error_at=12_500)),
    ),
    "the receiver has ended": (
        Whereabouts.DISCARDED,
        "ended",
        (SENDER, replace(RECEIVER, state="DO")),
    ),
    "the sender is closed": (
        Whereabouts.DISCARDED,
        "ended",
        (replace(SENDER, state="CD", ended_at=13_000, acknowledged=3),),
    ),
    "nothing is known": (Whereabouts.UNKNOWN, "sender's side", ()),
    "only the receiver is known": (Whereabouts.UNKNOWN, "sender's side", (RECEIVER,)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_state_of_a_dialog_locates_its_message(store: Store, case: str) -> None:
    where, why, sides = CASES[case]
    store.write("messages", "run", 0, [MISSING, *sides])
    (found,) = Report(store).missing(NOW)
    assert found.message == MISSING
    assert found.whereabouts is where
    assert why in found.why
    assert found.remedy.endswith(".")


def test_the_lifetime_of_its_dialog_ends_it(store: Store) -> None:
    store.write("messages", "run", 0, [MISSING, SENDER, RECEIVER])
    (found,) = Report(store).missing(MISSING.expires_at)
    assert found.whereabouts is Whereabouts.DISCARDED
    assert "lifetime" in found.why


def test_the_instance_that_dropped_a_copy_is_reported(store: Store) -> None:
    dropped = replace(MISSING, error=28072, error_at=11_900, error_by="GatewayA")
    store.write("messages", "run", 0, [dropped])
    (found,) = Report(store).missing(NOW)
    assert "GatewayA has dropped a copy (28072: " in found.why


def test_a_refused_contract_is_a_reason_until_the_target_has_an_endpoint(store: Store) -> None:
    """The target acknowledges what it refuses for its contract."""
    refused = replace(MISSING, error=11214, error_at=11_900, error_by="ServerB")
    store.write("messages", "run", 0, [refused, SENDER])
    (found,) = Report(store).missing(NOW)
    assert (found.whereabouts, found.why.partition(".")[0]) == (
        Whereabouts.DISCARDED,
        "Its target does not accept the contract",
    )
    store.write("messages", "run", 1, [RECEIVER])
    (found,) = Report(store).missing(NOW)
    assert found.whereabouts is Whereabouts.LOST


def test_another_refusal_is_no_reason(store: Store) -> None:
    dropped = replace(MISSING, error=11213, error_at=11_900, error_by="ServerB")
    store.write("messages", "run", 0, [dropped, SENDER])
    (found,) = Report(store).missing(NOW)
    assert found.whereabouts is Whereabouts.LOST


ACKNOWLEDGED_AT = SENDER.progress_at


@pytest.mark.parametrize(
    ("evaluated", "where"),
    [
        ({}, Whereabouts.UNREAD),
        ({ARRIVALS: ACKNOWLEDGED_AT}, Whereabouts.UNREAD),
        ({ARRIVALS: ACKNOWLEDGED_AT + 63_999}, Whereabouts.UNREAD),
        ({ARRIVALS: ACKNOWLEDGED_AT + 64_000}, Whereabouts.LOST),
    ],
)
def test_nothing_is_lost_before_its_queue_was_read_up_to_its_acknowledgement(
    tmp_path: Path, evaluated: dict[str, int], where: Whereabouts
) -> None:
    """After an outage longer than the horizon, a message arrives that was counted as missing."""
    with Store.open(f"sqlite:///{tmp_path}/other.sqlite") as store:
        store.write("messages", "run", 0, [MISSING, SENDER, RECEIVER])
        store.reach({**dict.fromkeys(QUERIES, NOW), **evaluated})
        (found,) = Report(store).missing(NOW)
        kinds = {alarm.kind for alarm in Situation(store).alarms(NOW)}
    assert found.whereabouts is where
    assert (AlarmKind.MISSING in kinds) == (where is Whereabouts.LOST)


def test_a_message_is_lost_although_its_dialog_goes_on(store: Store) -> None:
    """The sender's last progress is always later than what was evaluated."""
    store.write("messages", "run", 0, [MISSING, replace(SENDER, acknowledged=3), RECEIVER])
    store.note_acknowledged()
    for batch in range(1, 4):  # acknowledged in the first of them
        store.reach({ARRIVALS: ACKNOWLEDGED_AT + 64_000 * batch})
        at, number = ACKNOWLEDGED_AT + 64_000 * batch, 40 + batch
        goes_on = replace(SENDER, sent=5 + batch, position=number, progress_at=at)
        store.write("messages", "run", batch, [goes_on])
        store.note_acknowledged()
        (found,) = Report(store).missing(NOW)
        assert found.whereabouts is (Whereabouts.UNREAD if batch < 2 else Whereabouts.LOST)
    kinds = {alarm.kind for alarm in Situation(store).alarms(NOW)}
    assert AlarmKind.MISSING in kinds


def test_the_time_of_an_acknowledgement_is_deleted_with_its_message(store: Store) -> None:
    store.write("messages", "run", 0, [MISSING, SENDER])
    store.note_acknowledged()
    assert store.prune(MISSING.seen_at + 1) == 2
    assert not store.ask(sa.select(ACKNOWLEDGED))


def test_the_remedy_for_a_loss_is_an_audit_and_not_to_send_again(store: Store) -> None:
    store.write("messages", "run", 0, [MISSING, SENDER, RECEIVER])
    (found,) = Report(store).missing(NOW)
    assert found.remedy.startswith("Run 'hopline verify'")
    assert "again" not in found.remedy


def test_a_dialog_that_was_not_read_yet_is_not_unknown(store: Store) -> None:
    store.reach({"dialogs": MISSING.seen_at - 1})
    store.write("messages", "run", 0, [MISSING])
    (found,) = Report(store).missing(NOW)
    assert found.whereabouts is Whereabouts.UNREAD
    assert AlarmKind.MISSING not in {alarm.kind for alarm in Situation(store).alarms(NOW)}
    store.reach({"dialogs": MISSING.seen_at})
    (found,) = Report(store).missing(NOW)
    assert found.whereabouts is Whereabouts.UNKNOWN


def test_what_turns_up_is_missing_no_more(store: Store) -> None:
    other = replace(MISSING, message_id="m-9", seen_at=13_000)
    elsewhere = replace(FOUND, conversation="00000000-0000-0000-0000-000000000002")
    store.write("messages", "run", 0, [MISSING, other, elsewhere])
    report = Report(store)
    assert [m.message.message_id for m in report.missing(NOW)] == ["m-9", "m-3"]
    assert [m.message.message_id for m in report.missing(NOW, limit=1)] == ["m-9"]
    store.write("messages", "run", 1, [FOUND])
    assert [m.message.message_id for m in report.missing(NOW)] == ["m-9"]
    assert report.missing_count() == 1


def test_copies_are_added_up_by_cause(store: Store) -> None:
    later = replace(COPIED, first_at=900_000, last_at=900_000, retries=0, redeliveries=0, unknown=1)
    targets = replace(COPIED, message_id="m-5", retries=0, redeliveries=0, several_targets=1)
    rows: list[Row] = [COPIED, later, targets, GAP]
    report = Report(store)
    assert report.copies_by_cause() == dict.fromkeys(Cause, 0)
    store.write("messages", "run", 0, rows)
    assert report.copies_by_cause() == {
        Cause.RETRY: 2,
        Cause.REDELIVERY: 1,
        Cause.SEVERAL_ROUTES: 0,
        Cause.SEVERAL_TARGETS: 1,
        Cause.REPLAY: 0,
        Cause.UNKNOWN: 1,
    }
    assert report.copied()[0] == later
    assert report.gaps() == (GAP,)


def test_what_is_lost_is_an_alarm_and_what_waits_is_none_of_these(store: Store) -> None:
    waits = replace(MISSING, message_id="m-9", sequence=7)
    store.write("messages", "run", 0, [MISSING, waits, SENDER, RECEIVER])
    (alarm,) = [a for a in Situation(store).alarms(NOW) if a.kind is AlarmKind.MISSING]
    assert (alarm.severity, alarm.count, alarm.where) == (Severity.ERROR, 1, "TargetService")
    assert alarm.conversations == (MISSING.conversation,)


def test_a_gap_that_two_windows_see_is_one_alarm(store: Store) -> None:
    wider = replace(GAP, window_start=10_000, window_end=30_000, missing=3)
    store.write("gaps", "run", 0, [GAP, wider])
    (alarm,) = Situation(store).alarms(NOW)
    assert (alarm.kind, alarm.count, alarm.where) == (AlarmKind.GAP, 3, GAP.topic)
    assert "verify" in alarm.remedy
