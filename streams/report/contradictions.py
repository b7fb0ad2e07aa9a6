"""Decide which reported refusals are valid: those that neither queues nor state contradict.

Many clients may write to `event`, so an event can report a refusal that never happened. A refused
statement has no message in a queue and no number; a statement with a message or a number was
applied.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from streams.report.parts import Ended, Sent

Sender = tuple[str, bool]
"""(instance/database, is initiator)"""


class Contradiction(NamedTuple):
    """A statement that was applied, although an event reports that it was refused."""

    conversation: uuid.UUID
    statement: uuid.UUID


@dataclass(frozen=True, slots=True)
class Evidence:
    """The facts that queues, state and commands of one dialog show, regardless of its events.

    ``numbers`` contains the numbers of the messages in queues, by message id. ``ends``: the sides
    whose EndDialog or Error is in a queue (true: initiator). ``sent``: the number of messages that
    an endpoint's state counts, including its end. ``whole``: the places (instance/database) whose
    ``cmd`` topic still has every command.
    """

    numbers: Mapping[bytes, int]
    ends: Collection[bool]
    sent: Mapping[Sender, int]
    whole: Collection[str]

    def contradicts(self, claimed: set[bytes], statements: Iterable[Sent | Ended]) -> set[bytes]:
        """Return the statements that were applied although events report them as refused."""
        by_sender: defaultdict[Sender, list[Sent | Ended]] = defaultdict(list)
        for statement in statements:
            by_sender[statement.place, statement.from_initiator].append(statement)
        alone = len({place for place, is_initiator in by_sender if not is_initiator}) <= 1
        found: set[bytes] = set()
        for sender, mine in by_sender.items():
            refused = claimed.intersection(each.command_id for each in mine)
            if not refused:
                continue
            sends = [each for each in mine if isinstance(each, Sent) and each.read]
            ends = [each for each in mine if isinstance(each, Ended)]
            found |= {s.command_id for s in sends if s.message_id in self.numbers} & refused
            if sender[1] in self.ends and (sender[1] or alone):
                found |= _first_if_all(ends, refused - found)
            found |= self._counted(sender, sends, ends, refused - found)
        return found & claimed

    def _counted(
        self, sender: Sender, sends: Sequence[Sent], ends: Sequence[Ended], refused: set[bytes]
    ) -> set[bytes]:
        """Return the refused statements that have a number, as state or later messages show."""
        is_whole = sender[0] in self.whole
        between = list(_between(sends, refused, self.numbers, is_whole=is_whole))
        if not is_whole or sender not in self.sent:
            return set(between)
        applied = sum(each.command_id not in refused for each in sends)
        has_ended = any(each.command_id not in refused for each in ends)
        numbers = self.sent[sender] - applied - has_ended
        if numbers <= 0:
            return set()
        doubtful = [each.command_id for each in sends if each.command_id in refused]
        found = set(list(dict.fromkeys([*between, *doubtful]))[:numbers])
        return found if numbers <= len(doubtful) else found | _first_if_all(ends, refused)


def _first_if_all(ends: Sequence[Ended], refused: set[bytes]) -> set[bytes]:
    """Return the first END unless another END was applied; a second END is rightly refused."""
    all_refused = all(each.command_id in refused for each in ends)
    return {each.command_id for each in ends[:1]} if all_refused else set()


def _between(
    sends: Iterable[Sent], refused: set[bytes], numbers: Mapping[bytes, int], *, is_whole: bool
) -> Iterator[bytes]:
    """Yield refused statements that fill a gap in the numbers before a delivered message."""
    expected = 0 if is_whole else None
    doubtful: list[bytes] = []
    for send in sends:
        if send.command_id in refused:
            doubtful.append(send.command_id)
        elif (number := numbers.get(send.message_id)) is not None:
            if expected is not None:
                yield from doubtful[: max(0, number - expected)]
            expected, doubtful = number + 1, []
        elif expected is not None:
            expected += 1
