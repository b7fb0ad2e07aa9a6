"""Code that reads queues: which message types end conversations, and queues without a reader.

Both are parts of TA-43 (:mod:`.leaks`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from streams.analysis.check.code_names import name_key
from streams.analysis.estate import Estate
from streams.analysis.known import Home
from streams.analysis.objects import finding, user_databases
from streams.prose import listed
from streams.system_names import DEFAULT, SYSTEM_SERVICES
from streams.topology import Database, Finding, Procedure, Queue, Severity


@dataclass(frozen=True, slots=True)
class Code:
    """The procedures of a database by name, and those that read each queue.

    Code in an assembly is unknown, like code that is not in the scripts. ``announced``: the queues
    whose readers an event notification starts. ``cleans``: some code ends conversations that it has
    neither begun nor received, like a cleanup job.
    """

    known: Mapping[str, Procedure]
    readers: Mapping[str, Sequence[Procedure]]
    announced: frozenset[str]
    cleans: bool

    @staticmethod
    def of(database: Database) -> Code:
        """Collect the procedures of a database."""
        code = [p for p in database.procedures.values() if not p.external]
        readers: dict[str, list[Procedure]] = {}
        own = f"{database.name.casefold()}."
        announced: set[str] = set()
        for procedure in code:
            keys = (name_key(queue).removeprefix(own) for queue in procedure.receives)
            for queue in dict.fromkeys(keys):
                if procedure.is_notification:
                    announced.add(queue)
                else:
                    readers.setdefault(queue, []).append(procedure)
        cleans = any(p.ends and not (p.receives or p.begins) for p in code)
        return Code({name_key(p.name): p for p in code}, readers, frozenset(announced), cleans)

    def of_queue(self, queue: Queue) -> Sequence[Procedure]:
        """Return the procedures that read a queue."""
        return self.readers.get(name_key(queue.name), ())

    def activated(self, queue: Queue) -> Procedure | None:
        """Return the procedure that a queue activates, if it is known."""
        return None if queue.activated is None else self.known.get(name_key(queue.activated))

    def reachable(self, first: Iterable[Procedure]) -> Iterator[Procedure | None]:
        """Yield procedures and all those that they call; ``None`` for one that is not known."""
        waiting, seen = list(first), set[str]()
        while waiting:
            procedure = waiting.pop()
            yield procedure
            seen.add(name_key(procedure.name))
            for called in map(name_key, procedure.calls):
                if called not in self.known:
                    yield None
                elif called not in seen:
                    waiting.append(self.known[called])


# --- Readers that ignore EndDialog and Error -----------------------------------------------------


def one_sided(estate: Estate, reported: Iterable[tuple[str, str | None]]) -> Iterator[Finding]:
    """Find queues whose readers end conversations only for the application's message types, or not.

    "Every application must contain logic to handle Error messages and End Dialog messages" (Broker
    System Messages, ms166088).
    """
    done, reached, unknown = set(reported), _reached(estate), _unknown(estate)
    for at in user_databases(estate):
        code = Code.of(at.database)
        used = _with_dialogs(at.database, reached)
        for queue in at.database.queues.values():
            readers = code.of_queue(queue)
            if not readers or code.cleans or code.activated(queue) not in (None, *readers):
                continue
            if code.activated(queue) is None and queue.activated is not None:
                continue
            types = _types(at.database, code, readers)
            never = queue.name in used and at.instance.name not in unknown
            if types or (types is not None and never and (str(at), queue.name) not in done):
                yield _one_sided(at, queue, readers, types)


def _unknown(estate: Estate) -> set[str | None]:
    """Return the instances whose scripts have statements with an unknown effect."""
    return {skipped.instance for skipped in estate.topology.skipped if skipped.why}


def _types(database: Database, code: Code, readers: Iterable[Procedure]) -> tuple[str, ...] | None:
    """Return the message types for which readers end conversations; ``None`` if unknown."""
    own = {*database.message_types, DEFAULT}
    found: dict[str, None] = {}
    for procedure in code.reachable(readers):
        if procedure is None or (procedure.ends and not procedure.compared):
            return None
        for comparisons in procedure.compared:
            of_type = (c for c in comparisons if c.of_type or own.issuperset(c.texts))
            one = next(of_type, None)
            if one is None:
                return None
            found.update(dict.fromkeys(one.texts))
    return tuple(found)


def _one_sided(
    at: Home, queue: Queue, readers: Sequence[Procedure], types: tuple[str, ...]
) -> Finding:
    names = [reader.name for reader in readers]
    ends = (end for reader in readers for end in reader.ends)
    one = len(names) == 1
    what = (
        f"{'ends' if one else 'end'} conversations of {queue.name} only for {listed(types)}: after "
        "EndDialog or Error, they stay open"
        if types
        else f"{'reads' if one else 'read'} {queue.name}, and {'does' if one else 'do'} not end "
        "its conversations: they stay open"
    )
    return finding(
        "TA-43", Severity.WARNING, at, next(ends, readers[0].source),
        f"{listed(names)} {what}",
        f"Call END CONVERSATION in the reader of {queue.name} when it receives EndDialog or Error.",
        procedures=names, queue=queue.name, types=list(types),
    )  # fmt: skip


# --- Queues without a reader ---------------------------------------------------------------------


def unread(estate: Estate, reported: Iterable[tuple[str, str | None]]) -> Iterator[Finding]:
    """Find queues with dialogs that no code reads, although the code is known.

    ``reported``: the databases and queues for which no code ends conversations, which says more.
    """
    done, reached, unknown = set(reported), _reached(estate), _unknown(estate)
    for instance in estate.topology.instances.values():
        code = {name: Code.of(database) for name, database in instance.databases.items()}
        read = {queue for one in code.values() for queue in (*one.readers, *one.announced)}
        for name, database in instance.databases.items() if instance.name not in unknown else ():
            at = Home(instance, database)
            for queue, services in _with_dialogs(database, reached).items():
                keys = {name_key(queue), f"{name.casefold()}.{name_key(queue)}"}
                if keys.isdisjoint(read) and (str(at), queue) not in done:
                    yield from _unread(at, code[name], database.queues[queue], services)


def _reached(estate: Estate) -> set[str | None]:
    """Return the services with which code begins dialogs."""
    return {
        begin.to
        for at in user_databases(estate)
        for procedure in at.database.procedures.values()
        for begin in procedure.begins
    }


def _with_dialogs(database: Database, reached: set[str | None]) -> dict[str, list[str]]:
    """Return the queues of services with which code begins dialogs, or from which it does."""
    begun = {b.service for p in database.procedures.values() for b in p.begins}
    found: dict[str, list[str]] = {}
    for service in database.services.values():
        used = service.name in begun or (service.contracts and service.name in reached)
        if used and service.name not in SYSTEM_SERVICES and service.queue in database.queues:
            found.setdefault(service.queue, []).append(service.name)
    return found


def _unread(at: Home, code: Code, queue: Queue, services: list[str]) -> Iterator[Finding]:
    stay = f"messages for {listed(services)} stay in it"
    activated = code.activated(queue)
    run = [] if activated is None else list(code.reachable((activated,)))
    if activated is not None and not any(one is None or one.ends for one in run):
        yield finding(
            "TA-43", Severity.WARNING, at, activated.source,
            f"{activated.name}, which {queue.name} activates, does not read it: {stay}",
            f"RECEIVE messages from {queue.name} in {activated.name}, and END CONVERSATION when it "
            "receives EndDialog or Error.",
            queue=queue.name, services=services, procedure=activated.name,
        )  # fmt: skip
    elif queue.activated is None and code.readers:
        yield finding(
            "TA-43", Severity.INFO, at, queue.source,
            f"no code of the topology reads {queue.name}, unlike other queues of {at}: {stay}",
            "Read the queue, or ignore this if an application outside of the scripts reads it.",
            queue=queue.name, services=services,
        )  # fmt: skip
