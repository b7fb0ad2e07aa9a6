"""Instances in memory: topics are lists, the clock stands until it is told to go on.

Every :class:`Node` runs the product's own ``Endpoint``, ``Transaction`` and ``Forwarder`` over the
records that ``wire`` makes of their values, in the order in which the workers do. What a test can
break: links that lose (``cut``), instances that send no heartbeat (``silent``), instances that
do not run (``stopped``), crashes and aborted transactions.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from streams.chance import Chance
from streams.errors import Event, EventKind
from streams.node import (
    HELD,
    UNLIMITED,
    CatalogView,
    CommandResult,
    Copy,
    Dialogs,
    Endpoint,
    Forwarder,
    Holding,
    Moves,
    Outcome,
    Place,
    QueueMessage,
    Record,
    Transaction,
    catalog_of,
)
from streams.node.endpoint.dialogs import Kept
from streams.protocol import (
    DEFAULT,
    Command,
    CommandKind,
    Dialog,
    Journey,
    Limits,
    Message,
    Status,
)
from streams.resources import topologies_dir
from streams.routing import Origin
from streams.topology import Topology, Transport, apply_sql, load
from streams.topology.yaml_file import read_document
from streams.wire import Envelope, decode_journey, encode_status
from streams.wire import records as wire
from streams.wire.state import decode_seen, encode_chunk, encode_dialog, encode_seen, unpack_dialog
from streams.wire.state_keys import SeenKey, StateKey, decode_key

START = 1_700_000_000_000
"""When the clock stands still first; epoch milliseconds."""


def topology(text: str) -> Topology:
    """Read a topology from the text of a ``topology.yaml``."""
    document = read_document(text, "topology.yaml", START / 1000)
    assert not document.findings, document.findings
    return Topology(document.instances)


def shipped(name: str) -> Topology:
    """Load one of the topologies that Hopline ships."""
    return load(topologies_dir() / name, START / 1000)


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of a topic; its offset is its place in the list."""

    key: bytes
    value: bytes | None
    headers: wire.Headers
    timestamp: int

    @property
    def journey(self) -> Journey:
        """Return the path that the record has taken so far."""
        return decode_journey(wire.header_of(self.headers, wire.HOP))


@dataclass(slots=True)
class Log:
    """A topic with one partition and one reader."""

    entries: list[Entry] = field(default_factory=list)
    position: int = 0

    def append(self, key: bytes, value: bytes | None, headers: wire.Headers, at: int) -> int:
        """Write a record; returns its offset."""
        self.entries.append(Entry(key, value, headers, at))
        return len(self.entries) - 1

    def repeat(self, position: int) -> int:
        """Write a record once more, as one that says nothing new; returns where."""
        entry = self.entries[position]
        headers = [*(h for h in entry.headers if h[0] != wire.MOVED), (wire.MOVED, None)]
        return self.append(entry.key, entry.value, headers, entry.timestamp)

    def unread(self) -> Iterator[tuple[int, Entry]]:
        """Iterate over what the reader has not seen, and move its position."""
        while self.position < len(self.entries):
            self.position += 1
            yield self.position - 1, self.entries[self.position - 1]


