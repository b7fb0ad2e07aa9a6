"""Causes in a database's broker: delivery is off, or another database has the same broker id."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.diagnose.case import NOT_HERE, Case, placed
from streams.analysis.diagnose.cause import Cause, Evidence, Stage
from streams.analysis.diagnose.sender import status_of
from streams.analysis.known import Home, known
from streams.errors import Number
from streams.prose import listed


def _others(case: Case, home: Home) -> Iterator[Home]:
    """Yield the other databases with a database's broker id that could use it.

    A mirrored pair and an availability group have one id (reference 2.4). A database that is not
    online or is read-only, such as a database snapshot, takes no part in dialogs.
    """
    pair = _pair(home)
    for other in case.hosts_of(home.database.broker_id):
        apart = pair is None or _pair(other) != pair
        if apart and str(other) != str(home) and case.closed(other) is None:
            yield other


def _pair(home: Home) -> str | None:
    return None if home.database.mirror is None else home.database.mirror.pair


def _in_use(case: Case, home: Home, *, here: bool = False) -> Evidence:
    """Return a sentence about the active databases that have the id of one that is off."""
    active = [
        other
        for other in _others(case, home)
        if other.database.enabled and (not here or other.instance.name == home.instance.name)
    ]
    return (_same_id(home, *active),) if active else ()


def _same_id(*homes: Home) -> str:
    states = [f"{home} ({'on' if home.database.enabled else 'off'})" for home in homes]
    have = f"{listed(states)} have the broker id {homes[0].database.broker_id}"
    return placed(have, homes[-1].database.source)


def _off(home: Home) -> str:
    return placed(f"is_broker_enabled is 0 for {home}", home.database.source)


def _path(case: Case) -> str:
    return case.decided if case.failed_here else case.failed_text()


def last_resort(case: Case) -> bool:
    """Return whether no route was found for the service, or only one without a service name.

    AutoCreatedLocal, which nearly every database has, matches each name without a better route.
    """
    decision = case.explanation.decision
    chosen = (route for route in case.database.routes if route.name in decision.routes)
    return decision.error in _UNROUTED and not any(route.service for route in chosen)


_ABSENT = (Number.SERVICE_NOT_HERE, Number.REMOTE_SERVICE_MISSING)
_UNROUTED = (Number.NO_ROUTE, Number.BROKER_NOT_HERE, *_ABSENT)


def elsewhere(case: Case) -> tuple[Home, ...]:
    """Return other instances' active databases with the service, if no route names the service.

    Then the message stays at the sender because AutoCreatedLocal matches every name.
    """
    if case.explanation.decision.error not in _ABSENT or not last_resort(case):
        return ()
    return tuple(
        home
        for home in known(case.estate).services.get(case.message.to_service, ())
        if home.database.enabled and home.instance.name != case.instance.name
    )


def _sender_id_in_use(case: Case) -> Evidence | None:
    home = Home(case.instance, case.database)
    used = () if case.database.enabled else _in_use(case, home, here=True)
    return (_off(home), *used) if used else None


def _target_id_in_use(case: Case) -> Evidence | None:
    for home in case.switched_off:
        used = _in_use(case, home)
        if used:
            return (_off(home), *used, _path(case))
    return None


def _target_off(case: Case) -> Evidence | None:
    if case.switched_off and not elsewhere(case):
        home = case.switched_off[0]
        others = tuple(_others(case, home))
        same = (_same_id(home, *others),) if others else ()
        return (*map(_off, case.switched_off), *same, _path(case))
    end = case.failed_end
    # Another failure of the current routes is newer than the status.
    if case.routes_known and end is not None and end.error not in (None, *NOT_HERE):
        return None
    return status_of(case, (28013,))


def hides(case: Case) -> bool:
    """Return whether the target is not found only because its broker is off."""
    return bool(_target_id_in_use(case) or _target_off(case))


def _target_id_shared(case: Case) -> Evidence | None:
    if not case.old and case.status.empty:
        return None
    for target in case.targets:
        home = Home(target.instance, target.database)
        others = [
            other
            for other in _others(case, home)
            if other.database.enabled or other.instance.name == home.instance.name
        ]
        if others and case.far_endpoint(target) is None:
            return (_same_id(home, *others), case.decided)
    return None


SENDER: tuple[Cause[Case], ...] = (
    Cause(
        "sender-id-in-use", Stage.SENDER,
        "Message delivery is off in the sender's database, and its broker id is in use",
        (), "reference 1.5 (9772)",
        "Do not use ENABLE_BROKER: it fails (9772) while another database of the instance is "
        "active with the same id. Use ALTER DATABASE ... SET NEW_BROKER in the copy. It removes "
        "all conversations of the copy, and routes to the copy need the new id. If the sender's "
        "database is the original, SET ENABLE_BROKER in it afterwards.",
        _sender_id_in_use, implies=("delivery-off",),
    ),
)  # fmt: skip
_NOT_FOUND = ("stale-broker-id", "service-not-there", "lost-on-the-way", "target-unreachable")
TARGET: tuple[Cause[Case], ...] = (
    Cause(
        "target-id-in-use", Stage.ACCEPTANCE,
        "The broker of the target database is off, and its broker id is in use",
        (), "reference 1.5 (9772, TA-16, TA-17)",
        "If the active database has replaced the target, correct the route. Otherwise ALTER "
        "DATABASE ... SET NEW_BROKER in the copy; it removes all conversations of the copy, and "
        "routes to the copy need the new id. Then SET ENABLE_BROKER in the original; before that, "
        "it fails (9772) if both are in one instance.",
        _target_id_in_use, implies=("target-broker-off", *_NOT_FOUND),
    ),
    Cause(
        "target-broker-off", Stage.ACCEPTANCE, "The broker of the target database is off",
        (28013,), "reference 1.5, 2.2 R7",
        "ALTER DATABASE ... SET ENABLE_BROKER in the target database; it needs exclusive access "
        "to the database, which WITH ROLLBACK IMMEDIATE gives it. After a restore or an attach, "
        "delivery is off on purpose: first check that no other copy with the same broker id is "
        "active. No route needs a change.",
        _target_off, implies=_NOT_FOUND,
    ),
)  # fmt: skip
SHARED: Cause[Case] = Cause(
    "target-id-shared", Stage.ACCEPTANCE, "Several databases have the target's broker id",
    (), "reference 1.5 (TA-16, TA-17)",
    "A broker id must be unique. ALTER DATABASE ... SET NEW_BROKER in the copy; it removes all "
    "conversations of the copy, and routes to the copy need the new id. Until then, messages may "
    "reach the wrong database. If the broker of the original is off, SET ENABLE_BROKER there "
    "afterwards.",
    _target_id_shared,
)  # fmt: skip
