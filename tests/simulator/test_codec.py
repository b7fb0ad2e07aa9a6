"""The simulator's bytes: copies, and exactly what the real records hold."""

from __future__ import annotations

import marshal
import uuid
from dataclasses import fields, replace

from streams.protocol import Chunk, Dialog, Flag, Header, Journey, Parties, State
from streams.simulator.codec import DIALOG, HEADER, JOURNEY, Codec, Hop, encode_parties
from streams.simulator.storage import State as Durable
from streams.wire.state import DIALOG as WIRE
from streams.wire.state import encode_dialog

HERE, THERE = uuid.UUID(int=1), uuid.UUID(int=2)
SAMPLE = Dialog(
    conversation=HERE,
    database="DatabaseA",
    broker_id="a",
    is_initiator=True,
    state=State.CO,
    service="I",
    far_service="T",
    far_broker=None,
    contract="DEFAULT",
    group=THERE,
    handle=uuid.UUID(int=3),
    created_at=1_767_225_600_000,
    expires_at=1_767_225_660_000,
    held={(7, 0): (70, 1), (9, 1): (90, 2)},
    chunks={0: Chunk([1, 2])},
    last_copy=5,
)


def test_the_state_record_has_the_fields_that_the_real_one_has() -> None:
    real = set(WIRE.decode(encode_dialog(SAMPLE)))
    places = {"acknowledged", "transmitted", "suspect", "received"}  # two fields each there
    two = {f"{name}_fragment" for name in places - {"received"}}
    two |= {"receive_sequence", "receive_sequence_frag"}
    assert set(DIALOG.names) - places == real - two - places


def test_a_dialog_comes_back_without_what_a_crash_loses() -> None:
    raw = DIALOG.dumps(SAMPLE)
    back = DIALOG.loads(raw, conversation=HERE, chunks={}, last_copy=-1)
    assert back == replace(SAMPLE, chunks={}, last_copy=-1)
    assert back.held is not SAMPLE.held


def test_every_field_of_a_dialog_is_stored_or_given_back() -> None:
    given = {"conversation", "chunks", "last_copy", "in_flight", "refused"}
    assert {f.name for f in fields(Dialog)} == set(DIALOG.names) | given


def test_a_restored_dialog_does_not_know_its_last_copy_but_has_its_chunks() -> None:
    durable = Durable()
    key = ("DatabaseA", HERE, True)
    durable.dialogs[key] = DIALOG.dumps(SAMPLE)
    durable.chunks[key] = {0: marshal.dumps(([7], []), 2)}
    (dialog,) = durable.restore(out_end=12).values()
    assert dialog.last_copy == 11
    assert dialog.chunks == {0: Chunk([7])}


def test_equal_values_have_equal_bytes() -> None:
    # The forwarder finds its plans and its duplicates by bytes.
    parties = Parties("T", None, "".join(["I", "x"]), "b", "DEFAULT", True)
    again = Parties("T", None, "Ix", "b", "DEFAULT", True)
    encode_parties.cache_clear()
    first = encode_parties(parties)
    encode_parties.cache_clear()
    assert encode_parties(again) == first


def test_header_and_parties_come_back() -> None:
    header = Header(HERE, "Order", 3, 10, 20, Flag.END | Flag.ERROR)
    assert HEADER.loads(HEADER.dumps(header)) == header
    parties = Parties("T", "b", "I", "a", "C", False, True)
    assert Codec.parties(Codec.encode_parties(parties)) == parties


def test_a_hop_is_edited_as_on_the_wire() -> None:
    journey = Journey(16, 1_000, 2, 5, 1)
    hop = Hop(JOURNEY.dumps(journey))
    assert (hop.hops_remaining, hop.attempt, hop.first_hop) == (16, 2, 1)
    assert hop.expired(1_000) and not hop.expired(999)
    sent = JOURNEY.loads(hop.edited("A", 7, b"", spend=False, first_hop=3))
    assert sent == journey._replace(first_hop=3, path=(("A", 7),))
    passed = JOURNEY.loads(hop.edited("A", 7, b"", spend=True))
    assert passed == journey._replace(hops_remaining=15, path=(("A", 7),))
    beyond = Hop(JOURNEY.dumps(passed)).edited("B", 8, b"", spend=True, hide=True)
    assert JOURNEY.loads(beyond) == journey._replace(hops_remaining=14, path=(("B", 8),))
