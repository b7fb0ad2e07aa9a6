"""Endpoints that cannot connect to each other (TA-39)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streams.analysis.estate import Estate
from streams.analysis.hazards.passage import Connection, Passage
from streams.analysis.objects import finding
from streams.prose import listed
from streams.topology import Encryption, Endpoint, Finding, Grant, Instance, Severity, Source

_PUBLIC = "public"
_ALLOWING = frozenset({"CONNECT", "CONTROL", "ALL"})
_KINDS = frozenset({"WINDOWS", "CERTIFICATE"})


def endpoints(estate: Estate, passages: Sequence[Passage]) -> Iterator[Finding]:
    """Find connections that the endpoints' settings or permissions forbid (CREATE ENDPOINT)."""
    flows: dict[Connection, list[str]] = {}
    for passage in passages:
        name = str(passage.flow)
        for connection in passage.connections:
            flows.setdefault(connection, []).append(name)
    reported: set[frozenset[str]] = set()
    for (one, other), through in sorted(flows.items()):
        pair = frozenset((one, other))
        if pair not in reported:
            reported.add(pair)
            yield from _incompatible(estate, one, other, through)
    callers: dict[str, list[str]] = {}
    for one, other in sorted(flows):
        callers.setdefault(other, []).append(one)
    for name, by in callers.items():
        yield from _closed(estate, name, by)


# --- Settings ------------------------------------------------------------------------------------


def _incompatible(estate: Estate, one: str, other: str, flows: list[str]) -> Iterator[Finding]:
    here, there = estate.topology.instances[one], estate.topology.instances[other]
    for at, by in ((here, there), (there, here)):
        if _lacks_endpoint(at) and _in_script(by.endpoint.source):
            yield finding(
                "TA-39", Severity.WARNING, at, at.source,
                f"the scripts of {at.name} create no endpoint FOR SERVICE_BROKER, unlike those of "
                f"{by.name}, which must connect to it",
                "CREATE ENDPOINT ... FOR SERVICE_BROKER, or add the script that creates it.",
                instances=[one, other], flows=flows[:5],
            )  # fmt: skip
    for conflict, remedy in _conflicts(here, there):
        # Report the endpoint whose setting differs from the default, because that setting was
        # written explicitly.
        at = there if here.endpoint.encryption is Encryption.REQUIRED else here
        yield finding(
            "TA-39", Severity.ERROR, at, at.endpoint.source,
            f"{one} and {other} cannot connect: {conflict}", remedy,
            instances=[one, other], flows=flows[:5],
        )  # fmt: skip


def _conflicts(here: Instance, there: Instance) -> Iterator[tuple[str, str]]:
    one, other = here.endpoint, there.endpoint
    demands = {one.encryption, other.encryption}
    if demands == {Encryption.REQUIRED, Encryption.DISABLED} and _stated(here) and _stated(there):
        required, disabled = (
            (here, there) if one.encryption is Encryption.REQUIRED else (there, here)
        )
        yield (
            f"{required.name} has ENCRYPTION = REQUIRED, {disabled.name} DISABLED",
            "Set one of them to SUPPORTED.",
        )
    elif Encryption.DISABLED not in demands and _apart(one.algorithms, other.algorithms):
        yield (
            f"they have no algorithm in common: {listed(one.algorithms)} and "
            f"{listed(other.algorithms)}",
            "Configure a common ALGORITHM, such as AES.",
        )
    if _apart(_kinds(one), _kinds(other)):
        yield (
            f"{here.name} requires {listed(_kinds(one))} authentication, {there.name} "
            f"{listed(_kinds(other))}",
            "Configure at least one common kind of AUTHENTICATION.",
        )


def _stated(instance: Instance) -> bool:
    """Return whether a file defines the endpoint; otherwise its options are unknown."""
    own, written = instance.endpoint.source, instance.source
    return not written.file or (bool(own.file) and own != written)


def _lacks_endpoint(instance: Instance) -> bool:
    """Return whether scripts define the instance's databases, but nothing its endpoint."""
    scripts = any(_in_script(d.source) for d in instance.databases.values())
    return scripts and instance.endpoint.name is None and not _stated(instance)


def _in_script(source: Source) -> bool:
    return source.file.endswith(".sql")


def _apart(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether two lists of words are both known and have no word in common."""
    mine, yours = ({word.upper() for word in words} for words in (one, other))
    return bool(mine and yours) and not mine & yours


def _kinds(endpoint: Endpoint) -> tuple[str, ...]:
    words = (word.upper() for word in endpoint.authentication)
    return tuple(dict.fromkeys(word for word in words if word in _KINDS))


# --- Permissions ---------------------------------------------------------------------------------


def _closed(estate: Estate, name: str, callers: list[str]) -> Iterator[Finding]:
    """Find an endpoint on which no caller has CONNECT, if grants are known."""
    instance = estate.topology.instances[name]
    denied = next((g for g in instance.grants if g.denied and _is_public(g)), None)
    if denied is not None:
        yield finding(
            "TA-39", Severity.ERROR, instance, denied.source,
            f"{denied.permission} on endpoint {denied.name} of {name} is denied to public: "
            f"{listed(callers)} cannot connect",
            "REVOKE it, and GRANT CONNECT to the logins of the other instances.",
            endpoint=denied.name, callers=callers,
        )  # fmt: skip
    elif (
        _stated(instance)
        and not any(_allows(grant) for grant in instance.grants)
        and _granted_elsewhere(estate, name)
    ):
        yield finding(
            "TA-39", Severity.WARNING, instance, instance.endpoint.source,
            f"no login is granted CONNECT on the endpoint of {name}, unlike on other endpoints; "
            f"{listed(callers)} must connect to it",
            "GRANT CONNECT ON ENDPOINT to the logins of these instances, except administrators.",
            endpoint=instance.endpoint.name, callers=callers,
        )  # fmt: skip


def _is_public(grant: Grant) -> bool:
    return grant.principal.casefold() == _PUBLIC and grant.permission.upper() in _ALLOWING


def _allows(grant: Grant) -> bool:
    return not grant.denied and grant.permission.upper() in _ALLOWING


def _granted_elsewhere(estate: Estate, name: str) -> bool:
    return bool(estate.once(_granting) - {name})


def _granting(estate: Estate) -> frozenset[str]:
    instances = estate.topology.instances.values()
    return frozenset(i.name for i in instances if any(map(_allows, i.grants)))
