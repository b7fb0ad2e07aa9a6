"""The endpoint worker's process: turns of its loop as transactions that happen, or do not.

As in ``workers``: a turn applies what it has read and the timers that are due to an overlay; then
all of it is committed at one instant, or aborted and read again. That no crash falls between is no
loss: until the commit nothing can be seen of a turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.node import DialogKey, Endpoint, Transaction, World
from streams.protocol import Command, CommandKind, Message, Status
from streams.simulator.clock import MILLISECOND, Alarm
from streams.simulator.instance import Instance
from streams.simulator.storage import (
    Entry,
    Positions,
    frame_entry,
    read_ack,
    read_command,
    read_message,
)

POLL = 2 * MILLISECOND
"""A process looks at what has come within this time."""
_ORDERS = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))


@dataclass(slots=True)
class Batch:
    """What one turn has read: what it accepted, and the statements and messages that it applied.

    ``accepted`` has (endpoint, number, command).
    """

    accepted: list[tuple[DialogKey, int, Command]] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)


class EndpointProcess:
    """One endpoint worker, from its start to its crash; it begins by restoring what is durable."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        topics = instance.topics
        self._topics = (topics.cmd, topics.inbox, topics.ack)
        positions = instance.state.positions
        self._positions = [positions.cmd, positions.inbox, positions.ack]
        self._backlog = (0, len(topics.inbox), len(topics.ack))
        self._alarm = Alarm(instance.around.clock, self._turn)
        self.aborts = 0
        self.node = Endpoint(instance.name, instance.world, instance.around.scenario.limits)
        for key, dialog in instance.state.restore(len(topics.out)).items():
            self.node.restore(key, dialog)
        self.wake()

    def crash(self) -> None:
        """Lose everything that is not durable."""
        self._alarm.clear()
        self.instance.endpoint = None

    def wake(self) -> None:
        """Look soon at what is to be done."""
        self._alarm.set(self.instance.around.clock.now + self.instance.chance.below(POLL))

    def switch(self, world: World) -> None:
        """Take over a version of the catalog."""
        self.node.switch(world)
        self.wake()

    # --- where bodies are read again (Bodies) ----------------------------------------------------

    def command(self, position: int) -> Command:
        """Read a statement again."""
        return read_command(self.instance.topics.cmd[position])

    def message(self, position: int) -> Message:
        """Read a frame again."""
        return read_message(self.instance.topics.inbox[position])

    # --- a turn ----------------------------------------------------------------------------------

    @property
    def _caught_up(self) -> bool:
        """Tell whether the backlog of the start is applied: timers must wait for that."""
        return all(p >= end for p, end in zip(self._positions, self._backlog, strict=True))

    def _turn(self) -> None:
        node, now = self.node, self.instance.now
        ends = self._choose_ends()
        timers, due = self._caught_up, node.next_due
        wanted = timers and (node.has_probes or (due is not None and due <= now))
        if ends == self._positions and not wanted:
            self._sleep()
            return
        if due is not None and due <= now:
            node.left_out = max(node.left_out, self.instance.forwarded[0])
        batch = Batch()
        try:
            tx = node.begin(self, now, timers=timers)
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

    def _choose_ends(self) -> list[int]:
        """Return how far this turn reads: everything, or a part as if the rest came later."""
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
        instance, around = self.instance, self.instance.around
        now, out_end = around.clock.now, -1
        for frame in tx.frames:
            instance.topics.out.append(frame_entry(frame, tx.now))
            out_end = len(instance.topics.out) - 1
        for key, sequence, command in batch.accepted:
            broker = tx.machines[key].dialog.broker_id
            around.facts.accept(instance.name, key, broker, sequence, command, now)
        instance.state.write(tx)
        instance.state.positions = Positions(*ends)
        self._positions = ends
        around.invariants.committed(instance, self.node, tx, batch)
        for event in tx.events:
            instance.tell(event)
        for message in tx.queued:
            around.queued(instance.name, message)
        self.node.merge(tx, out_end)
        if out_end >= 0:
            instance.wake_forwarder()

    def _sleep(self) -> None:
        """Wake up when there is more to read, or when the next timer is due."""
        if any(p < len(t) for p, t in zip(self._positions, self._topics, strict=True)):
            self.wake()
        due = self.node.next_due
        if due is not None and self._caught_up:
            self._alarm.set(self.instance.instant(due))
