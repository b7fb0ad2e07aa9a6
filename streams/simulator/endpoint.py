"""The endpoint worker's process: each turn of its loop is a transaction that commits or aborts.

As in ``workers``, a turn applies the records that were read and the due timers to an overlay. Then
the whole turn is committed at one instant, or it is aborted and its input is read again. Crashes
during a turn need not be simulated, because a turn has no visible effect until the commit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from streams.node import CatalogView, Endpoint, Transaction, TrimPoint, narrowed
from streams.protocol import Command, CommandKind, DialogKey, Message, Status
from streams.simulator.clock import MILLISECOND, Alarm
from streams.simulator.instance import Instance
from streams.simulator.storage import (
    Batch,
    Entry,
    Positions,
    Store,
    command_entry,
    frame_entry,
    read_ack,
    read_command,
    read_message,
)
from streams.topology import Role

POLL = 2 * MILLISECOND
"""Maximum time before a process checks for new records."""
_ORDERS = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))


def start(instance: Instance) -> None:
    """Start an instance's endpoint workers: its own, and one per pair of which it is principal."""
    EndpointProcess(instance, instance.own)
    follow_roles(instance)


def crash(instance: Instance) -> None:
    """Crash the instance's endpoint workers."""
    for store in (instance.own, *instance.pairs.values()):
        if store.endpoint is not None and store.endpoint.at == instance.name:
            store.endpoint.crash()


def follow_roles(instance: Instance) -> None:
    """Start workers for pairs whose principal, by its catalog, is the instance; stop the others.

    A newer epoch ends the process of an older epoch, wherever that process runs, and the
    uncommitted work of that process is lost. A process whose epoch is older than that of the pair
    cannot start.
    """
    for database, store in instance.pairs.items():
        mirror, running = instance.catalog.mirrors[instance.name, database], store.endpoint
        if mirror.role is Role.MIRROR:
            if running is not None and running.at == instance.name:
                running.crash()
        elif mirror.epoch > store.epoch or (mirror.epoch == store.epoch and running is None):
            if running is not None:
                running.crash()
            store.epoch = mirror.epoch
            EndpointProcess(instance, store)


