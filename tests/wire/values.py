"""Everything that can stand in an envelope, a command, a state record: hypothesis strategies."""

from __future__ import annotations

from hypothesis import strategies as st

from streams.protocol import (
    END_DIALOG,
    ERROR,
    UNPROVOKED,
    Ack,
    Cause,
    Chunk,
    Command,
    CommandKind,
    Dialog,
    Flag,
    Header,
    Journey,
    Parties,
    Request,
    Seen,
    SeenStatement,
    Source,
    State,
    Status,
)
from streams.times import LATEST
from streams.wire.commands import ResultRecord
from streams.wire.state import Positions
from streams.wire.state_keys import RequestKey, SeenKey, StateKey

LONG = 2**63
INT = 2**31

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
"""What Avro can hold: any text but lone surrogates."""
maybe_names = st.none() | names
uuids = st.uuids()
longs = st.integers(-LONG, LONG - 1)
ints = st.integers(-INT, INT - 1)
counts = st.integers(0, INT - 1)
instants = st.integers(0, 2**48)
expiries = st.integers(0, LATEST)

parties = st.builds(
    Parties, names, maybe_names, names, names, names, st.booleans(), locked=st.booleans()
)
flags = st.sampled_from(
    [Flag.NONE, Flag.END, Flag.ERROR, Flag.ERROR | Flag.SKIPS, Flag.ERROR | Flag.UNSEQUENCED]
)


def type_for(flags: Flag, otherwise: str) -> str:
    """Return the type of a message with these flags."""
    return END_DIALOG if flags & Flag.END else ERROR if flags & Flag.ERROR else otherwise


headers = st.builds(
    lambda flags, type, sequence, fragment, **rest: Header(
        flags=flags,
        type=type_for(flags, type),
        sequence=0 if flags & Flag.UNSEQUENCED else sequence,
        fragment=fragment[0],
        fragments=fragment[1] + 1,
        **rest,
    ),
    flags=flags,
    sequence=st.integers(0, 2**62 - 1),
    message_id=uuids,
    type=names,
    enqueued_at=longs,
    dialog_expires_at=st.integers(-LONG, LATEST),
    fragment=st.integers(0, INT - 2).flatmap(
        lambda last: st.tuples(st.integers(0, last), st.just(last))
    ),
)
visits = st.tuples(names, instants)
journeys = st.builds(
    Journey,
    hops_remaining=st.integers(0, 255),
    expires_at=expiries,
    attempt=st.one_of(st.integers(0, 70), counts),
    sent_at=st.integers(0, 2**64 - 1),
    first_hop=st.one_of(st.integers(0, 70), counts),
    path=st.lists(visits, max_size=6).map(tuple),
)
places = st.tuples(longs, ints)
runs = st.lists(st.tuples(places, places), max_size=8).map(tuple)
acks = st.builds(
    lambda next_sequence, seen, *rest, **named: Ack(
        next_sequence, max(seen, next_sequence - 1), *rest, **named
    ),
    longs,
    longs,
    st.integers(UNPROVOKED, INT - 1),
    ints,
    longs,
    st.booleans(),
    held=runs,
    next_fragment=ints,
)
chunks = st.lists(st.tuples(longs, ints), max_size=64).map(Chunk.of)
statuses = st.builds(
    Status,
    *(uuids, names, st.booleans(), ints, ints, longs, st.none() | names, st.none() | names, longs),
)
sources = st.builds(Source, names.filter(bool), names, uuids, ints)
causes = st.builds(Cause, sources, longs, ints)
commands = st.builds(
    Command,
    conversation=uuids,
    command_id=uuids,
    kind=st.sampled_from(CommandKind),
    database=names,
    from_initiator=st.booleans(),
    issued_at=longs,
    reply_to=maybe_names,
    from_service=maybe_names,
    to_service=maybe_names,
    to_broker=maybe_names,
    contract=maybe_names,
    lifetime=st.none() | longs,
    group=st.none() | uuids,
    type=maybe_names,
    error_code=st.none() | ints,
    error_text=maybe_names,
    cleanup=st.booleans(),
    body=st.none() | st.binary(max_size=40),
    stored_at=longs,
    related=st.none() | uuids,
    timeout=st.none() | longs,
    also=st.lists(uuids, max_size=3).map(tuple),
    cause=st.none() | causes,
)
results = st.builds(ResultRecord, uuids, uuids, ints, names)
positions = st.builds(Positions, longs, longs, longs)
requests = st.builds(Request, names, ints, longs, st.none() | uuids, longs)
seens = st.builds(
    lambda said: Seen(tuple(said)),
    st.lists(st.builds(SeenStatement, longs, ints, longs, ints), max_size=3),
)
seen_keys = st.builds(SeenKey, sources)
request_keys = st.builds(RequestKey, names, names)
state_keys = st.builds(StateKey, names, uuids, st.booleans(), st.none() | counts)
dialogs = st.builds(
    Dialog,
    conversation=uuids,
    database=names,
    broker_id=names,
    is_initiator=st.booleans(),
    state=st.sampled_from(State),
    service=names,
    far_service=names,
    far_broker=maybe_names,
    contract=names,
    group=uuids,
    handle=uuids,
    created_at=longs,
    expires_at=longs,
    locked=st.booleans(),
    send_sequence=longs,
    acknowledged=places,
    transmitted=places,
    suspect=places,
    received=places,
    held=st.dictionaries(places, st.tuples(longs, ints), max_size=5),
    partial=st.lists(longs, max_size=5),
    parked=st.lists(st.tuples(longs, longs), max_size=5),
    timer_at=st.none() | longs,
    priority=ints,
    confirmed=st.booleans(),
    refusal=ints,
    deaf_from=st.none() | longs,
    discarded_from=st.none() | longs,
    error_epoch=ints,
    attempt=ints,
    retry_at=st.none() | longs,
    first_hop=ints,
    status=ints,
    status_at=longs,
    peer_closed=st.booleans(),
    closed_at=st.none() | longs,
    forget_at=st.none() | longs,
)
events = st.fixed_dictionaries(
    {"event": ints, "at": longs, "instance": names},
    optional={
        "subclass": ints,
        "database": maybe_names,
        "conversation": maybe_names,
        "from_initiator": st.none() | st.booleans(),
        "error": ints,
        "sequence": st.none() | longs,
        "attempt": st.none() | ints,
        "next_hop": maybe_names,
        "detail": names,
    },
)
