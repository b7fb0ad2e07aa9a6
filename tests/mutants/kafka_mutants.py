"""Lines of ``kafka`` and ``workers``, each with a fault, and the tests that fail then."""

from __future__ import annotations

from dataclasses import dataclass

from tests.mutants.mutants import Mutant


@dataclass(frozen=True, slots=True)
class KafkaMutant(Mutant):
    """A fault, and the files below ``tests`` in which a test must fail, apart by spaces."""

    tests: str


_TRANSACTIONS = "workers/endpoint/transactions.py"
_APPLYING = "workers/endpoint/applying.py"
_PARTITION = "workers/endpoint/partition.py"
_ALLOWANCE = "workers/endpoint/allowance.py"
_ASSIGNMENT = "workers/endpoint/assignment.py"
_RESTORE = "workers/endpoint/restore.py"
_INPUTS = "workers/endpoint/inputs.py"
_OUTPUT = "workers/endpoint/output.py"
_FORWARDER = "workers/forwarder/worker.py"
_DELIVERY = "workers/forwarder/delivery.py"
_TRANSIT = "workers/forwarder/transit.py"
_SLOT = "workers/slot.py"
_READER = "kafka/reader.py"
_PATIENCE = "kafka/patience.py"
_CLUSTER = "kafka/cluster.py"
_TRANSACTOR = "kafka/transactor.py"