class EndpointProcess:
    """One endpoint worker, from start to crash; it starts by restoring the durable state."""

    def __init__(self, instance: Instance, store: Store) -> None:
        self.instance = instance
        self.store = store
        store.endpoint = self
        topics = store.topics
        self._topics = (topics.cmd, topics.inbox, topics.ack)
        positions = store.state.positions
        self._positions = [positions.cmd, positions.inbox, positions.ack]
        self._backlog = (0, len(topics.inbox), len(topics.ack))
        self._alarm = Alarm(instance.around.clock, self._turn)
        self.aborts = 0
        scenario = instance.around.scenario
        self.node = Endpoint(
            instance.name,
            self._seen(),
            scenario.limits,
            flight=2 * scenario.batch,
            new_id=instance.ids.guid,
        )
        self.node.requests = store.state.restore_requests()
        self.node.seen = dict(store.state.seen)
        for key, dialog in store.state.restore(len(topics.out)).items():
            self.node.restore(key, dialog)
        self.wake()

    @property
    def at(self) -> str:
        """Return the name of the worker's instance."""
        return self.instance.name

    def crash(self) -> None:
        """Lose all state that is not durable."""
        self._alarm.clear()
        self.store.endpoint = None

    def wake(self) -> None:
        """Schedule a turn."""
        self._alarm.set(self.instance.around.clock.now + self.instance.chance.below(POLL))

    def switch(self) -> None:
        """Switch to the instance's version of the catalog, with its roles."""
        if self.store is self.instance.own:
            follow_roles(self.instance)
        self.node.switch(self._seen())
        self.wake()

    def _seen(self) -> CatalogView:
        catalog, name = self.instance.catalog, self.instance.name
        mirror = catalog.mirrors.get((name, self.store.database or ""))
        return narrowed(catalog, name, None if mirror is None else mirror.pair)

    # --- reading bodies again (Bodies) ----------------------------------------------------

    def commands(self, positions: Collection[int]) -> Mapping[int, Command]:
        """Read statements again."""
        _demand(positions, self.store.trim_point.cmd)
        return {p: read_command(self.store.topics.cmd[p]) for p in positions}

    def messages(self, positions: Collection[int]) -> Mapping[int, Message]:
        """Read frames again."""
        _demand(positions, self.store.trim_point.inbox)
        return {p: read_message(self.store.topics.inbox[p]) for p in positions}

    # --- a turn ----------------------------------------------------------------------------------

    @property
    def _caught_up(self) -> bool:
        """Return whether the initial backlog has been applied; until then, timers must wait."""
        return all(p >= end for p, end in zip(self._positions, self._backlog, strict=True))

    def _turn(self) -> None:
        node, now = self.node, self.instance.now
        ends = self._choose_ends()
        timers, due = self._caught_up, node.next_due
        wanted = timers and (node.has_probes or node.has_turn or (due is not None and due <= now))
        if ends == self._positions and not wanted:
            self._sleep()
            return
        if due is not None and due <= now:
            node.left_out = max(node.left_out, self.store.forwarded[0])
        node.applied_until = self._applied_until(now)
        batch = Batch()
        try:
            tx = node.begin(self, now, timers=timers, most=self.instance.around.scenario.batch)
            self._apply(tx, batch, ends)
            tx.close()
        except Exception as error:
            self.instance.around.invariants.failed(self.instance.name, error)
            return
        if self._is_aborted():
            node.abandon(tx)
            self.wake()
            return
        self._commit(tx, batch, ends)
        self._sleep()

    def _applied_until(self, now: int) -> int:
        """Return the time up to which everything appended to ``in`` is applied."""
        inbox, position = self._topics[1], self._positions[1]
        return now if position >= len(inbox) else min(now, inbox[position].stored_at)

    def _choose_ends(self) -> list[int]:
        """Choose the end of this turn's input: all records, or some, as if others arrived later."""
        chance, most = self.instance.chance, self.instance.around.scenario.batch
        ends = []
        for topic, position in zip(self._topics, self._positions, strict=True):
            waiting = min(len(topic) - position, most)
            if waiting > 1 and chance.below(4) == 0:
                waiting = chance.below(waiting + 1)
            ends.append(position + waiting)
        return ends

    def _apply(self, tx: Transaction, batch: Batch, ends: list[int]) -> None:
        reads = (self._read_command, self._read_frame, self._read_ack)
        for number in self.instance.chance.pick(_ORDERS):
            topic, read = self._topics[number], reads[number]
            for position in range(self._positions[number], ends[number]):
                read(tx, batch, position, topic[position])

    def _read_command(self, tx: Transaction, batch: Batch, position: int, entry: Entry) -> None:
        command = read_command(entry)
        conversations = (command.conversation, *command.also)
        keys = [(command.database, c, command.from_initiator) for c in conversations]
        before = [self._send_sequence(tx, key) for key in keys]
        tx.command(position, command)
        batch.commands.append(command)
        for key, sequence in zip(keys, before, strict=True):
            if command.kind is not CommandKind.BEGIN and self._send_sequence(tx, key) != sequence:
                batch.accepted.append((key, sequence, command))

    def _send_sequence(self, tx: Transaction, key: DialogKey) -> int:
        machine = tx.machines.get(key)
        dialog = machine.dialog if machine is not None else self.node.dialogs.get(key)
        return 0 if dialog is None else dialog.send_sequence

    def _read_frame(self, tx: Transaction, batch: Batch, position: int, entry: Entry) -> None:
        message = read_message(entry)
        batch.messages.append(message)
        tx.message(position, message)

    def _read_ack(self, tx: Transaction, batch: Batch, position: int, entry: Entry) -> None:
        read = read_ack(entry)
        if isinstance(read, Status):
            tx.status(read)
        else:
            tx.acknowledgement(read)

    def _is_aborted(self) -> bool:
        if self.aborts:
            self.aborts -= 1
            return True
        around = self.instance.around
        return not around.network.calm and self.instance.chance.happens(around.scenario.aborts)

    def _commit(self, tx: Transaction, batch: Batch, ends: list[int]) -> None:
        instance, around, store = self.instance, self.instance.around, self.store
        now, out_end = around.clock.now, -1
        for frame in tx.frames:
            store.topics.out.append(frame_entry(frame, tx.now))
            out_end = len(store.topics.out) - 1
        for command in tx.notices.said:
            store.topics.cmd.append(command_entry(command, tx.now))
        for key, sequence, command in batch.accepted:
            broker = tx.machines[key].dialog.broker_id
            around.facts.accept(store.name, key, broker, sequence, command, now)
        store.state.write(tx)
        store.state.positions = Positions(*ends)
        self._positions = ends
        around.invariants.committed(store, self.node, tx, batch)
        for event in tx.events:
            instance.write_event(event)
        for message in (*tx.queued, *tx.own):
            around.queued(instance.name, message)
        self.node.merge(tx, out_end)
        self._trim()
        if out_end >= 0:
            instance.wake_forwarder()

    def _trim(self) -> None:
        """Trim the inputs immediately, that is, as early as workers may do so."""
        self.node.retention.begin(TrimPoint(*self._positions))
        self.store.trim_point = self.node.trim_point() or self.store.trim_point

    def _sleep(self) -> None:
        """Schedule the next turn for when records can be read or checked, or a timer is due."""
        unread = any(p < len(t) for p, t in zip(self._positions, self._topics, strict=True))
        if unread or (self._caught_up and (self.node.has_probes or self.node.has_turn)):
            self.wake()
        due = self.node.next_due
        if due is not None and self._caught_up:
            self._alarm.set(self.instance.instant(due))


def _demand(positions: Collection[int], begin: int) -> None:
    lowest = min(positions, default=begin)
    if lowest < begin:
        raise LookupError(f"position {lowest} was trimmed: the log begins at {begin}")
