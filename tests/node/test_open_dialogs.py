"""A million open dialogs cost little: timers, groups and idle dialogs against what they stand for.

Each is held against the simplest thing that does the same: a dict that is looked through.
"""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.node import Dialogs
from streams.node.endpoint import dialogs as dialogs_module
from streams.node.endpoint.dialogs import Kept
from streams.node.endpoint.groups import Groups
from streams.node.endpoint.timers import AT_ONCE, NEAR, Timers
from streams.protocol import Chunk, Dialog, DialogKey, Limits, State
from streams.protocol.chunk import CHUNK
from streams.protocol.dialog import EVERYTHING
from streams.wire import state
from streams.wire.state import encode_chunk, encode_dialog, unpack_dialog

from .harness import conversation, keys_of
from .places import D1, INITIATOR, A, B, pair, talking

DRAWER = 1 << 18
FAR = NEAR + 3 * DRAWER
KEYS = st.integers(0, 5)
MOMENTS = st.sampled_from([None, 0, 1, NEAR, FAR, FAR + 1, FAR + DRAWER, 3 * FAR])
STEPS = st.sampled_from([1, DRAWER, NEAR, FAR, 3 * FAR])


@given(st.lists(st.tuples(KEYS, MOMENTS) | STEPS, min_size=5, max_size=40))
def test_timers_say_what_is_due_and_when_to_look(steps: list[tuple[int, int | None] | int]) -> None:
    """A step arms a key or lets time pass; nothing is due late, twice, or when it was disarmed."""
    timers, due, now, keys = Timers[Kept](), dict[int, int](), 0, keys_of(6)
    timers.advance(now)
    for step in steps:
        if isinstance(step, tuple):
            key, moment = step
            timers.arm(keys[key], None if moment is None else now + moment)
            due.pop(key, None)
            if moment is not None:
                due[key] = now + moment
        else:
            now += step
            wanted = sorted((at, key) for key, at in due.items() if at <= now)
            taken = [keys.index(key) for key in timers.take(now)]
            assert sorted(taken) == sorted(key for _, key in wanted)
            assert [due[key] for key in taken] == [at for at, _ in wanted], "the earliest first"
            due = {key: at for key, at in due.items() if at > now}
        earliest = min(due.values(), default=None)
        if earliest is not None:
            assert timers.next_due is not None
            assert timers.next_due <= earliest, "who sleeps until then is not late"


def test_what_is_due_in_years_costs_no_entry_each() -> None:
    timers, keys = Timers[Kept](), keys_of(10_000)
    timers.advance(0)
    for number, key in enumerate(keys):
        timers.arm(key, 10 * FAR + number)
    assert len(timers) == 1, "one drawer"
    assert timers.take(9 * FAR) == []
    assert timers.take(10 * FAR + 99) == keys[:100]


def test_what_a_key_outdates_does_not_pile_up() -> None:
    timers, keys = Timers[Kept](), keys_of(7)
    for now in range(100_000):
        timers.arm(keys[now % 7], now + 4_000)
    assert len(timers) < 200


def test_a_retry_that_is_put_off_keeps_its_entry() -> None:
    """With each acknowledgement; the entry is entered anew when its time comes, in order."""
    timers, keys = Timers[Kept](), keys_of(7)
    for now in range(1_000):
        for number, key in enumerate(keys):
            timers.arm(key, now + 4_000 + number)
    assert len(timers) == 7
    assert timers.take(4_998) == []
    assert timers.take(5_002) == keys[:4]
    timers.arm(keys[6], 5_000)
    assert timers.take(5_003) == [keys[6], keys[4]], "due before its entry, and not late"
    assert timers.take(9_000) == [keys[5]]
    assert timers.next_due is None or timers.take(99_000) == []


@pytest.mark.parametrize("near", [True, False], ids=["retried", "at rest"])
def test_what_years_of_short_dialogs_leave_behind(near: bool) -> None:
    """Each is due in 68 years, in a drawer of its own, until it ends: no drawer outlives it."""
    timers, now = Timers[Kept](), 0
    for dialog in keys_of(10_000):
        now += DRAWER
        timers.take(now)
        if near:
            timers.arm(dialog, now + 4_000)
        timers.arm(dialog, now + 100 * FAR)
        timers.arm(dialog, None)
        assert len(timers) < 200
    assert timers.next_due is not None, "early at worst"