class Node:
    """One instance: its topics, its forwarder and its endpoint worker."""

    def __init__(self, net: Net, name: str, catalog: CatalogView) -> None:
        self.net, self.name, self.catalog = net, name, catalog
        self.cmd, self.out, self.txq = Log(), Log(), Log()
        self.inbox, self.ack = Log(), Log()
        self.queues: dict[str, list[QueueMessage]] = {}
        self.events: list[Event] = []
        self.results: list[CommandResult] = []
        self.statuses: list[Status] = []
        self.state: dict[bytes, bytes] = {}
        self.aborts = 0
        self.reads: list[list[int]] = []
        self.endpoint = self.new_endpoint()
        self.restart_forwarder()

    # --- the forwarder ---------------------------------------------------------------------------

    def restart_forwarder(self) -> None:
        """Begin anew after a crash: what was held is gone, positions are the committed ones."""
        self.forwarder = Forwarder(self.name, self.catalog, Envelope, self.reachable)
        limit = self.catalog.forward_bytes[self.name]
        self.holding: Holding[tuple[Entry, Record]] = Holding(limit)

    def reachable(self, instance: str) -> bool:
        """Answer as the presence predicate would."""
        return instance not in self.net.silent

    def forward(self) -> bool:
        """Pass on what is unread in ``out`` and ``txq``; tells whether there was anything."""
        before = self.out.position + self.txq.position
        for log, origin in ((self.out, Origin.INSIDE), (self.txq, Origin.OUTSIDE)):
            for _, entry in log.unread():
                record = record_of(entry, origin)
                outcome = self.forwarder.handle(record, self.net.now)
                if outcome is HELD:
                    outcome = self._hold(entry, record)
                self._perform(entry, record, outcome)
        return self.out.position + self.txq.position > before

    def release(self) -> None:
        """Look at what is held: gone with its time to live, or on its way again."""
        for key, (entry, record) in self.holding.items():
            outcome = self.forwarder.release(record, self.net.now)
            if outcome is not HELD:
                self.holding.remove(key)
                self._perform(entry, record, outcome)

    def _hold(self, entry: Entry, record: Record) -> Outcome:
        key = self.forwarder.hold_key(record)
        number = self.holding.add(key, (entry, record), record.size)
        return HELD if number is None else self.forwarder.reject(record, number, self.net.now)

    def _perform(self, entry: Entry, record: Record, outcome: Outcome) -> None:
        for copy in outcome.copies:
            self.net.write(self.name, copy, entry, record)
        if outcome.status is not None:
            self.statuses.append(outcome.status)
            self.ack.append(record.key, encode_status(outcome.status), [], self.net.now)
        if outcome.event is not None:
            self.events.append(outcome.event)

    # --- the endpoint worker ---------------------------------------------------------------------

    def commands(self, wanted: Mapping[int, uuid.UUID]) -> Mapping[int, Command]:
        """Read commands again (``Bodies``)."""
        self.reads.append(list(wanted))
        found = {p: self._command(self.cmd.entries[p]) for p in wanted}
        assert all(wanted[p] in (c.conversation, *c.also) for p, c in found.items())
        return found

    def messages(self, wanted: Mapping[int, uuid.UUID]) -> Mapping[int, Message]:
        """Read message frames again (``Bodies``)."""
        self.reads.append(list(wanted))
        found = {p: self._message(self.inbox.entries[p]) for p in wanted}
        assert all(wanted[p] == m.conversation for p, m in found.items())
        return found

    def _command(self, entry: Entry) -> Command:
        return wire.read_command(entry.key, entry.value, entry.headers, entry.timestamp)

    def _message(self, entry: Entry) -> Message:
        return wire.read_message(entry.key, entry.value, entry.headers, entry.timestamp)

    def transact(self) -> bool:
        """Run one transaction over what is unread and due; tells whether there was anything."""
        due = self.endpoint.next_due
        logs = (self.cmd, self.inbox, self.ack)
        positions = [log.position for log in logs]
        unread = any(log.position < len(log.entries) for log in logs)
        self.endpoint.advance(self.net.now)
        wanted = self.endpoint.has_probes or self.endpoint.has_turn
        if not unread and not wanted and (due is None or due > self.net.now):
            return False
        self.endpoint.left_out = self.out.position
        tx = self.endpoint.begin(self, self.net.now, most=self.net.most)
        self._apply(tx)
        tx.close()
        if self.aborts:
            self.aborts -= 1
            self.endpoint.abandon(tx)
            for log, position in zip(logs, positions, strict=True):
                log.position = position
            return True
        self.endpoint.merge(tx, self._write(tx))
        return True

    def move(self, moves: Moves) -> None:
        """Copy bodies to the ends of their topics, in a transaction of its own."""
        tx = self.endpoint.begin(self, self.net.now, timers=False)
        for key in moves.dialogs:
            tx.machine(key)
        tx.close()
        commands = {p: self.cmd.repeat(p) for p in moves.commands}
        frames = {p: self.inbox.repeat(p) for p in moves.frames}
        for machine in tx.machines.values():
            machine.touched_chunks.update(machine.dialog.move_bodies(commands, frames))
        self.endpoint.merge(tx, self._write(tx))

    def _apply(self, tx: Transaction) -> None:
        unread = self.inbox.entries[self.inbox.position :]
        tx.foresee(self._message(e) for e in unread if not wire.is_moved(e.headers))
        for position, entry in self.cmd.unread():
            if not wire.is_moved(entry.headers):
                tx.command(position, self._command(entry))
        for position, entry in self.inbox.unread():
            if not wire.is_moved(entry.headers):
                tx.message(position, self._message(entry))
        for _, entry in self.ack.unread():
            read = wire.read_ack(entry.key, entry.value, entry.headers)
            if isinstance(read, Status):
                tx.status(read)
            else:
                tx.acknowledgement(read)

    def _write(self, tx: Transaction) -> int:
        end = -1
        for frame in tx.frames:
            if frame.ack is not None:
                made = wire.ack_record(frame.conversation, frame.parties, frame.ack, frame.journey)
            else:
                assert frame.header is not None
                made = wire.message_record(
                    frame.conversation, frame.parties, frame.header, frame.journey, frame.body
                )
            end = self.out.append(*made, self.net.now)
        for message in tx.queued:
            self.queues.setdefault(f"{message.database}/{message.queue}", []).append(message)
        self.results += tx.results
        self.events += tx.events
        self._write_state(tx)
        return end

    def _write_state(self, tx: Transaction) -> None:
        for key, machine in tx.machines.items():
            if machine.forgotten:
                self.state.pop(StateKey(*key).encode(), None)
            else:
                tx.records[key] = encode_dialog(machine.dialog)
                self.state[StateKey(*key).encode()] = tx.records[key]
            chunks = tx.chunks[key] = {}
            for number in machine.touched_chunks:
                chunk = machine.dialog.chunks.get(number)
                if chunk is None:
                    chunks[number] = None
                    self.state.pop(StateKey(*key, number).encode(), None)
                else:
                    encoded = chunks[number] = encode_chunk(chunk)
                    self.state[StateKey(*key, number).encode()] = encoded
        for source in tx.forgotten_sources:
            del self.state[SeenKey(source).encode()]
        for source, seen in tx.seen.items():
            self.state[SeenKey(source).encode()] = encode_seen(seen)

    def new_endpoint(self) -> Endpoint:
        """Return an endpoint worker's memory; it keeps few dialogs as values."""
        dialogs = Dialogs(unpack_dialog, awake=2)
        return Endpoint(
            self.name,
            self.catalog,
            self.net.limits,
            dialogs,
            flight=self.net.flight,
            new_id=self.net.chance.guid,
        )

    def restart_endpoint(self) -> None:
        """Begin anew after a crash, from what the ``dialog`` topic holds."""
        self.endpoint = self.new_endpoint()
        for raw, value in sorted(self.state.items()):
            about = decode_key(raw)
            if isinstance(about, SeenKey):
                self.endpoint.seen[about.source] = decode_seen(value)
            elif isinstance(about, StateKey) and about.chunk is None:
                self.endpoint.load(about.dialog, value)
            elif isinstance(about, StateKey):
                self.endpoint.dialogs.put_chunk(about.dialog, about.chunk or 0, value)
        self.endpoint.dialogs.last_copy = len(self.out.entries) - 1

    # --- what a test asks ------------------------------------------------------------------------

    def bodies(self, queue: str) -> list[bytes]:
        """Return the bodies in a queue, ``database/queue``, in order."""
        return [message.body for message in self.queues.get(queue, [])]

    def types(self, queue: str) -> list[str]:
        """Return the message types in a queue, without their common prefix."""
        return [m.header.type.rsplit("/", 1)[-1] for m in self.queues.get(queue, [])]

    def errors(self, kind: EventKind) -> list[int]:
        """Return the error numbers of the events of a kind."""
        return [e["error"] for e in self.events if e["event"] == kind]

    def dialog(self, conversation: uuid.UUID, *, initiator: bool) -> Dialog:
        """Return one side of a conversation."""
        found = [
            d
            for (_, known, side), d in self.endpoint.dialogs.items()
            if known == conversation and side is initiator
        ]
        assert len(found) == 1, found
        return found[0]


