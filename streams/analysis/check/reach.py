"""Messages that do not leave the database, or that the next hop drops: TA-01, TA-02, TA-05."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streams.analysis.check.certain import wrong_port
from streams.analysis.check.proof import (
    evidence,
    lives,
    named,
    place_of,
    table_of,
    where,
    written,
)
from streams.analysis.check.registry import Check
from streams.analysis.check.trouble import Cause, Phase, Trouble, caused_by
from streams.analysis.estate import Estate
from streams.analysis.known import known
from streams.analysis.paths.network import Disposition
from streams.errors import Number, text_of
from streams.prose import listed
from streams.topology import Finding, Severity, Source, finding_at

_E, _W = Severity.ERROR, Severity.WARNING


def _stated(trouble: Trouble) -> Source:
    """Return the place of the code or expectation that specifies the flow."""
    why = (e.source for answer in trouble.answers for e in answer.flow.why)
    return written(*why)


# --- TA-01, TA-02: nothing leaves the database ---------------------------------------------------


def _severity(trouble: Trouble) -> Severity:
    """Return a warning if the senders' services do not exist: BEGIN DIALOG then fails (TA-50)."""
    return _E if any(answer.flow.can_begin for answer in trouble.answers) else _W


def no_route(estate: Estate) -> Iterable[Finding]:
    """Find databases from which a message has no route at all (M7)."""
    for trouble in _leaving(estate, Cause.NO_ROUTE):
        home = table_of(estate, trouble)
        yield finding_at(
            "TA-01", _severity(trouble),
            f"{home} has no route for {named(trouble)}: {trouble.phase.value} stays in the "
            f"transmission queue",
            f"Create a route for {trouble.service} in {home.database.name}; "
            f"{lives(estate, trouble.service)}.",
            str(home), written(_stated(trouble), home.database.source, home.instance.source),
            evidence(estate, trouble),
        )  # fmt: skip


def _leaving(estate: Estate, cause: Cause) -> Iterator[Trouble]:
    """Yield the failures of messages from initiators; TA-09 covers targets that cannot answer."""
    return (t for t in caused_by(estate, cause) if t.phase is not Phase.BACK)


def not_here(estate: Estate) -> Iterable[Finding]:
    """Find messages for which only a LOCAL route matches, but whose service is elsewhere (R5.5)."""
    for trouble in _leaving(estate, Cause.NOT_HERE):
        home = table_of(estate, trouble)
        route = trouble.route
        by = "the broker id given" if route is None else f"route {route.route.name} (LOCAL)"
        # AutoCreatedLocal is created with its database, so show the code that names the service.
        own = route is not None and route.route.source != home.database.source
        source = route.route.source if route is not None and own else Source()
        yield finding_at(
            "TA-02", _severity(trouble),
            f"only {by} matches {named(trouble)} in {home}, and no active database of "
            f"{home.instance.name} has it: {_outcome(trouble)}",
            f"Create a route for {trouble.service} with the address of its instance; "
            f"{lives(estate, trouble.service)}.",
            str(home),
            written(source, _stated(trouble), home.database.source, home.instance.source),
            evidence(estate, trouble),
        )  # fmt: skip


def _outcome(trouble: Trouble) -> str:
    if trouble.failure.ending.error is Number.REMOTE_SERVICE_MISSING:  # R7.4
        return "the database with the broker id answers with Error -8490, which ends the dialog"
    return f"{trouble.phase.value} stays in the transmission queue"


# --- TA-05: the next hop neither delivers nor forwards -----------------------------------------


def wrong_hop(estate: Estate) -> Iterable[Finding]:
    """Find routes that lead to an instance that drops the message (R7, R8)."""
    for trouble in caused_by(estate, Cause.WRONG_HOP):
        if trouble.failure.ending.disposition is Disposition.UNKNOWN:
            yield from _to_nobody(estate, trouble)
        elif trouble.phase is not Phase.BACK and trouble.route is not None:
            yield _dropped(estate, trouble)


def _dropped(estate: Estate, trouble: Trouble) -> Finding:
    at, error = trouble.route, trouble.failure.ending.error
    assert at is not None, "the caller has checked the end"
    why = f"drops it ({int(error)}, {text_of(error)})" if error is not None else "drops it"
    return finding_at(
        "TA-05", _E,
        f"route {at.route.name} leads {named(trouble)} to {trouble.instance}, which "
        f"{why}",
        f"Correct the address, or create a route for {trouble.service} in msdb of "
        f"{trouble.instance}; {lives(estate, trouble.service)}.",
        place_of(at.instance, at.database), where(at), evidence(estate, trouble),
    )  # fmt: skip


def _to_nobody(estate: Estate, trouble: Trouble) -> Iterator[Finding]:
    """Report an address outside the topology only if the service is inside it."""
    at, step = trouble.route, trouble.failure.hops[-1][1]
    inside = trouble.service in known(estate).services
    if at is None or not inside or wrong_port(estate, trouble.failure):
        return
    homes = known(estate).services[trouble.service]
    names = listed(dict.fromkeys(home.instance.name for home in homes))
    host = step.address.host if step.address is not None else ""
    yield finding_at(
        "TA-05", _W,
        f"route {at.route.name} sends {named(trouble)} to {step.address}, where no instance of "
        f"this topology listens",
        f"Correct the address, or add the instance at that address to the topology; "
        f"{lives(estate, trouble.service)}. If {host} is another name of {names}, list it under "
        f"aliases: of the instance in topology.yaml.",
        place_of(at.instance, at.database), where(at), evidence(estate, trouble),
    )  # fmt: skip


CHECKS = (
    Check(
        "TA-01",
        "No route to a service",
        (_E, _W),
        "reference 2.2, R4 step 7",
        "No route matches. Messages stay in the transmission queue of their database with status "
        "9750 until a matching route is created or the dialog's lifetime ends. The finding is a "
        "warning if the sending database does not have the initiator's service either: BEGIN "
        "DIALOG fails (TA-50), or other scripts create the service and the route.",
        "Create a route for the service in the sending database.",
        no_route,
    ),
    Check(
        "TA-02",
        "Only LOCAL matches, but the instance does not have the service",
        (_E, _W),
        "reference 2.2, R5.5",
        "Every database has the route AutoCreatedLocal, so a missing route shows up like this: "
        "the engine looks for the service in its own instance, where no active database has it. "
        "Messages stay in the transmission queue (9796, or 9795 if a broker id is given). If a "
        "database of the instance has the given broker id, it answers with Error -8490. The "
        "finding is a warning if the sending database does not have the initiator's service "
        "either: BEGIN DIALOG fails (TA-50), or other scripts create the service and the route.",
        "Create a route for the service with the address of the instance that has it.",
        not_here,
    ),
    Check(
        "TA-05",
        "A route leads to an instance that neither delivers nor forwards the message",
        (_E, _W),
        "reference 2.2, R7 and R8",
        "The instance at the address drops the message without a reply, and the sender retries "
        "for the dialog's lifetime. Only a database whose broker id BEGIN names answers, with "
        "Error -8490. The finding is a warning if no instance of the topology has "
        "this address although the topology has the service. If the instance was left out on "
        "purpose, the route is correct.",
        "Correct the address, or create the missing route in msdb of that instance.",
        wrong_hop,
    ),
)