MUTANTS = (
    # --- transactions
    KafkaMutant(
        "send the offsets of one input",
        _TRANSACTIONS,
        "            for part in parts\n            for topic in self._inputs\n",
        "            for part in parts\n            for topic in self._inputs[:1]\n",
        "workers/test_fencing.py",
    ),
    KafkaMutant(
        "send no offsets",
        _TRANSACTIONS,
        "            self._send_offsets(parts, member)\n"
        "            self._guard(lambda: self._producer.commit_transaction(15))\n",
        "            self._guard(lambda: self._producer.commit_transaction(15))\n",
        "workers/test_fencing.py",
    ),
    KafkaMutant(
        "ask at the commit who one is",
        _APPLYING,
        "[one.part for one in applied], self._member)",
        "[one.part for one in applied], self._consumer.consumer_group_metadata())",
        "workers/test_fencing.py",
    ),
    KafkaMutant(
        "take a commit that timed out for an abort",
        _TRANSACTIONS,
        "                if not cause.retriable():\n",
        "                if True:\n",
        "workers/test_transactions.py",
    ),
    KafkaMutant(
        "take an abort for a refusal",
        _TRANSACTIONS,
        "            elif cause.txn_requires_abort():\n",
        "            elif False:\n",
        "workers/test_transactions.py",
    ),
    KafkaMutant(
        "leave a transaction open that has failed",
        _TRANSACTIONS,
        "        self._guard(self._abort_or_begin_anew)\n",
        "        pass\n",
        "workers/test_transactions.py",
    ),
    KafkaMutant(
        "take an abort that came too early for fencing",
        _TRANSACTIONS,
        "if error.args[0].code() != KafkaError.INVALID_TXN_STATE:",
        "if error.args[0].code():",
        "workers/test_poison.py",
    ),
    KafkaMutant(
        "wait for a worker that waits for ever",
        "workers/process.py",
        "            if control.failure is not None:\n",
        "            if False:\n",
        "workers/test_stopping.py",
    ),
    KafkaMutant(
        "go on with a client that is stuck",
        _TRANSACTIONS,
        "            self._begin_anew()\n            return None\n",
        "            return None\n",
        "workers/test_transactions.py",
    ),
    # --- applying
    KafkaMutant(
        "apply what is read twice",
        _APPLYING,
        "        if offset >= next_of[topic]:\n",
        "        if True:\n",
        "workers/test_partitions.py workers/test_transactions.py workers/test_fencing.py",
    ),
    KafkaMutant(
        "read on after an abort",
        _APPLYING,
        "                self._seek_back(one.owned)\n",
        "                pass\n",
        "workers/test_transactions.py",
    ),
    KafkaMutant(
        "halve nothing after an abort",
        _APPLYING,
        "                one.owned.allowance.halve()\n",
        "                pass\n",
        "workers/test_transactions.py",
    ),
    KafkaMutant(
        "condemn a whole batch",
        _APPLYING,
        "        halves = work.halves()\n",
        "        halves = None\n",
        "workers/test_transactions.py workers/test_partitions.py",
    ),
    KafkaMutant(
        "a transaction for each partition",
        _APPLYING,
        "in self._together(todo) if len(todo) > 1 else todo:",
        "in todo:",
        "workers/test_partitions.py",
    ),
    KafkaMutant(
        "fail with one partition",
        _APPLYING,
        "                failed.append((owned, work))\n",
        "                raise\n",
        "workers/test_partitions.py",
    ),
    KafkaMutant(
        "lose records for which there is no room",
        _APPLYING,
        "            one.owned.put_back(one.left)\n",
        "            pass\n",
        "workers/test_transactions.py",
    ),
    KafkaMutant(
        "try what is parked at once",
        _APPLYING,
        ", parked=one.parked)",
        ")",
        "workers/test_timers.py",
    ),
    # --- a partition
    KafkaMutant(
        "let timers run before the backlog",
        _PARTITION,
        "        if not self.caught_up:\n            return []\n",
        "",
        "workers/test_restore.py",
    ),
    KafkaMutant(
        "wait for a record where a marker stands",
        _PARTITION,
        "            self.backlog.pop(topic, None)\n",
        "            pass\n",
        "workers/test_restore.py",
    ),
    KafkaMutant(
        "forget keys before what is unread",
        _PARTITION,
        "        if max(self.positions[topic], self.reached.get(topic, 0)) < end:\n"
        "            return False\n",
        "",
        "workers/test_late.py",
    ),
    KafkaMutant(
        "let a new catalog wake nothing",
        _PARTITION,
        "        self.arm(self.parked)\n        self.parked.clear()\n",
        "        self.parked.clear()\n",
        "workers/test_timers.py",
    ),
    KafkaMutant(
        "hold what is new back",
        _PARTITION,
        "return Work(messages, due, self.probes, opens=False), Work(room=room, opens=False)",
        "return None",
        "workers/test_transactions.py workers/test_partitions.py",
    ),
    KafkaMutant(
        "never take on more again",
        _ALLOWANCE,
        "self.records + self.records // 8 + 1)",
        "self.records)",
        "workers/test_backlog.py",
    ),
    # --- restoring
    KafkaMutant(
        "believe the group alone",
        _RESTORE,
        "for n in (state, committed) if",
        "for n in (committed,) if",
        "workers/test_restore.py",
    ),
    KafkaMutant(
        "believe the state alone",
        _RESTORE,
        "for n in (state, committed) if",
        "for n in (state,) if",
        "workers/test_restore.py",
    ),
    KafkaMutant(
        "go on where the log begins",
        _RESTORE,
        "    if low > position:\n",
        "    if False:\n",
        "workers/test_restore.py",
    ),
    KafkaMutant(
        "read the state to the last stable offset",
        _RESTORE,
        "        while self._read < end:\n",
        "        while not self.at_end:\n",
        "workers/test_restore.py",
    ),
    KafkaMutant(
        "say nothing of lost bodies",
        _RESTORE,
        "        if count:\n",
        "        if False:\n",
        "workers/test_restore.py",
    ),
    KafkaMutant(
        "skip state that cannot be read",
        _RESTORE,
        'raise SurroundingsError(f"{self} cannot be understood: {error}.") from error',
        "continue",
        "workers/test_schemas.py",
    ),
    KafkaMutant(
        "believe that all copies have left",
        _ASSIGNMENT,
        "        endpoint.dialogs.last_copy = out_end - 1\n",
        "        endpoint.dialogs.last_copy = -1\n",
        "workers/test_retry.py",
    ),
    KafkaMutant(
        "believe that the forwarder has passed all",
        _ASSIGNMENT,
        "max(endpoint.left_out, offsets[owned.number])",
        "2**62",
        "workers/test_retry.py",
    ),
    KafkaMutant(
        "take inputs that are not counted alike",
        _ASSIGNMENT,
        "            if topics != set(self._inputs):\n",
        "            if False:\n",
        "workers/test_partitions.py",
    ),
    # --- what is read and written
    KafkaMutant(
        "apply a record wherever it lies",
        _INPUTS,
        "        if self.partitions > 1:\n",
        "        if False:\n",
        "workers/test_partitions.py",
    ),
    KafkaMutant(
        "apply what was moved once more",
        _INPUTS,
        "        if is_moved(headers):\n",
        "        if False:\n",
        "workers/test_trimming.py",
    ),
    KafkaMutant(
        "pass over a statement in an unknown schema",
        _INPUTS,
        "if isinstance(error, UnknownSchemaError) and message.topic() == self.inputs.cmd:",
        "if False:",
        "workers/test_schemas.py",
    ),
    KafkaMutant(
        "refuse a statement without an answer",
        _INPUTS,
        "        if command.reply_to is not None:\n",
        "        if False:\n",
        "workers/test_transactions.py",
    ),
    KafkaMutant(
        "read any number of bodies",
        _INPUTS,
        "        if size > BYTES and len(positions) > 1:\n",
        "        if False:\n",
        "workers/test_backlog.py",
    ),
    KafkaMutant(
        "read bodies in any order",
        _INPUTS,
        "    for position in sorted(positions):\n",
        "    for position in sorted(positions, key=lambda p: p * 7919 % 1009):\n",
        "workers/test_backlog.py",
    ),
    KafkaMutant(
        "write no positions",
        _OUTPUT,
        "POSITIONS_KEY, encode_positions(positions)",
        "POSITIONS_KEY, None",
        "workers/test_restore.py",
    ),
    KafkaMutant(
        "write a message from the future",
        _OUTPUT,
        "            if not 0 <= at <= tx.now:\n",
        "            if False:\n",
        "workers/test_hostile.py",
    ),
    KafkaMutant(
        "forget where the last copy is",
        _OUTPUT,
        "            self._out_ends[message.partition() or 0] = message.offset() or 0\n",
        "            pass\n",
        "workers/test_retry.py",
    ),
    # --- the forwarder
    KafkaMutant(
        "commit what is not confirmed",
        _FORWARDER,
        "        if not is_confirmed:\n            return\n",
        "",
        "workers/test_outage.py workers/test_forwarding.py",
    ),
    KafkaMutant(
        "wait for a commit",
        _FORWARDER,
        "            if not self._committing.call(commit, timeout):\n",
        "            if commit() is None:\n",
        "workers/test_outage.py",
    ),
    KafkaMutant(
        "begin at the end without offsets",
        _FORWARDER,
        "                partition.offset = _BEGINNING\n",
        "                partition.offset = -1\n",
        "workers/test_forwarding.py workers/test_late.py",
    ),
    KafkaMutant(
        "drop a copy that timed out",
        _DELIVERY,
        "            if is_passing(error) and not error.fatal():\n",
        "            if False:\n",
        "workers/test_outage.py",
    ),
    KafkaMutant(
        "let copies age in the client",
        _DELIVERY,
        ", message_timeout_ms=0",
        "",
        "workers/test_outage.py",
    ),
    KafkaMutant(
        "end for a copy that Kafka refuses",
        _DELIVERY,
        "        if error.fatal():\n            log",
        "        if True:\n            log",
        "workers/test_forwarding.py",
    ),
    KafkaMutant(
        "end for a copy that cannot be handled",
        _TRANSIT,
        "            except (HoplineError, KafkaException):\n",
        "            except (HoplineError, KafkaException, ArithmeticError):\n",
        "workers/test_hostile.py",
    ),
    # --- slots, and Kafka's clients
    KafkaMutant(
        "begin anew where another works",
        _SLOT,
        "        return not control.has_rival(self.sign)\n",
        "        return True\n",
        "workers/test_slot.py",
    ),
    KafkaMutant(
        "leave where nobody else works",
        _SLOT,
        "                if soon or not self._is_alone(control, stop):\n",
        "                if True:\n",
        "workers/test_slot.py",
    ),
    KafkaMutant(
        "take what was read before a jump",
        _READER,
        "            self._read.clear()\n        return self._consumer\n",
        "        return self._consumer\n",
        "kafka/test_reader.py",
    ),
    KafkaMutant(
        "cache without a bound",
        _READER,
        "        while self._size > self._limit:\n",
        "        while False:\n",
        "kafka/test_reader.py",
    ),
    KafkaMutant(
        "read what is not committed",
        _CLUSTER,
        '"isolation.level": "read_committed"',
        '"isolation.level": "read_uncommitted"',
        "workers/test_fencing.py workers/test_acknowledge.py",
    ),
    KafkaMutant(
        "wait for ever for a call",
        _PATIENCE,
        "        failed = caller.ended.get(timeout=seconds)\n",
        "        failed = caller.ended.get(timeout=30 * seconds)\n",
        "kafka/test_patience.py",
    ),
    KafkaMutant(
        "go on with a stuck transactor",
        _TRANSACTOR,
        "self._begin_anew()  # which ends what was open: nothing of it has happened",
        "pass",
        "kafka/test_transactor.py",
    ),
    # --- other clusters
    KafkaMutant(
        "take what another cluster wrote for one's own",
        _TRANSIT,
        "writer = self._writers.get(message.topic())",
        "writer = None",
        "workers/test_ingress.py",
    ),
    KafkaMutant(
        "read no topic of a cluster that comes later",
        _FORWARDER,
        "if self._transit.follow_catalog() and self._inputs() != self._reads:",
        "if self._transit.follow_catalog() and not self._reads:",
        "workers/test_ingress.py",
    ),
)