def test_many_that_are_due_together_come_a_thousand_at_a_time() -> None:
    timers = Timers[Kept]()
    for key in keys_of(2 * AT_ONCE + 1):
        timers.arm(key, 5)
    assert [len(timers.take(5)) for _ in range(4)] == [AT_ONCE, AT_ONCE, 1, 0]


GROUP_STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 1), KEYS))


@given(GROUP_STEPS)
def test_groups(steps: list[tuple[bool, int, int, int]]) -> None:
    """Added and removed in any order: the members of a group are those that are in it."""
    groups, model = Groups(), set[tuple[uuid.UUID, DialogKey]]()
    for added, number, database, name in steps:
        group, key = uuid.UUID(int=number), (f"D{database}", conversation(name), True)
        if added:
            groups.add(key, group)
            model.add((group, key))
        else:
            groups.remove(key, group)
            model.discard((group, key))
        for where in ("D0", "D1"):
            for n in range(4):
                found = list(groups.members(where, uuid.UUID(int=n)))
                wanted = {k for g, k in model if g.int == n and k[0] == where}
                assert len(found) == len(wanted)
                assert set(found) == wanted


def a_dialog(number: int) -> tuple[DialogKey, Dialog]:
    one, ids = conversation(number), uuid.UUID(int=number)
    dialog = Dialog(
        one, "D", "B", True, State.CO, "S", "T", None, "DEFAULT", ids, ids, number, number + 1
    )  # fmt: skip
    return ("D", one, True), dialog


def test_a_backlog_is_not_decoded_to_add_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """A SEND on a thousand conversations would decode what waits on each of them."""
    decoded, decode = list[bytes](), state.decode_chunk
    monkeypatch.setattr(state, "decode_chunk", lambda raw: decoded.append(raw) or decode(raw))
    key, dialog = a_dialog(1)
    dialog.send_sequence = 20 * CHUNK - 1
    numbers = range(20 * CHUNK - 1)
    chunks = {n: encode_chunk(Chunk(numbers[n * CHUNK :][:CHUNK])) for n in range(20)}
    found = unpack_dialog(encode_dialog(dialog), key[1], chunks).copy()
    assert (found.remember(7_777, 1), decoded) == (19, [chunks[19]])
    assert found.stored(20 * CHUNK - 1) == (7_777, 1)
    assert found.stored(3) == (3, 1) and decoded[1:] == [chunks[0]]
    assert [len(found.chunks[n]) for n in range(20)] == [CHUNK] * 20
    assert not hasattr(found.chunks[5], "other")


@pytest.mark.parametrize(("status", "refused"), [(0, EVERYTHING), (9750, 0)])
def test_of_a_dialog_that_is_read_again_any_copy_may_have_been_refused(
    status: int, refused: int
) -> None:
    dialogs = Dialogs(unpack_dialog, awake=0)
    key, dialog = a_dialog(1)
    dialog.status, dialog.refused = status, 5
    dialogs.put(key, dialog, encode_dialog(dialog))
    assert dialogs[key].refused == refused


def test_few_dialogs_are_kept_as_values_and_all_are_there() -> None:
    """What is asked for is what was put, chunks and the last copy included."""
    dialogs = Dialogs(unpack_dialog, awake=3)
    put = dict(a_dialog(number) for number in range(1, 20))
    for number, (key, dialog) in enumerate(put.items()):
        dialog.last_copy, dialog.chunks = number, {0: Chunk([number])}
        dialogs.put(key, dialog, encode_dialog(dialog))
        dialogs.put_chunk(key, 0, encode_chunk(Chunk([number])))
    assert len(dialogs._awake) == 3
    assert dict(dialogs) == put
    key = next(iter(put))
    assert dialogs.forget(key) == put[key]
    assert key not in dialogs
    assert dialogs.get(key) is None


def scattered(number: int) -> tuple[DialogKey, Dialog, bytes]:
    """Return a dialog with a window of fragments out of order, and its record."""
    key, dialog = a_dialog(number)
    dialog.held = {(at, 0): (at, 1) for at in range(1, 2 * Limits().widest, 2)}
    return key, dialog, encode_dialog(dialog)


