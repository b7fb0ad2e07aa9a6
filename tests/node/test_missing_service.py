"""-8490: the database whose broker id a conversation names does not have the service (R7.4)."""

from __future__ import annotations

import pytest

from streams.errors import EventKind
from streams.protocol import Flag, Parties, State

from .evidence import shows
from .harness import Net, conversation
from .places import D1, INITIATOR, A, B, pair
from .test_accept_message import FROM_A, arriving, broker_errors, errors, reads

MISSING = b"<Code>-8490</Code><Description>the remote service does not exist</Description>"
CREATE = "CREATE SERVICE Later ON QUEUE TargetQueue ([DEFAULT])"


def asking(*bodies: bytes, to_broker: str | None = "B", named: str = "") -> Net:
    """Return the pair with a dialog to a service that DatabaseB does not have yet."""
    net = pair()
    clause = f", BROKER_INSTANCE = '{named}'" if named else ""
    net.sql(
        A, f"CREATE ROUTE R WITH SERVICE_NAME = 'Later'{clause}, ADDRESS = 'tcp://ServerB:4022'"
    )
    net.begin(A, D1, to="Later", to_broker=to_broker)
    net.send(A, D1, *bodies)
    net.settle()
    return net


@shows("-8490", "U-32", "U-39")
def test_the_initiator_gets_one_error() -> None:
    """The dialog ends in ERROR, and its messages stay in the transmission queue until END."""
    net = asking(b"1", b"2", b"3")
    net.run(20)
    (error,) = net["ServerA"].bodies(INITIATOR)
    assert MISSING in error
    dialog = net["ServerA"].dialog(D1, initiator=True)
    assert (dialog.state, dialog.acknowledged, dialog.send_sequence) == (State.ER, (0, 0), 3)
    assert set(net["ServerB"].errors(EventKind.MESSAGE_UNDELIVERABLE)) == {11210}
    sent = len(net["ServerA"].out.entries)
    net.run(300)
    assert len(net["ServerA"].out.entries) == sent, "nothing is sent again"
    assert len(net["ServerA"].bodies(INITIATOR)) == 1
    assert not net["ServerB"].endpoint.dialogs


@shows("-8490")
def test_so_it_is_within_an_instance() -> None:
    """A LOCAL route, and the id of another database of the instance."""
    net = pair()
    net.sql("ServerA/Quiet", "ALTER DATABASE Quiet SET ENABLE_BROKER")
    net.begin(A, D1, to="Later", to_broker="Q")
    net.send(A, D1, b"1")
    net.run(20)
    (error,) = net["ServerA"].bodies(INITIATOR)
    assert MISSING in error


@shows("-8490", "U-32")
def test_a_first_copy_gets_no_answer() -> None:
    """A worker may know of a service later than its application: a retry finds the service."""
    net = asking(b"1", b"2")
    assert net["ServerB"].errors(EventKind.MESSAGE_UNDELIVERABLE) == [11210, 11210]
    net.sql(B, CREATE)
    net.run(5)
    assert net["ServerB"].bodies("DatabaseB/TargetQueue") == [b"1", b"2"]
    assert net["ServerA"].bodies(INITIATOR) == []


@shows("-8490")
@pytest.mark.parametrize("waited", [0, 30])
def test_one_answer_does_not_end_a_dialog(waited: int) -> None:
    """A worker may read a new service later than another one reads the route to it."""
    net = pair()
    net.begin(A, D1, to="Later", to_broker="B")
    net.send(A, D1, b"1")
    net.run(waited)
    net.sql(A, "CREATE ROUTE R WITH SERVICE_NAME = 'Later', ADDRESS = 'tcp://ServerB:4022'")
    net.run(3)
    dialog = net["ServerA"].dialog(D1, initiator=True)
    assert (dialog.state, dialog.status) == (State.CO, 8490)
    assert 8490 in net["ServerA"].errors(EventKind.MESSAGE_UNDELIVERABLE)
    net.sql(B, CREATE)
    net.run(70)
    assert net["ServerB"].bodies("DatabaseB/TargetQueue") == [b"1"]
    assert net["ServerA"].bodies(INITIATOR) == []


@shows("-8490")
def test_an_error_that_is_older_than_an_acknowledgement_is_not_applied() -> None:
    net = pair()
    net.begin(A, D1, to_broker="B")
    net.send(A, D1, b"1")
    net.settle()
    old = Parties("InitiatorService", "A", "TargetService", "B", "DEFAULT", False)
    late = arriving(parties=old, flags=Flag.ERROR | Flag.UNSEQUENCED)._replace(body=MISSING)
    for _ in range(2):
        tx = reads(net, "ServerA", late)
        assert errors(tx) == [8490]
        net.run(70)
    assert net["ServerA"].dialog(D1, initiator=True).state is State.CO


