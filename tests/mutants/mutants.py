"""Lines of ``protocol`` and ``node``, each with a plausible fault."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: in this file, the only place with this text has another text."""

    name: str
    file: str
    text: str
    instead: str

    def mutated(self, text: str) -> str:
        """Return the file's text with the fault."""
        found = text.count(self.text)
        assert found == 1, (
            f"{self.file} has {found} places with {self.text!r}: "
            f"write the mutant '{self.name}' anew for what stands there now"
        )
        return text.replace(self.text, self.instead)

    def apply(self, source: Path) -> None:
        """Put the fault into a copy of the source."""
        file = source / self.file
        file.write_text(self.mutated(file.read_text(encoding="utf-8")), encoding="utf-8")


_MACHINE = "protocol/machine.py"
_SENDING = "protocol/sending.py"
_RECEIVING = "protocol/receiving.py"
_LOCK = "protocol/lock.py"
_PARKING = "protocol/parking.py"
_ENDING = "protocol/ending.py"
_DIALOG = "protocol/dialog.py"
_COMMITTED = "node/endpoint/committed.py"
_MERGING = "node/endpoint/endpoint.py"
_FORWARDER = "node/forwarder/decide.py"
_RECEPTION = "node/endpoint/accept_message.py"

MUTANTS = (
    # --- the lock
    Mutant(
        "forget the lock",
        _LOCK,
        "dialog.far_broker, dialog.locked, dialog.confirmed = broker, True, True",
        "dialog.confirmed = True",
    ),
    Mutant(
        "lock on messages only",
        _LOCK,
        "            self._lock(broker)\n            return True",
        "            header is not None and self._lock(broker)\n            return True",
    ),
    Mutant(
        "accept another broker's frame",
        _LOCK,
        "if dialog.is_initiator and not dialog.locked and dialog.far_broker is None:",
        "if dialog.is_initiator:",
    ),
    # --- what is stored, and what is said about it
    Mutant(
        "acknowledge what was seen instead of what is stored",
        _RECEIVING,
        "Ack(sequence, highest,",
        "Ack(highest + 1, highest,",
    ),
    Mutant(
        "acknowledge before storing",
        _RECEIVING,
        "        dialog.held[header.at] = (position, header.fragments)\n",
        "        dialog.received = header.after\n",
    ),
    Mutant(
        "skip the duplicate check",
        _MACHINE,
        "elif self._receiver.is_duplicate(message):",
        "elif False:",
    ),
    Mutant(
        "take a duplicate for one only below what is stored in order",
        _RECEIVING,
        "return at < self.dialog.received or at in self.dialog.held",
        "return at in self.dialog.held",
    ),
    Mutant(
        "do not acknowledge a duplicate again",
        _MACHINE,
        "            self.ending.repeat_refusal(message)\n            self._owe(message)\n",
        "            self.ending.repeat_refusal(message)\n",
    ),
    Mutant(
        "lose a fragment",
        _RECEIVING,
        "                dialog.partial.append(position)\n",
        "",
    ),
    Mutant(
        "deliver what was held twice",
        _RECEIVING,
        "            del dialog.held[dialog.received]\n",
        "            dialog.held.get(dialog.received)\n",
    ),
    Mutant(
        "forget that a run of what was held goes on",
        _COMMITTED,
        "if continues and self._accepts(dialog):",
        "if False:",
    ),
    Mutant(
        "park without end",
        _PARKING,
        "return not parked or len(parked) + fragments <= window",
        "return True",
    ),
    Mutant(
        "drop parked messages",
        _PARKING,
        "            self.dialog.parked += [(sequence, position) for position in positions]\n",
        "            self.dialog.parked += []\n",
    ),
    Mutant(
        "deliver parked messages again",
        _PARKING,
        "parked, self.dialog.parked = self.dialog.parked, []",
        "parked = list(self.dialog.parked)",
    ),
    Mutant(
        "do not discard what is held on an error",
        _ENDING,
        "        self.receiver.forget_incomplete()\n        if self.dialog.state is State.ER:\n",
        "        if self.dialog.state is State.ER:\n",
    ),
    # --- sending
    Mutant(
        "reuse a sequence number after a restart",
        _DIALOG,
        "        self.send_sequence += 1\n",
        "        self.send_sequence += self.in_flight >= 0 or self.send_sequence == 0\n",
    ),
    Mutant(
        "forget the chunk of an accepted message",
        _SENDING,
        "self.touched_chunks.add(dialog.remember(position, fragments))",
        "dialog.remember(position, fragments)",
    ),
    Mutant(
        "change a chunk that is shared with what is committed",
        _SENDING,
        "            self.dialog.chunks[number] = chunk.copy()\n",
        "            pass\n",
    ),
    Mutant(
        "forget the chunks of acknowledged messages",
        _SENDING,
        "        self.touched_chunks.update(dialog.forget_acknowledged())\n"
        "        if not dialog.status:\n",
        "        dialog.forget_acknowledged()\n        if not dialog.status:\n",
    ),
    Mutant(
        "send without regard to the window",
        _DIALOG,
        "range(min(most, self.window(limits) - self.count_in_flight()))",
        "range(most)",
    ),
    Mutant(
        "never retry",
        _SENDING,
        "if dialog.retry_at is None and dialog.in_flight:",
        "if dialog.retry_at is None and not dialog.in_flight:",
    ),
    Mutant(
        "retry while the last copy is ahead",
        _SENDING,
        "elif dialog.last_copy >= self.left_out:",
        "elif False:",
    ),
    Mutant(
        "do not advance the attempt",
        _SENDING,
        "            dialog.attempt += 1\n",
        "            dialog.attempt += 0\n",
    ),
    Mutant(
        "believe an old acknowledgement",
        _MACHINE,
        "elif ack.next > dialog.acknowledged:",
        "elif ack.next != dialog.acknowledged:",
    ),
    Mutant(
        "take the first acknowledgement for the last",
        _MACHINE,
        "if dialog.all_acknowledged and move_state(dialog, Input.LAST_ACKNOWLEDGED):",
        "if move_state(dialog, Input.LAST_ACKNOWLEDGED):",
    ),
    # --- ending
    Mutant(
        "discard what was sent on every END",
        _ENDING,
        "if with_error:  # U-47",
        "if True:  # U-47",
    ),
    Mutant(
        "an Error that does not skip what was discarded",
        "node/endpoint/effects_to_records.py",
        "return ERROR, Flag.ERROR | Flag.SKIPS, body",
        "return ERROR, Flag.ERROR, body",
    ),
    Mutant(
        "expire early",
        _MACHINE,
        "if dialog.expires_at <= self.now and",
        "if dialog.expires_at <= self.now + 5_000 and",
    ),
    Mutant(
        "forget a closed target at once",
        _ENDING,
        "dialog.forget_at = max(dialog.expires_at, self.now) + limits.late",
        "dialog.forget_at = self.now",
    ),
    # --- the endpoint worker
    Mutant(
        "do not re-arm timers on abort",
        _MERGING,
        "            self.arm(key)\n",
        "            pass\n",
    ),
    Mutant(
        "do not look at what waits after a restart",
        _COMMITTED,
        "        if kept in self._waiting:\n            self._probes[kept] = None\n",
        "        pass\n",
    ),
    Mutant(
        "do not wake who waits for the catalog",
        _COMMITTED,
        "        self._probes.update(dict.fromkeys(self._waiting))\n",
        "",
    ),
    Mutant(
        "forget who has room, but not a turn",
        "node/endpoint/flows.py",
        "            flow.waiting.put(kept, dialog.next_position)\n",
        "            pass\n",
    ),
    # --- what is too late
    Mutant(
        "let a late copy create an endpoint",
        _RECEPTION,
        "        if message.is_late:\n"
        "            return _reject(tx, message, Number.TIME_TO_LIVE_EXCEEDED)\n",
        "",
    ),
    # --- the forwarder
    Mutant(
        "count hops the wrong way",
        _FORWARDER,
        "edited = hop.edited(self.instance, now, self.block(now), spend=True, hide=hide)",
        "edited = hop.edited(self.instance, now, self.block(now), spend=False, hide=hide)",
    ),
    Mutant(
        "ignore the time to live",
        _FORWARDER,
        "        if hop.expired(now):\n"
        "            return self.reject(record, Number.TIME_TO_LIVE_EXCEEDED, now, hop)\n",
        "",
    ),
    Mutant(
        "hold without budget",
        "node/forwarder/holding.py",
        "if self.size + size > self.limit:",
        "if False:",
    ),
    Mutant(
        "keep plans when the catalog changes",
        "node/forwarder/plan_cache.py",
        "        self.plans.clear()\n",
        "",
    ),
)