def test_large_dialogs_are_kept_as_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four thousand values with 1,024 fragments out of order each would take 820 MB."""
    put = [scattered(number) for number in range(1, 30)]
    size = len(put[0][2])
    monkeypatch.setattr(dialogs_module, "AWAKE_BYTES", 10 * size)
    dialogs = Dialogs(unpack_dialog)
    for key, dialog, record in put:
        dialogs.put(key, dialog, record)
    assert [*dialogs._awake] == [key for key, _, _ in put[-10:]]
    assert dict(dialogs) == {key: dialog for key, dialog, _ in put}
    for key, _, record in put[-8:]:
        dialogs.load(key, record)
    assert dialogs.forget(put[0][0]) is not None
    assert sum(kept.awake for kept in dialogs.all_kept()) == dialogs._awake_bytes
    small = dict(a_dialog(number) for number in range(100, 110))
    for key, dialog in small.items():
        dialogs.put(key, dialog, encode_dialog(dialog))
    assert set(small) < set(dialogs._awake)
    monkeypatch.setattr(dialogs_module, "AWAKE_BYTES", size // 2)
    key, dialog, record = put[5]
    dialogs.put(key, dialog, record)
    assert dialogs.get(key) is dialog, "a single one is not decoded each time"
    assert [*dialogs._awake] == [key]


def test_a_deep_dialog_and_the_others_do_not_evict_each_other() -> None:
    """Whoever has a million waiting messages would make a worker decode everything each time."""
    dialogs = Dialogs(unpack_dialog)
    others = [a_dialog(number) for number in range(10, 20)]
    for key, dialog in others:
        dialogs.put(key, dialog, encode_dialog(dialog))
    waiting = encode_chunk(Chunk(range(0, 6_400_000, 100_000)))
    deep = [a_dialog(number) for number in (1, 2)]
    for key, dialog in deep:
        dialog.last_copy = 7
        dialogs.load(key, encode_dialog(dialog))
        for at in range(4 * dialogs_module.AWAKE_BYTES // len(waiting)):
            dialogs.put_chunk(key, at, waiting)
    (first, _), (second, _) = deep
    found = dialogs[first]
    for key, dialog in others:
        assert dialogs.get(key) is dialog
    assert dialogs[first] is found, "it is not decoded again"
    found.last_copy = 9
    assert {first, *(key for key, _ in others)} == set(dialogs._awake)
    assert len(dialogs[second].chunks) == len(found.chunks)
    assert {second, *(key for key, _ in others)} == set(dialogs._awake), "one at a time"
    assert dialogs[first].last_copy == 9
    dialogs.forget(first)
    assert dialogs[second] and set(dialogs._awake) == {second, *(key for key, _ in others)}
    assert sum(kept.awake for kept in dialogs.all_kept()) == dialogs._awake_bytes
    dialogs.load(second, encode_dialog(deep[1][1]))
    assert second not in dialogs._awake
    assert dialogs._deep is None


def test_chunks_count_in_what_is_kept_as_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialogs_module, "AWAKE_BYTES", 10_000)
    dialogs = Dialogs(unpack_dialog)
    waiting = encode_chunk(Chunk(range(0, 6_400_000, 100_000)))
    for number in range(1, 30):
        key, dialog = a_dialog(number)
        record = encode_dialog(dialog)
        dialogs.load(key, record)
        for at in range(20):
            dialogs.put_chunk(key, at, waiting)
        assert dialogs.get(key) is not None
    assert len(dialogs._awake) == 10_000 // (len(record) + 20 * len(waiting))


def test_a_key_is_kept_once_however_many_records_name_it() -> None:
    """Equal keys that each record makes anew would be as large as what is kept under them."""
    net = pair()
    net.begin(A, D1)
    node = net["ServerA"]
    for _ in range(3):
        net.send(A, D1, *[b"more"] * 40)  # more than a window: some wait
        node.transact()
    endpoint = node.endpoint
    [dialog] = endpoint.dialogs.values()
    kept = [*endpoint.dialogs.all_kept(), *endpoint.retention._noted]  # noted by each statement
    kept += [one for _, _, one in endpoint._timers._heap if one is not None]
    kept += [one for _, one in endpoint.flows.of(dialog).waiting._heap]
    assert len(set(kept)) == 1
    keys = [*endpoint.dialogs, *endpoint.dialogs._awake, kept[0].key]
    assert len(set(map(id, keys))) == len(set(keys)) == 1


def test_a_backlog_of_any_number_of_chunks_comes_back() -> None:
    """One chunk is kept in another form than several; both say the same."""
    dialogs = Dialogs(unpack_dialog, awake=0)
    key, dialog = a_dialog(1)
    for numbers in ((0,), (0, 1), (0, 1, 2), (1, 2), (2,), ()):
        for number in set(dialog.chunks) - set(numbers):
            dialogs.put_chunk(key, number, None)
        dialog.chunks = {number: Chunk([number]) for number in numbers}
        dialogs.put(key, dialog, encode_dialog(dialog))
        for number, chunk in dialog.chunks.items():
            dialogs.put_chunk(key, number, encode_chunk(chunk))
        found = dialogs.look(key)
        assert found is not None
        assert found.chunks == dialog.chunks
        dialogs._awake.clear()
    assert dialogs._kept[key].chunks is None


def test_chunks_may_come_back_before_their_dialog() -> None:
    """Kafka's compaction may leave a dialog's record behind those of its chunks."""
    dialogs = Dialogs(unpack_dialog, awake=0)
    key, dialog = a_dialog(1)
    dialog.chunks = {3: Chunk([3]), 4: Chunk([4])}
    dialogs.put_chunk(key, 2, encode_chunk(Chunk([2])))
    for number, chunk in dialog.chunks.items():
        dialogs.put_chunk(key, number, encode_chunk(chunk))
    dialogs.put_chunk(key, 2, None)
    assert (len(dialogs), key in dialogs) == (0, False)
    assert dialogs.load(key, encode_dialog(dialog))[1].chunks == dialog.chunks
    assert not dialogs._early


def test_without_a_record_a_dialog_stays_a_value() -> None:
    dialogs = Dialogs(unpack_dialog, awake=1)
    put = dict(a_dialog(number) for number in range(1, 5))
    for key, dialog in put.items():
        dialogs.put(key, dialog)
    assert dict(dialogs) == put
    assert all(dialogs[key] is dialog for key, dialog in put.items())


def test_a_record_that_is_loaded_supersedes_the_value() -> None:
    dialogs = Dialogs(unpack_dialog)
    key, dialog = a_dialog(1)
    dialogs.put(key, dialog, encode_dialog(dialog))
    newer = replace(dialog, send_sequence=7)
    assert dialogs.load(key, encode_dialog(newer))[1] == newer
    assert dialogs[key] == newer


@pytest.mark.parametrize("count", [1, AT_ONCE, 2 * AT_ONCE + 1])
def test_a_change_that_concerns_all_dialogs_is_dealt_with_in_parts(count: int) -> None:
    """NEW_BROKER, a dropped service: no transaction grows with the number of dialogs."""
    net, parts = pair(), []
    for n in range(count):
        net.begin(A, conversation(n + 1))
    net.settle()
    node = net["ServerA"]
    net.sql(A, "ALTER DATABASE DatabaseA SET ERROR_BROKER_CONVERSATIONS")
    while node.endpoint.has_probes:
        tx = node.endpoint.begin(node, net.now)
        parts.append(len(tx.machines))
        tx.close()
        node.endpoint.merge(tx, node._write(tx))
    assert sum(parts) == count
    assert max(parts) <= AT_ONCE
    assert node.types(INITIATOR) == ["Error"] * count


def test_dialogs_that_are_read_from_their_records_go_on() -> None:
    """Idle ones too, after a restart, and whichever of them speaks next."""
    net = talking()
    ids = [conversation(n) for n in range(10, 20)]
    for one in ids:
        net.begin(A, one)
        net.send(A, one, b"first")
    net.settle()
    for name in ("ServerA", "ServerB"):
        net[name].restart_endpoint()
    for one in reversed(ids):
        net.send(A, one, b"second")
        net.send(B, one, b"answer", from_initiator=False)
    net.settle()
    heard = [(m.conversation, m.body) for m in net["ServerA"].queues[INITIATOR]]
    assert [h for h in heard if h[0] != D1] == [(one, b"answer") for one in reversed(ids)]
