"""Faust's driver for Kafka (aiokafka), adapted to the guarantees of an agent on a queue.

It differs in eight points. The driver reads committed records only: Faust 0.15.3 also reads aborted
transactions unless it commits in transactions itself, which fails on a rebalance. Commands use an
idempotent producer. A message of a queue counts as done when its agent reports it. Faust would also
count messages that it skips in a rebalance or whose agent was cancelled, and would commit past
them. A message is committed after the table rows that it changed: Faust waits 0.1 s for the rows,
and only warns if Kafka rejects a row. A :class:`~streams.agents.note.Note` is committed with a
queue's offset. If Kafka has lost an offset, messages are not read again
(:mod:`streams.client.begin`). Members check for unassigned partitions, and for topics of tables
that are not known yet (:mod:`streams.agents.consumer_thread`).
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, cast

from faust.transport.drivers import aiokafka
from faust.types import TP, Message
from mode.services import WaitResults

from streams.agents.connected import ConnectedApp
from streams.agents.consumer_thread import ConsumerThread
from streams.agents.dialog import NotConfirmedError
from streams.agents.note import Note
from streams.agents.polls import WokenConsumer
from streams.agents.producer import Producer
from streams.agents.started_coroutine import Begun
from streams.client.begin import Beginning
from streams.errors import HoplineError
from streams.kafka import (
    NO_TOPIC,
    KafkaException,
    Returning,
    find_topic_id,
    read_notes,
)

log = logging.getLogger("hopline.agents")
Noted = Mapping[tuple[str, int], tuple[int, str]]
"""Committed offsets with their notes, by topic and partition."""


class Consumer(WokenConsumer):
    """Commit messages of ``queues`` only after :meth:`finish`, and other messages as Faust does.

    ``topics`` contains the ids of the queues' topics when first seen. ``changed`` contains the
    topics whose id differed at the last assignment; deleting a topic triggers a rebalance.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self.queues: set[str] = set()
        self.notes: dict[TP, Note] = {}
        self.topics: dict[str, uuid.UUID] = {}
        self.changed: set[str] = set()
        self._finished: dict[TP, int] = {}
        self._rollbacks: dict[TP, int] = {}
        self._noted: Noted = {}
        self._beginnings: dict[str, Beginning] = {}
        self._reached: dict[TP, int] = {}
        self._new: set[TP] = set()
        self._held: set[TP] = set()
        self._wanted: set[TP] = set()
        self._seeking = asyncio.Lock()
        self._has_joined = False
        super().__init__(*args, **options)
        app = cast(ConnectedApp, self.app)
        self._returning = Returning(app.cluster, app.conf.id, app.conf.consumer_group_instance_id)

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def wait_first(self, *waits: Any, timeout: Any = None) -> WaitResults:
        """Wait as Faust does, but without tasks for coroutines that finish immediately.

        Faust delivers each message in a task, with three tasks that end the wait if the agent's
        buffer is full. Most messages are accepted immediately; without the tasks, this takes half
        the CPU time.
        """
        first, *others = waits
        if not others or not asyncio.iscoroutine(first):
            return await super().wait_first(*waits, timeout=timeout)
        begun = Begun(first)
        if not begun.done:
            return await super().wait_first(begun.rest(), *others, timeout=timeout)
        for other in others:
            other.close()
        stopped = self._stopped.is_set() or self._crashed.is_set()
        return WaitResults([], [], True) if stopped else WaitResults([first], [begun.result], False)

    def finish(self, message: Message) -> None:
        """Mark a message of a queue as done, with all its effects.

        Messages of a partition are processed in order, so all earlier messages are also done.
        """
        self._finished[message.tp] = message.offset + 1
        self.notes[message.tp] = Note(self.topics[message.topic])
        self._rollbacks.pop(message.tp, None)

    def rollbacks(self, message: Message) -> int:
        """Return how often a queue's next message was rolled back before the assignment."""
        return self._rollbacks.get(message.tp, 0)

    async def roll_back(self, message: Message, count: int) -> None:
        """Commit the rollback count of a message that must still be processed."""
        self.notes[message.tp] = Note(self.topics[message.topic], count)
        await self._commit({message.tp: message.offset})

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        """Commit after Kafka has confirmed earlier changes of tables; return whether it did."""
        try:
            settled = await cast(Producer, self.app.producer).settle()
        except NotConfirmedError as error:
            await self.crash(error)
            return False
        done = settled and await self._noted_down(offsets) and await super()._commit(offsets)
        if done:
            self._reached |= {tp: at for tp, at in offsets.items() if tp in self._reached}
        return done

    async def _noted_down(self, offsets: Mapping[TP, int]) -> bool:
        """Record, before a commit, that the group reads the queue; return ``False`` on failure."""
        reached = self._reached
        further = [tp for tp, at in offsets.items() if tp in reached and at > reached[tp]]
        if not await self._pinned(self._new.intersection(further)):
            return False
        try:
            for topic in {tp.topic for tp in further}:
                positions = {tp.partition: reached[tp] for tp in further if tp.topic == topic}
                await asyncio.to_thread(self._beginnings[topic].note, positions)
        except (HoplineError, KafkaException) as error:
            log.warning("%s: nothing was committed: %s", self.app.conf.id, error)
            return False
        return True

    async def _pinned(self, new: set[TP]) -> bool:
        """Commit the start positions of ``new`` partitions; return ``False`` on failure."""
        if new:
            for tp in new:
                self.notes.setdefault(tp, Note(self.topics[tp.topic]))
            if not await super()._commit({tp: self._reached[tp] for tp in new}):
                return False
            self._new -= new
        return True

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Read committed offsets of queues; do not read messages before :meth:`perform_seek`.

        Faust resumes partitions shortly before it seeks to the committed offsets.
        """
        if self.queues:
            try:
                found, self._noted = await asyncio.to_thread(self._ask)
                begun = await asyncio.to_thread(self._begun, found, self._of_queues(assigned))
            except (HoplineError, KafkaException) as error:  # aiokafka would log it and continue
                await self.crash(error)
                return
            self._reached |= begun
            self._new |= {tp for tp, at in begun.items() if at != self._committed_at(tp, found)}
            self.topics = {**found, **self.topics}
            self.changed = {topic for topic, id in self.topics.items() if found[topic] != id}
        self._held, self._wanted = self._of_queues(assigned), set()
        self._rollbacks = {tp: self._note(tp).rollbacks for tp in self._held}
        await super().on_partitions_assigned(assigned, generation_id)
        self._has_joined = True
        await self.join_again_if_idle()

    async def join_again_if_idle(self) -> None:
        """Request a rebalance if a queue is unassigned. Most calls do nothing."""
        due = self._has_joined and self._returning.is_due  # most calls need no thread
        if due and await asyncio.to_thread(self._returning.finds_idle, self.queues):
            cast(ConsumerThread, self._thread).join_again()

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """Resume partitions; partitions that wait for :meth:`perform_seek` resume later."""
        self._wanted |= self._held.intersection(tps)
        super().resume_partitions(set(tps) - self._held)

    async def perform_seek(self) -> None:
        """Seek to the committed offsets, or to the beginning if the topic was recreated."""
        async with self._seeking:
            active, self._held = self._get_active_partitions(), self._of_queues(self.assignment())
            self._wanted |= active & self._held
            active -= self._held
            await super().perform_seek()
            for tp in self._held:
                if self._note(tp).topic not in (None, self.topics[tp.topic]):
                    self._committed_offset[tp], self._rollbacks[tp] = None, 0
                if not self._committed_offset[tp] or tp in self._new:
                    await self.seek(tp, self._reached.get(tp, 0))
            await self._pinned(self._new & self._held)
            wanted, self._wanted, self._held = self._wanted & self._held, set(), set()
            super().resume_partitions(wanted)

    def _of_queues(self, tps: Iterable[TP]) -> set[TP]:
        return {tp for tp in tps if tp.topic in self.queues}

    def _note(self, tp: TP) -> Note:
        """Return the note of the committed offset of a queue."""
        said = self._noted.get((tp.topic, tp.partition), (0, ""))[1]
        return self.notes.get(tp) or Note.decode(said)

    def _committed_at(self, tp: TP, ids: Mapping[str, uuid.UUID]) -> int:
        """Return the committed offset of a queue, or -1 if this topic has none."""
        at, said = self._noted.get((tp.topic, tp.partition), (-1, ""))
        return at if Note.decode(said).topic in (None, ids[tp.topic]) else -1

    def _begun(self, ids: Mapping[str, uuid.UUID], assigned: set[TP]) -> dict[TP, int]:
        """Return the start offsets of queues; raises PositionLostError.

        Recreated topics are left out, because the process exits, and its commits and records until
        then belong to the old topic.
        """
        app = cast(ConnectedApp, self.app)
        found: dict[TP, int] = {}
        known = {topic: self.topics.get(topic, id) for topic, id in ids.items() if id != NO_TOPIC}
        for topic in {tp.topic for tp in assigned if known.get(tp.topic) == ids[tp.topic]}:
            beginning = self._beginnings.setdefault(
                topic, Beginning(app.cluster, app.instance, topic, app.conf.id, app.begin)
            )
            mine = {tp.partition: tp for tp in assigned if tp.topic == topic}
            at = beginning.positions({p: self._committed_at(tp, ids) for p, tp in mine.items()})
            found |= {tp: at[p] for p, tp in mine.items()}
        return found

    def _ask(self) -> tuple[dict[str, uuid.UUID], Noted]:
        app = cast(ConnectedApp, self.app)
        ids = {topic: find_topic_id(app.cluster, topic) for topic in self.queues}
        return ids, read_notes(app.cluster, app.conf.id, list(self.queues))

    def _new_offset(self, tp: TP) -> int | None:
        """Return the offset to commit; ``None`` if unchanged."""
        if tp.topic not in self.queues:
            return super()._new_offset(tp)
        self._acked[tp].clear()  # only this consumer empties the set
        self._acked_index[tp].clear()
        return self._finished.get(tp)

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Forget revoked partitions."""
        for tp in revoked:
            self._finished.pop(tp, None)
            self.notes.pop(tp, None)
            self._reached.pop(tp, None)
            self._new.discard(tp)
        await super().on_partitions_revoked(revoked)


class Transport(aiokafka.Transport):
    """The driver that replaces Faust's own."""

    Consumer = Consumer
    Producer = Producer


def consumer_of(app: ConnectedApp) -> Consumer:
    """Return an application's consumer, cast to this driver's class."""
    return cast(Consumer, app.consumer)