class Net:
    """All instances of a topology, the links between them, and the clock."""

    def __init__(
        self,
        made: Topology,
        limits: Limits | None = None,
        *,
        most: int = UNLIMITED,
        flight: int = UNLIMITED,
    ) -> None:
        self.most, self.flight, self.chance = most, flight, Chance(1)
        self.topology, self.limits, self.now = made, limits or Limits(), START
        catalog = catalog_of(made, 1)
        self.silent: set[str] = set()
        self.stopped: set[str] = set()
        self.cut: set[tuple[str, str]] = set()
        self.nodes = {name: Node(self, name, catalog) for name in made.instances}
        self._ids = count(1)

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    # --- applications ----------------------------------------------------------------------------

    def command(self, at: str, kind: CommandKind, conversation: uuid.UUID, **said: object) -> None:
        """Write a command to ``cmd`` of ``instance/database``."""
        instance, database = at.split("/")
        body = said.pop("body", None)
        assert body is None or isinstance(body, bytes)
        command = Command(
            conversation,
            uuid.UUID(int=next(self._ids)),
            kind,
            database,
            issued_at=self.now,
            body=body,
            **said,  # type: ignore[arg-type]
        )
        self[instance].cmd.append(*wire.command_record(command), self.now)

    def begin(
        self,
        at: str,
        conversation: uuid.UUID,
        *,
        service: str = "InitiatorService",
        to: str = "TargetService",
        **said: object,
    ) -> uuid.UUID:
        """BEGIN DIALOG CONVERSATION."""
        self.command(
            at, CommandKind.BEGIN, conversation, from_service=service, to_service=to, **said
        )
        return conversation

    def send(self, at: str, conversation: uuid.UUID, *bodies: bytes, **said: object) -> None:
        """SEND ON CONVERSATION, once per body."""
        for body in bodies:
            given = {"type": DEFAULT, **said}
            self.command(at, CommandKind.SEND, conversation, body=body, **given)

    def end(self, at: str, conversation: uuid.UUID, **said: object) -> None:
        """END CONVERSATION."""
        self.command(at, CommandKind.END, conversation, **said)

    # --- the network -----------------------------------------------------------------------------

    def write(self, sender: str, copy: Copy, entry: Entry, record: Record) -> None:
        """Append a copy to the topic that a forwarder has chosen, unless the link loses it."""
        if copy.place is Place.TXQ and (sender, copy.instance) in self.cut:
            return
        node = self[copy.instance]
        log = {Place.TXQ: node.txq, Place.IN: node.inbox, Place.ACK: node.ack}[copy.place]
        headers: wire.Headers = [(wire.ROUTE, copy.route), (wire.HOP, copy.hop)]
        if record.message is not None:
            headers.insert(1, (wire.MESSAGE, record.message))
        if copy.place is Place.IN:
            inside = copy.inside
            headers.append((wire.ORIGIN, wire.INSIDE if inside else wire.OUTSIDE))
        stamp = self.now if copy.place is Place.IN else entry.timestamp  # LogAppendTime
        log.append(record.key, entry.value, headers, stamp)

    def sql(self, at: str, text: str) -> None:
        """Change the catalog; every worker switches."""
        instance, database = at.split("/")
        self.topology = apply_sql(self.topology, instance, database, text, self.now / 1000)
        self.switch(self.topology)

    def change_database(self, at: str, **changes: object) -> None:
        """Change what the catalog says about ``instance/database``."""
        instance, database = at.split("/")
        databases = self.topology.instances[instance].databases
        made = replace(databases[database], **changes)  # type: ignore[arg-type]
        self._change(instance, databases={**databases, database: made})

    def change_transport(self, instance: str, transport: Transport) -> None:
        """Change an instance's policy for several addresses."""
        endpoint = self.topology.instances[instance].endpoint
        self._change(instance, endpoint=replace(endpoint, transport=transport))

    def _change(self, instance: str, **changes: object) -> None:
        made = replace(self.topology.instances[instance], **changes)  # type: ignore[arg-type]
        instances = {**self.topology.instances, instance: made}
        self.switch(replace(self.topology, instances=instances))

    def switch(self, made: Topology) -> None:
        """Take over another topology of the same instances."""
        self.topology = made
        catalog = catalog_of(made, self.nodes[next(iter(self.nodes))].catalog.version + 1)
        for node in self.nodes.values():
            node.catalog = catalog
            node.forwarder.switch(catalog)
            node.endpoint.switch(catalog)

    # --- time ------------------------------------------------------------------------------------

    def settle(self, *order: str) -> None:
        """Let the named instances (all, if none) work until nothing moves any more."""
        names = [name for name in order or self.nodes if name not in self.stopped]
        for _ in range(1_000):
            moved = [self[name].transact() | self[name].forward() for name in names]
            if not any(moved):
                return
        raise AssertionError("the instances never come to rest")

    def run(self, seconds: float) -> None:
        """Let time pass: everything happens when it is due, what is held once a second."""
        until = self.now + int(seconds * 1000)
        self.settle()
        while self.now < until:
            due = [n.endpoint.next_due for n in self.nodes.values() if n.name not in self.stopped]
            times = [t for t in due if t is not None and t > self.now]
            self.now = min([until, self.now + 1_000, *times])
            for node in self.nodes.values():
                if node.name not in self.stopped:
                    node.release()
            self.settle()


def record_of(entry: Entry, origin: Origin) -> Record:
    """Return a record of ``out`` or ``txq`` as the forwarder sees it."""
    route, message, hop = (
        wire.header_of(entry.headers, name) for name in (wire.ROUTE, wire.MESSAGE, wire.HOP)
    )
    assert route is not None and hop is not None
    size = len(entry.value or b"")
    return Record(origin, entry.key, route, hop, size, message is None, message)


def conversation(number: int) -> uuid.UUID:
    """Return a conversation id."""
    return uuid.UUID(int=number)


def keys_of(count: int) -> list[Kept]:
    """Return what the indices of a partition refer to, for this number of dialogs."""
    return [Kept(("DatabaseA", conversation(number), True)) for number in range(count)]