@shows("-8490")
def test_repetitions_of_the_first_answer_do_not_end_the_dialog() -> None:
    net = asking(b"1")
    answer = Parties("InitiatorService", "A", "Later", "B", "DEFAULT", False)
    first = arriving(parties=answer, flags=Flag.ERROR | Flag.UNSEQUENCED)._replace(body=MISSING)
    for _ in range(3):
        assert errors(reads(net, "ServerA", first)) == [8490]
    assert net["ServerA"].dialog(D1, initiator=True).state is State.CO


@shows("-8490")
@pytest.mark.parametrize(("to_broker", "named"), [(None, ""), (None, "B"), ("Elsewhere", "")])
def test_other_conversations_wait(to_broker: str | None, named: str) -> None:
    """BEGIN names no broker id, or an id that no database has: a routing miss is no error."""
    net = asking(b"1", to_broker=to_broker, named=named)
    net.run(300)
    assert net["ServerA"].bodies(INITIATOR) == []
    assert net["ServerA"].dialog(D1, initiator=True).state is State.CO
    if to_broker is None:
        net.sql(B, CREATE)
        net.run(70)
        assert net["ServerB"].bodies("DatabaseB/TargetQueue") == [b"1"]


@shows("-8490")
def test_a_database_with_delivery_off_answers_nothing() -> None:
    """Its messages wait, and the Error follows when its broker is on."""
    net = pair()
    net.sql(B, "ALTER DATABASE DatabaseB SET DISABLE_BROKER")
    net.sql(A, "CREATE ROUTE R WITH SERVICE_NAME = 'Later', ADDRESS = 'tcp://ServerB:4022'")
    net.begin(A, D1, to="Later", to_broker="B")
    net.send(A, D1, b"1")
    net.run(300)
    assert net["ServerA"].bodies(INITIATOR) == []
    net.sql(B, "ALTER DATABASE DatabaseB SET ENABLE_BROKER")
    net.run(140)
    assert MISSING in net["ServerA"].bodies(INITIATOR)[0]


@shows("-8490")
def test_an_ended_dialog_disappears() -> None:
    """Fire and forget: an application that has ended the dialog does not get the Error."""
    net = asking(b"1")
    net.end(A, D1)
    net.run(20)
    assert net["ServerA"].bodies(INITIATOR) == []
    assert net["ServerA"].dialog(D1, initiator=True).state is State.CD


@shows("-8490")
def test_a_dropped_service_ends_only_its_dialogs_with_8470() -> None:
    """An established dialog gets -8470 from its endpoint, a new one -8490."""
    net = pair()
    net.begin(A, D1, to_broker="B")
    net.send(A, D1, b"1")
    net.settle()
    net.sql(B, "DROP SERVICE TargetService")
    net.begin(A, conversation(2), to_broker="B")
    net.send(A, conversation(2), b"2")
    net.run(20)
    codes = [b"-8470" in body or b"-8490" in body for body in net["ServerA"].bodies(INITIATOR)]
    assert codes == [True, True]
    first = [m.body for m in net["ServerA"].queues[INITIATOR] if m.conversation == D1]
    assert b"-8470" in first[0]


@shows("-8490", "D3.3")
@pytest.mark.parametrize(
    ("attempt", "to_broker", "flags", "answers"),
    [
        (1, "B", Flag.NONE, 1),
        (0, "B", Flag.NONE, 0),
        (1, None, Flag.NONE, 0),
        (1, "B", Flag.ERROR | Flag.UNSEQUENCED, 0),
    ],
)
def test_which_copies_are_answered(
    attempt: int, to_broker: str | None, flags: Flag, answers: int
) -> None:
    """Retries of sequenced messages that name the broker id; never a broker Error."""
    nobody = FROM_A._replace(to_service="Nobody", to_broker=to_broker)
    tx = reads(pair(), "ServerB", arriving(attempt=attempt, parties=nobody, flags=flags))
    assert errors(tx) == [11210]
    assert len(broker_errors(tx)) == len(tx.frames) == answers


@shows("-8490", "D3.4")
@pytest.mark.parametrize(
    "parties",
    [
        Parties("InitiatorService", "A", "Later", "Other", "DEFAULT", False),
        Parties("InitiatorService", "A", "Other", "B", "DEFAULT", False),
    ],
)
def test_another_broker_cannot_end_the_dialog(parties: Parties) -> None:
    """Only the broker id that BEGIN names, and only as the service of the dialog."""
    net = asking()
    forged = arriving(parties=parties, flags=Flag.ERROR | Flag.UNSEQUENCED)._replace(body=MISSING)
    tx = reads(net, "ServerA", forged)
    assert errors(tx) == [11224]
    assert net["ServerA"].dialog(D1, initiator=True).state is not State.ER


@shows("-8490")
def test_an_error_about_an_id_that_a_route_names_is_not_applied() -> None:
    """Only BEGIN decides: the dialog is not locked to the sender either."""
    net = asking(b"1", to_broker=None, named="B")
    net.run(5)
    dialog = net["ServerA"].dialog(D1, initiator=True)
    assert 8490 in net["ServerA"].errors(EventKind.MESSAGE_UNDELIVERABLE)
    assert (dialog.far_broker, dialog.locked) == (None, False)
