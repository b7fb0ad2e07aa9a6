"""Lines of Hopline with a fault, and the tests that must then fail, most of them on real Kafka.

Each of the twelve rules of docs/kafka_mapping.md has at least one mutant that breaks it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.mutants.mutants import Mutant


@dataclass(frozen=True, slots=True)
class KafkaMutant(Mutant):
    """A fault, and the files or tests (separated by spaces) in which a test must fail.

    They are below ``tests``. ``rule`` is the number of the rule that it breaks; 0 if it breaks none
    of the twelve.
    """

    tests: str
    rule: int = 0


_TRANSACTIONS = "workers/endpoint/transactions.py"
_APPLYING = "workers/endpoint/commit_work.py"
_APPLY_WORK = "workers/endpoint/apply_work.py"
_PARTITION = "workers/endpoint/partition.py"
_ALLOWANCE = "workers/endpoint/allowance.py"
_ASSIGNMENT = "workers/endpoint/assignment.py"
_RESTORE = "workers/endpoint/restore.py"
_STANDBY = "workers/endpoint/standby.py"
_STALE = "workers/test_standby.py::test_a_stand_by_that_missed_a_deletion_reads_the_state_again"
_INPUTS = "workers/endpoint/inputs.py"
_OUTPUT = "workers/endpoint/output.py"
_ROUNDS = "workers/endpoint/rounds.py"
_FORWARDER = "workers/forwarder/loop.py"
_DELIVERY = "workers/forwarder/local_producer.py"
_PROCESSOR = "workers/forwarder/processor.py"
_OUTCOMES = "workers/forwarder/outcome_writer.py"
_HTTP = "telemetry/http.py"
_SLOT = "workers/slot.py"
_FETCHER = "kafka/fetcher.py"
_PATIENCE = "kafka/patience.py"
_CLUSTER = "kafka/cluster.py"
_TRANSACTOR = "kafka/transactor.py"
_TOPICS = "kafka/compare_topics.py"
_SPECS = "wire/specs.py"
_HEARTBEATS = "workers/control/heartbeats.py"
_WRITER = "workers/control/heartbeat_writer.py"
_REMOTE = "workers/control/remote_watch.py"
_PRESENCE = "wire/heartbeats.py"
_EVOLUTION = "wire/evolution.py"
_CLAIMS = "node/mirroring/claims.py"
_DIALOG = "protocol/dialog.py"
_SENDING = "protocol/sending.py"
_RECEIVING = "protocol/receiving.py"
_MACHINE = "protocol/machine.py"
_LOCK = "protocol/lock.py"
_COMMITTED = "node/endpoint/committed.py"
_RECEPTION = "node/endpoint/accept_message.py"
_TRANSACTION = "node/endpoint/transaction.py"
_FLOWS = "node/endpoint/flows.py"

MUTANTS = (
    # --- transactions
    KafkaMutant(
        "send the offsets of one input",
        _TRANSACTIONS,
        "            for part in parts\n            for topic in self._inputs\n",
        "            for part in parts\n            for topic in self._inputs[:1]\n",
        "workers/test_fencing.py",
        rule=4,
    ),
    KafkaMutant(
        "send no offsets",
        _TRANSACTIONS,
        "            self._send_offsets(parts, member)\n"
        "            self._guard(lambda: self._producer.commit_transaction(15))\n",
        "            self._guard(lambda: self._producer.commit_transaction(15))\n",
        "workers/test_fencing.py",
        rule=4,
    ),
    KafkaMutant(
        "ask at the commit who one is",
        _APPLYING,
        "[one.part for one in applied], self._member)",
        "[one.part for one in applied], self._consumer.consumer_group_metadata())",
        "workers/test_fencing.py",
        rule=4,
    ),
    KafkaMutant(
        "take a commit that timed out for an abort",
        _TRANSACTIONS,
        "                if not cause.retriable():\n",
        "                if True:\n",
        "workers/test_transactions.py",
        rule=4,
    ),
    KafkaMutant(
        "take an abort for a refusal",
        _TRANSACTIONS,
        "            elif cause.txn_requires_abort():\n",
        "            elif False:\n",
        "workers/test_transactions.py",
        rule=4,
    ),
    KafkaMutant(
        "leave a transaction open that has failed",
        _TRANSACTIONS,
        "        self._guard(self._abort_or_begin_anew)\n",
        "        pass\n",
        "workers/test_transactions.py",
        rule=4,
    ),
    KafkaMutant(
        "take an abort that came too early for fencing",
        _TRANSACTIONS,
        "if error.args[0].code() != KafkaError.INVALID_TXN_STATE:",
        "if error.args[0].code():",
        "workers/test_poison.py",
        rule=4,
    ),
    KafkaMutant(
        "wait for a worker that waits for ever",
        "workers/process/worker_threads.py",
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
        rule=4,
    ),
    # --- applying
    KafkaMutant(
        "apply what is read twice",
        _APPLY_WORK,
        "        if offset >= next_of[topic]:\n",
        "        if True:\n",
        "workers/test_partitions.py workers/test_transactions.py workers/test_fencing.py",
        rule=4,
    ),
    KafkaMutant(
        "read on after an abort",
        _APPLYING,
        "                self._seek_back(one.owned)\n",
        "                pass\n",
        "workers/test_transactions.py",
        rule=4,
    ),
    KafkaMutant(
        "halve nothing after an abort",
        _APPLYING,
        "                one.owned.allowance.halve()\n",
        "                pass\n",
        "workers/test_transactions.py",
        rule=4,
    ),
    KafkaMutant(
        "condemn a whole batch",
        _APPLYING,
        "        halves = work.halves()\n",
        "        halves = None\n",
        "workers/test_transactions.py workers/test_partitions.py",
        rule=4,
    ),
    KafkaMutant(
        "a transaction for each partition",
        _APPLYING,
        "in self._together(waiting) if len(todo) > 1 else waiting:",
        "in waiting:",
        "workers/test_partitions.py",
        rule=4,
    ),
    KafkaMutant(
        "a turn without an end",
        _APPLYING,
        "            if time.monotonic() > end:\n",
        "            if False:\n",
        "workers/test_partition.py workers/test_partitions.py",
        rule=4,
    ),
    KafkaMutant(
        "lose records for which there is no time",
        _PARTITION,
        "        self.put_back(work.messages)\n",
        "",
        "workers/test_partition.py workers/test_partitions.py",
        rule=4,
    ),
    KafkaMutant(
        "fail with one partition",
        _APPLYING,
        "is then reported\n                failed.append((owned, work))\n",
        "is then reported\n                raise\n",
        "workers/test_partitions.py",
        rule=4,
    ),
    KafkaMutant(
        "lose records for which there is no room",
        _APPLYING,
        "            one.owned.put_back(one.left)\n",
        "            pass\n",
        "workers/test_transactions.py",
        rule=4,
    ),
    KafkaMutant(
        "try what is parked at once",
        _APPLYING,
        ", parked=one.parked)",
        ")",
        "workers/test_timers.py",
        rule=4,
    ),
    # --- a partition
    KafkaMutant(
        "let timers run before the backlog",
        _PARTITION,
        "        if not self.caught_up:\n            return []\n",
        "",
        "workers/test_partition.py",
        rule=3,
    ),
    KafkaMutant(
        "wait for a record where a marker stands",
        _PARTITION,
        "            self.backlog.pop(topic, None)\n",
        "            pass\n",
        "workers/test_restore.py",
        rule=3,
    ),
    KafkaMutant(
        "forget keys before what is unread",
        _PARTITION,
        "        if max(self.positions[topic], self.reached.get(topic, 0)) < end:\n"
        "            return False\n",
        "",
        "workers/test_late.py",
        rule=11,
    ),
    KafkaMutant(
        "let a new catalog wake nothing",
        _PARTITION,
        "        self.arm(self.parked)\n        self.parked.clear()\n",
        "        self.parked.clear()\n",
        "workers/test_timers.py",
        rule=7,
    ),
    KafkaMutant(
        "hold what is new back",
        _PARTITION,
        "return Work(messages, due, probes, opens=False), Work(room=room, opens=False)",
        "return None",
        "workers/test_transactions.py workers/test_partitions.py",
    ),
    KafkaMutant(
        "never take on more again",
        _ALLOWANCE,
        "return records + records // 8 + 1",
        "return records",
        "workers/test_backlog.py",
    ),
    # --- restoring
    KafkaMutant(
        "believe the group alone",
        _RESTORE,
        "for n in (state, committed) if",
        "for n in (committed,) if",
        "workers/test_restore.py",
        rule=3,
    ),
    KafkaMutant(
        "believe the state alone",
        _RESTORE,
        "for n in (state, committed) if",
        "for n in (state,) if",
        "workers/test_restore.py",
        rule=3,
    ),
    KafkaMutant(
        "go on where the log begins",
        _RESTORE,
        "    if low > position:\n",
        "    if False:\n",
        "workers/test_restore.py",
        rule=3,
    ),
    KafkaMutant(
        "read the state to the last stable offset",
        _RESTORE,
        "        while self._read < end:\n",
        "        while not self.at_end:\n",
        "workers/test_restore.py",
        rule=3,
    ),
    KafkaMutant(
        "say nothing of lost bodies",
        _RESTORE,
        "        if count:\n",
        "        if False:\n",
        "workers/test_restore.py",
        rule=5,
    ),
    KafkaMutant(
        "skip state that cannot be read",
        _RESTORE,
        'raise SurroundingsError(f"{self} cannot be decoded: {error}.") from error',
        "continue",
        "workers/test_schemas.py",
    ),
    KafkaMutant(
        "believe that all copies have left",
        _ASSIGNMENT,
        "        endpoint.dialogs.last_copy = out_end - 1\n",
        "        endpoint.dialogs.last_copy = -1\n",
        "workers/test_retry.py",
        rule=7,
    ),
    KafkaMutant(
        "believe that the forwarder has passed all",
        _ASSIGNMENT,
        "max(endpoint.left_out, offsets[owned.number])",
        "2**62",
        "workers/test_retry.py",
        rule=7,
    ),
    KafkaMutant(
        "take inputs that are not counted alike",
        _ASSIGNMENT,
        "            if topics != set(self.inputs):\n",
        "            if False:\n",
        "workers/test_partitions.py",
        rule=2,
    ),
    KafkaMutant(
        "stand by with what was read before an absence",
        _STANDBY,
        "        if not warm[number].confirm():\n",
        "        if not warm[number].confirm() and False:\n",
        _STALE,
        rule=4,
    ),
    KafkaMutant(
        "confirm nothing while standing by",
        _STANDBY,
        "            self._confirm(assignment)\n",
        "",
        "workers/test_standby.py::test_what_is_read_all_the_time_stays_good",
        rule=4,
    ),
    KafkaMutant(
        "take over with what was read before an absence",
        _ASSIGNMENT,
        "        if not replay.is_complete:\n",
        "        if False:\n",
        _STALE,
        rule=4,
    ),
    KafkaMutant(
        "believe an end that was reached too late",
        "workers/endpoint/completeness.py",
        " and not self.is_doubtful(at):",
        ":",
        "workers/test_completeness.py",
        rule=4,
    ),
    KafkaMutant(
        "wait for no heartbeat that shows the time",
        "workers/control/heartbeat_writer.py",
        "        while self._acknowledged < since:\n",
        "        while False:\n",
        "workers/test_clock.py",
        rule=4,
    ),
    # --- the catalog
    KafkaMutant(
        "never read the catalog again",
        "kafka/catalog.py",
        'return self.refused not in ("", self._reread_for)',
        "return False",
        "workers/test_catalog.py client/test_queue_settings.py",
    ),
    KafkaMutant(
        "read the catalog again and again",
        "kafka/catalog.py",
        'return self.refused not in ("", self._reread_for)',
        'return self.refused != ""',
        "workers/test_catalog.py client/test_queue_settings.py",
    ),
    KafkaMutant(
        "end a wait for the catalog with a doubtful version",
        "workers/control/catalog_follower.py",
        "        if not self.is_doubtful:\n",
        "        if True:\n",
        "workers/test_catalog.py::test_a_doubtful_version_ends_no_wait",
    ),
    KafkaMutant(
        "use the versions of a catalog that is being read again",
        "workers/control/catalog_follower.py",
        "            self._reread.read(message)\n            return False\n",
        "            self._state = self._reread\n",
        "workers/test_catalog.py::test_a_doubtful_version_ends_no_wait",
    ),
    KafkaMutant(
        "let the monitor keep objects that were removed",
        "monitor/look.py",
        "        if self._catalog.is_doubtful:\n",
        "        if False:\n",
        "monitor/test_state.py::test_who_missed_a_removal_reads_the_catalog_again",
    ),
    # --- what is read and written
    KafkaMutant(
        "apply a record wherever it lies",
        _INPUTS,
        "        if self.partitions > 1:\n",
        "        if False:\n",
        "workers/test_partitions.py",
        rule=2,
    ),
    KafkaMutant(
        "apply what was moved once more",
        _INPUTS,
        "        if is_moved(headers):\n",
        "        if False:\n",
        "workers/test_trimming.py",
        rule=5,
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
        rule=12,
    ),
    KafkaMutant(
        "read any number of bodies",
        _INPUTS,
        "is_too_much = fetcher.bytes_returned > most or fetcher.bytes_read > reach",
        "is_too_much = False",
        "workers/test_backlog.py",
        rule=4,
    ),
    KafkaMutant(
        "read bodies in any order",
        _INPUTS,
        "        for position in sorted(positions):\n",
        "        for position in sorted(positions, key=lambda p: p * 7919 % 1009):\n",
        "workers/test_backlog.py",
        rule=5,
    ),
    KafkaMutant(
        "write no positions",
        _OUTPUT,
        "POSITIONS_KEY, encode_positions(positions)",
        "POSITIONS_KEY, None",
        "workers/test_restore.py",
        rule=3,
    ),
    KafkaMutant(
        "write a message from the future",
        _OUTPUT,
        "            if not 0 <= at <= tx.now:\n",
        "            if False:\n",
        "workers/test_hostile.py::test_a_message_from_another_time_is_delivered_now",
        rule=1,
    ),
    KafkaMutant(
        "forget where the last copy is",
        _OUTPUT,
        "            self._out_ends[message.partition() or 0] = message.offset() or 0\n",
        "            pass\n",
        "workers/test_retry.py",
        rule=7,
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
        "read a batch before Kafka has the previous one",
        _FORWARDER,
        "take(self._consumer, self._wait()) if self._may_read() else []",
        "take(self._consumer, self._wait())",
        "workers/test_forwarding.py",
    ),
    KafkaMutant(
        "wait for a batch for ever",
        _FORWARDER,
        "        if not self._local_producer.has_written(POLL) and now < self._read_on_at:\n",
        "        if not self._local_producer.has_written(POLL):\n",
        "workers/test_forwarding.py",
    ),
    KafkaMutant(
        "produce a round before Kafka has the previous one",
        _OUTPUT,
        "            self._producer.flush(max(0, end - time.monotonic()))\n",
        "        self._producer.flush(max(0, end - time.monotonic()))\n",
        "workers/test_rounds.py",
    ),
    KafkaMutant(
        "all records of a transaction in one round",
        _ROUNDS,
        "        if filled and filled + size > ROUND:\n",
        "        if False:\n",
        "workers/test_rounds.py",
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
        _OUTCOMES,
        "        if isinstance(error, (HoplineError, KafkaException)):\n",
        "        if isinstance(error, (HoplineError, KafkaException, ArithmeticError)):\n",
        "workers/test_failing_records.py",
    ),
    KafkaMutant(
        "blame a record for an error of the surroundings",
        _OUTCOMES,
        "        if isinstance(error, (HoplineError, KafkaException)):\n",
        "        if False:\n",
        "workers/test_failing_records.py",
    ),
    KafkaMutant(
        "end for a buffered copy that cannot be decided again",
        _PROCESSOR,
        "                self._outcomes.write_failed(held.message, error)\n",
        "                raise error\n",
        "workers/test_failing_records.py",
    ),
    KafkaMutant(
        "end for a returned copy that cannot be handled",
        _PROCESSOR,
        "                self._outcomes.write_failed(copy.message, error)\n",
        "                raise error\n",
        "workers/test_failing_records.py",
    ),
    KafkaMutant(
        "evaluate the same mirrored routes again after an error",
        _PROCESSOR,
        "            self._principals.forget()\n",
        "            pass\n",
        "workers/test_failing_records.py",
    ),
    # --- what fails alone, at an endpoint
    KafkaMutant(
        "end for an input whose refusal fails",
        _APPLYING,
        "error.args[0].code() not in REFUSED:\n",
        "error.args[0].code() not in REFUSED or True:\n",
        "workers/test_failing_records.py",
        rule=4,
    ),
    KafkaMutant(
        "skip an input without an answer because Kafka refuses to write",
        _APPLYING,
        "            if isinstance(error, KafkaException) and",
        "            if False and",
        "workers/test_failing_records.py",
        rule=4,
    ),
    KafkaMutant(
        "decode an input again that can only be reported",
        _INPUTS,
        "        if refusal.bare:\n",
        "        if False:\n",
        "workers/test_hostile.py::test_what_fails_for_no_known_reason_costs_only_itself",
        rule=4,
    ),
    KafkaMutant(
        "end for a body that cannot be moved",
        "workers/endpoint/move_bodies.py",
        "    except Exception:  # nothing",
        "    except MemoryError:  # nothing",
        "workers/test_failing_records.py",
        rule=5,
    ),
    KafkaMutant(
        "go on without Kafka after a failed move",
        "workers/endpoint/move_bodies.py",
        "    except SurroundingsError:\n        raise\n",
        "",
        "workers/test_failing_records.py",
        rule=5,
    ),
    # --- metrics and health over HTTP
    KafkaMutant(
        "answer any number of requests at a time",
        _HTTP,
        "        if len(self._deadlines) >= AT_ONCE:\n",
        "        if False:\n",
        "workers/test_http.py",
    ),
    KafkaMutant(
        "cut a long answer off",
        _HTTP,
        "request.shutdown(socket.SHUT_RD)",
        "request.shutdown(socket.SHUT_RDWR)",
        "workers/test_http.py",
    ),
    # --- slots, and Kafka's clients
    KafkaMutant(
        "take a client for lost while Kafka returns",
        "kafka/lost_brokers.py",
        "            and not self._are_answered(clients)\n",
        "",
        "kafka/test_lost_brokers.py",
    ),
    KafkaMutant(
        "fail for statistics that cannot be read",
        "kafka/statistics.py",
        "        except Exception as error:\n",
        "        except ValueError as error:\n",
        "kafka/test_stalled_fetch.py",
    ),
    KafkaMutant(
        "let the client parse its own statistics",
        _CLUSTER,
        '"stats_cb": StatisticsReader(stats)',
        '"stats_cb": lambda report: stats(__import__("json").loads(report))',
        "workers/test_traffic.py",
    ),
    KafkaMutant(
        "begin anew where another works",
        _SLOT,
        "        return not owners.has_rival(name)\n",
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
        _FETCHER,
        "            self._read.clear()\n        return self._consumer\n",
        "        return self._consumer\n",
        "kafka/test_fetcher.py",
    ),
    KafkaMutant(
        "cache without a bound",
        _FETCHER,
        "        while self._size > self._limit:\n",
        "        while False:\n",
        "kafka/test_fetcher.py",
    ),
    KafkaMutant(
        "take a thousand records before their headers are counted",
        "kafka/taking.py",
        "    while len(taken) < most and room > 0:\n",
        "    while len(taken) < most:\n",
        "kafka/test_taking.py",
    ),
    KafkaMutant(
        "send the whole window again after a refusal",
        _SENDING,
        "max(ack.next, (dialog.refused, 0))",
        "ack.next",
        "protocol/test_sending.py",
    ),
    KafkaMutant(
        "take a refused retry for a refused first copy",
        _SENDING,
        "        if status.attempt == 0 or status.sequence != oldest:\n",
        "        if True:\n",
        "protocol/test_sending.py",
    ),
    KafkaMutant(
        "forget which copies were refused",
        _SENDING,
        "            dialog.refused = min(dialog.refused, status.sequence)\n",
        "            pass\n",
        "protocol/test_sending.py",
    ),
    KafkaMutant(
        "keep the reader of bodies that nobody needs",
        "workers/endpoint/loop.py",
        "                owned.bodies.rest()\n",
        "                pass\n",
        "workers/test_backlog.py",
    ),
    KafkaMutant(
        "read what is not committed",
        _CLUSTER,
        '"isolation.level": "read_committed"',
        '"isolation.level": "read_uncommitted"',
        "workers/test_fencing.py workers/test_acknowledge.py",
        rule=5,
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
        "self._begin_anew()  # this aborts the open transaction, of which nothing took effect",
        "pass",
        "kafka/test_transactor.py",
    ),
    # --- other clusters
    KafkaMutant(
        "watch another cluster no more after an error",
        "workers/control/remote_watch.py",
        "                self._stop.wait(_RETRY)\n",
        "                return\n",
        "workers/test_remote_clusters.py",
    ),
    KafkaMutant(
        "keep to oneself that another cluster is not watched",
        "workers/control/remote_clusters.py",
        "for watch in list(self._watches.values()) if watch.failure)",
        "for watch in ())",
        "workers/test_remote_clusters.py",
    ),
    KafkaMutant(
        "take what another cluster wrote for one's own",
        _PROCESSOR,
        "origin, self._topics.writers.get(message.topic())",
        "origin, None",
        "workers/test_ingress.py",
    ),
    KafkaMutant(
        "read no topic of a cluster that comes later",
        _FORWARDER,
        "if self._processor.follow_catalog() and self._processor.inputs() != self._reads:",
        "if self._processor.follow_catalog() and not self._reads:",
        "workers/test_ingress.py",
    ),
    # --- heartbeats that any client may write, and a catalog that may contain anything
    KafkaMutant(
        "decode a heartbeat of any size",
        _PRESENCE,
        "longest=LONGEST_NAME, largest=LARGEST_HEARTBEAT)",
        "longest=LONGEST_NAME)",
        "wire/test_bounds.py",
    ),
    KafkaMutant(
        "read any number of claims",
        _PRESENCE,
        '    if len(record["roles"]) > MOST_CLAIMS:\n',
        "    if False:\n",
        "wire/test_bounds.py",
    ),
    KafkaMutant(
        "write all claims",
        _PRESENCE,
        " and size <= room:",
        ":",
        "wire/test_heartbeats.py",
    ),
    KafkaMutant(
        "cache heartbeats with many claims",
        _PRESENCE,
        " or len(found.claims) > _FEW:",
        ":",
        "wire/test_heartbeats.py",
    ),
    KafkaMutant(
        "announce any fingerprint",
        _EVOLUTION,
        " or schema_key(schema) != key:",
        ":",
        "wire/test_evolution.py",
    ),
    KafkaMutant(
        "announce any number of schemas",
        _EVOLUTION,
        "for key in known[:MOST_ANNOUNCED])",
        "for key in known)",
        "wire/test_evolution.py",
    ),
    KafkaMutant(
        "announce other versions' schemas before one's own",
        _EVOLUTION,
        "key=lambda key: (key not in ours, key))",
        "key=lambda key: (key in ours, key))",
        "wire/test_evolution.py",
    ),
    KafkaMutant(
        "end if the client refuses a heartbeat for its size",
        _WRITER,
        "            if error.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:\n",
        "            if True:\n",
        "workers/test_heartbeat_writer.py",
    ),
    KafkaMutant(
        "end at a heartbeat that cannot be read",
        _HEARTBEATS,
        "except Exception as error:  # no record may end the thread",
        "except MalformedError as error:  # no record may end the thread",
        "workers/test_heartbeat_bounds.py",
    ),
    KafkaMutant(
        "end the watch at a heartbeat that cannot be read",
        _REMOTE,
        "except Exception as error:  # no record may end the thread",
        "except KafkaException as error:  # no record may end the thread",
        "workers/test_remote_clusters.py",
    ),
    KafkaMutant(
        "keep the claims of any name",
        _HEARTBEATS,
        "        if self._keeps(name):\n            self._claims[name]",
        "        if True:\n            self._claims[name]",
        "workers/test_heartbeat_bounds.py",
    ),
    KafkaMutant(
        "keep the claims of former instances",
        _HEARTBEATS,
        "        if len(self._claims) > len(self._followed) + len(self._instances):",
        "        if False:",
        "workers/test_heartbeat_bounds.py",
    ),
    KafkaMutant(
        "read large heartbeats of any name",
        _HEARTBEATS,
        "        if is_large and not self._is_kept(key):\n",
        "        if False:\n",
        "workers/test_heartbeat_bounds.py",
    ),
    KafkaMutant(
        "read a heartbeat under any key",
        _HEARTBEATS,
        "        if name.encode() != record.key:\n",
        "        if False:\n",
        "workers/test_heartbeat_bounds.py",
    ),
    KafkaMutant(
        "keep any number of living slots",
        "node/liveness/slot_owners.py",
        "        for slot in displaced(seen_at, self.keeps):\n",
        "        for slot in ():\n",
        "node/test_slot_owners.py",
    ),
    KafkaMutant(
        "displace needed slots",
        "node/liveness/slot_owners.py",
        "for name in seen_at if not keeps(name))",
        "for name in seen_at)",
        "node/test_slot_owners.py",
    ),
    KafkaMutant(
        "keep any number of living names",
        "node/liveness/presence.py",
        "        for instance in displaced(self._changed, self._is_needed):\n",
        "        for instance in ():\n",
        "node/test_presence.py",
    ),
    # --- rules that are kept elsewhere: by what topics are like, in node and in protocol
    KafkaMutant(
        "claim the role as the mirror, too",
        _CLAIMS,
        "Claim(broker, mirror.role is Role.PRINCIPAL, mirror.epoch)",
        "Claim(broker, True, mirror.epoch)",
        "node/test_claims.py",
    ),
    KafkaMutant(
        "believe a claim that the catalog does not bear out",
        _CLAIMS,
        "        if mirror is not None and not _is_borne_out(claim, mirror):\n",
        "        if False:\n",
        "node/test_claims.py node/test_mirror.py",
    ),
    KafkaMutant(
        "let statements age",
        _SPECS,
        '    "cmd": _FOREVER,\n',
        '    "cmd": _SEVEN_DAYS,\n',
        "wire/test_specs.py",
        rule=1,
    ),
    KafkaMutant(
        "start whatever topics are like",
        _TOPICS,
        "    mismatches = compare(cluster, (spec.safe for spec in specs))\n",
        "    mismatches: list[Mismatch] = []\n",
        "workers/test_topics.py",
        rule=1,
    ),
    KafkaMutant(
        "hash keys as only librdkafka does",
        _CLUSTER,
        '"partitioner": "murmur2_random"',
        '"partitioner": "consistent_random"',
        "workers/test_partitions.py",
        rule=2,
    ),
    KafkaMutant(
        "trim what a forwarder has not committed",
        "workers/forwarder/offset_tracker.py",
        "for place, (position, note) in list(self._known.items())",
        'for place, (position, note) in {w: (n, "") for w, n in self._offsets.items()}.items()',
        "workers/test_trimming.py",
        rule=5,
    ),
    KafkaMutant(
        "write all chunks of a dialog",
        _OUTPUT,
        "            for number in machine.touched_chunks:\n",
        "            for number in [*dialog.chunks]:\n",
        "workers/test_state.py",
        rule=6,
    ),
    KafkaMutant(
        "transmit without regard to the window",
        _DIALOG,
        "range(min(most, self.window(limits) - self.count_in_flight()))",
        "range(most)",
        "protocol/test_sending.py",
        rule=6,
    ),
    KafkaMutant(
        "let a dialog live whose broker id has changed",
        _COMMITTED,
        "        return known == had or broker_key(known) == broker_key(had)\n",
        "        return True\n",
        "node/test_transactions.py",
        rule=6,
    ),
    KafkaMutant(
        "retry while the forwarder is down",
        _SENDING,
        "elif dialog.last_copy >= self.left_out:",
        "elif False:",
        "workers/test_retry.py",
        rule=7,
    ),
    KafkaMutant(
        "converse with whoever answers",
        _LOCK,
        "if dialog.is_initiator and not dialog.locked and dialog.far_broker is None:",
        "if dialog.is_initiator:",
        "workers/test_retry.py",
        rule=8,
    ),
    KafkaMutant(
        "lock on messages only, not on acknowledgements",
        _LOCK,
        "            self._lock(broker)\n            return True",
        "            header is not None and self._lock(broker)\n            return True",
        "protocol/test_receiving.py",
        rule=8,
    ),
    KafkaMutant(
        "choose the database by the hash alone",
        _RECEPTION,
        "            if database.enabled and tx.machine(",
        "            if False and tx.machine(",
        "node/test_accept_message.py",
        rule=9,
    ),
    KafkaMutant(
        "acknowledge more than is stored",
        _RECEIVING,
        "return Ack(sequence, highest,",
        "return Ack(sequence + 1, highest,",
        "workers/test_acknowledge.py",
        rule=10,
    ),
    KafkaMutant(
        "answer a copy as if it were the first one",
        _MACHINE,
        "        self._receiver.owe(message.journey.attempt, message.journey.first_hop)\n",
        "        self._receiver.owe(0, message.journey.first_hop)\n",
        "protocol/test_sending.py",
        rule=10,
    ),
    KafkaMutant(
        "open a dialog for a late copy",
        _RECEPTION,
        "        if message.is_late:\n",
        "        if False:\n",
        "workers/test_late.py",
        rule=11,
    ),
    KafkaMutant(
        "go by the forwarder's clock",
        _SPECS,
        '    "in": {**_FOREVER, "message.timestamp.type": "LogAppendTime"},',
        '    "in": {**_FOREVER},',
        "workers/test_late.py",
        rule=11,
    ),
    KafkaMutant(
        "refuse a statement without an event",
        _TRANSACTION,
        "            self._end_request(command)\n            self.emit_event(\n",
        "            self._end_request(command)\n            dict(event=\n",
        "workers/test_acknowledge.py",
        rule=12,
    ),
    KafkaMutant(
        "answer an accepted statement only",
        _TRANSACTION,
        "        self._answer(command, int(number or 0))\n        return",
        "        if not number:\n            self._answer(command, 0)\n        return",
        "workers/test_acknowledge.py",
        rule=12,
    ),
    KafkaMutant(
        "let established dialogs fill a flow that is full",
        _FLOWS,
        "        return flow.in_flight < self.limit + self.limit // 2 or "
        "dialog.count_in_flight() < FIRST\n",
        "        return True\n",
        "node/test_flows.py",
        rule=6,
    ),
    KafkaMutant(
        "let new dialogs wait in a full flow",
        _FLOWS,
        "        return flow.in_flight < self.limit + self.limit // 2 or "
        "dialog.count_in_flight() < FIRST\n",
        "        return flow.in_flight < self.limit + self.limit // 2\n",
        "node/test_flows.py",
        rule=6,
    ),
    KafkaMutant(
        "leave the durability of topics to the brokers",
        _TOPICS,
        "    return {_IN_SYNC: str(replicas.in_sync), **_SAFE_ELECTION}\n",
        "    return {}\n",
        "kafka/test_replication.py",
        rule=1,
    ),
)
