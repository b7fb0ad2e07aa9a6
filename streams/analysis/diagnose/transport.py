"""Causes on the path to the target: endpoints, ports, permissions, forwarders."""

from __future__ import annotations

from streams.analysis.diagnose.brokers import TARGET
from streams.analysis.diagnose.case import Case, placed
from streams.analysis.diagnose.cause import Cause, Evidence, Stage
from streams.analysis.diagnose.classify import nearly, where_is
from streams.analysis.diagnose.sender import by_status, status_of
from streams.analysis.paths.network import Disposition
from streams.errors import Number
from streams.routing import Address, broker_key
from streams.topology import Encryption, Endpoint, Instance


def _no_endpoint(case: Case) -> Evidence | None:
    endpoint = case.instance.endpoint
    known = "service_broker_endpoints" not in case.live.missing
    if not known:
        return status_of(case, (9666, 9748, 28080))
    if case.explanation.decision.error is not Number.TRANSPORT_DISABLED:
        return status_of(case, (28080,))
    if endpoint.name is None:
        return (f"{case.instance.name} has no endpoint FOR SERVICE_BROKER", case.decided)
    state = f"the endpoint {endpoint.name} of {case.instance.name} is {endpoint.state.value}"
    return (placed(state, endpoint.source), case.decided)


_ENGINE_PORT = 1433
_CLOSED_AT_ONCE = (9755, 9757, 9759)
"""What a program reports that connects to a port of another protocol."""


def _wrong_port(case: Case) -> Evidence | None:
    """Find an instance with the host of the unknown address but another port."""
    step = case.failed_step
    address = None if step is None else step.address
    ending = case.failed_end
    if address is None or ending is None or ending.disposition is not Disposition.UNKNOWN:
        return None
    there = next((i for i in case.estate.topology.instances.values() if _at(i, address)), None)
    if there is None and address.port == _ENGINE_PORT and case.status.number in _CLOSED_AT_ONCE:
        return (f"port {_ENGINE_PORT} is that of the database engine, which closes the connection",)
    if there is None:
        return None
    source = there.endpoint.source
    port = f"{there.name} listens on port {there.address.port}, not on {address.port}"
    return (placed(port, source), case.failed_text())


def _at(instance: Instance, address: Address) -> bool:
    hosts = {h.casefold() for h in (instance.address.host, instance.name, *instance.aliases)}
    return address.host.casefold() in hosts


def _stopped(case: Case) -> Evidence | None:
    ending = case.failed_end
    stopped = (Number.TARGET_UNREACHABLE, Number.NOT_DELIVERABLE_IN_TIME)
    if ending is None or ending.error not in stopped:
        return None
    return (case.failed_text(), "the endpoint of the instance at that address is not started")


def _encryption(case: Case) -> Evidence | None:
    there = case.next_hop
    if case.leaves and there is not None and there.name != case.instance.name:
        clash = _clash(case.instance.endpoint, there.endpoint)
        if clash is not None:
            first = f"{case.instance.name} and {there.name}: {clash}"
            return (placed(first, there.endpoint.source), case.decided)
    return status_of(case, (28027,))


def _clash(one: Endpoint, other: Endpoint) -> str | None:
    kinds = {one.encryption, other.encryption}
    if kinds == {Encryption.REQUIRED, Encryption.DISABLED}:
        return "one requires encryption and the other has it disabled"
    if Encryption.DISABLED in kinds or not one.algorithms or not other.algorithms:
        return None
    if set(one.algorithms) & set(other.algorithms):
        return None
    return (
        f"{' '.join(one.algorithms)} and {' '.join(other.algorithms)} have no algorithm in common"
    )


# --- On the path ---------------------------------------------------------------------------------


def _dropped_with(case: Case, *numbers: int) -> Evidence | None:
    ending = case.failed_end
    if ending is None or case.failed_here or ending.error is None:
        return None
    return (case.failed_text(),) if int(ending.error) in numbers else None


def _forwarding_off(case: Case) -> Evidence | None:
    return _dropped_with(case, 9792) or status_of(case, (9792,))


def _loop(case: Case) -> Evidence | None:
    ending = case.failed_end
    if ending is None:
        return None
    circling = ending.disposition is Disposition.LOOP or ending.error is Number.HOPS_EXHAUSTED
    return (case.failed_text(),) if circling else None


def _stale(case: Case) -> Evidence | None:
    found = _dropped_with(case, 28017, 9795)
    if found is None:
        return status_of(case, (28017,))
    ending = case.failed_end
    on_wire = case.broker or (None if ending is None else ending.broker)
    named = () if on_wire is None else (where_is(case, on_wire),)
    return (*found, *named, *_hosts_now(case))


def _service_not_there(case: Case) -> Evidence | None:
    found = _dropped_with(case, Number.TO_SERVICE_NOT_FOUND, Number.REMOTE_SERVICE_MISSING)
    ending = case.failed_end
    there = None if ending is None else case.estate.topology.instance(ending.instance)
    if found is None or there is None:
        return found
    near = (
        placed(f"{there.name}/{database.name} has '{service.name}'", service.source)
        for database in there.databases.values()
        for service in database.services.values()
        if nearly(service.name, case.message.to_service)
    )
    return (*found, *near, *_hosts_now(case))


def _hosts_now(case: Case) -> tuple[str, ...]:
    """Return the databases at the end of the path that have the service, with their broker ids."""
    ending = case.failed_end
    there = None if ending is None else case.estate.topology.instance(ending.instance)
    if there is None:
        return ()
    has = "has the service, and broker id"
    return tuple(
        placed(f"{there.name}/{d.name} {has} {broker_key(d.broker_id)}", d.source)
        for d in there.databases.values()
        if case.message.to_service in d.services
    )


def _lost_in_transit(case: Case) -> Evidence | None:
    ending = case.failed_end
    if ending is None or case.failed_here or ending.disposition is not Disposition.DROPPED:
        return status_of(case, (9788, 9789, 9790))
    if ending.error in _OWN_CAUSES:
        return None
    return (case.failed_text(),)


_OWN_CAUSES = frozenset(
    {
        Number.NOT_DELIVERABLE_IN_TIME,
        Number.HOPS_EXHAUSTED,
        Number.FORWARDING_DISABLED,
        Number.TARGET_BROKER_NOT_HERE,
        Number.BROKER_NOT_HERE,
        Number.TO_SERVICE_NOT_FOUND,
        Number.REMOTE_SERVICE_MISSING,
    }
)
"""Errors at the end of a path that other causes of the table explain."""

CAUSES: tuple[Cause[Case], ...] = (
    Cause(
        "no-endpoint", Stage.TRANSPORT, "The sender's instance has no started endpoint",
        (9666, 9748, 28080), "reference 4.6, 5.2",
        "CREATE ENDPOINT ... STATE = STARTED AS TCP (LISTENER_PORT = 4022) FOR SERVICE_BROKER, or "
        "ALTER ENDPOINT ... STATE = STARTED.",
        _no_endpoint,
    ),
    Cause(
        "wrong-port", Stage.TRANSPORT, "The route's port differs from the endpoint's",
        (), "reference 1.3 (TA-06)",
        "ALTER ROUTE with the LISTENER_PORT of the endpoint (sys.tcp_endpoints), which is not the "
        "port of the database engine (1433).",
        _wrong_port,
    ),
    Cause(
        "next-hop-stopped", Stage.TRANSPORT, "The next instance's endpoint is not started",
        (), "reference 4.6 (TA-07)",
        "ALTER ENDPOINT ... STATE = STARTED at the instance where the path ends.",
        _stopped,
    ),
    by_status(
        "connect-denied", Stage.TRANSPORT, "The peer's login has no CONNECT permission",
        (9752, 28034), "reference 4.14 (TA-39)",
        "GRANT CONNECT ON ENDPOINT:: at the instance that rejects the connection, to the login "
        "that the message names: the other server's service account, or its certificate's login.",
    ),
    Cause(
        "encryption-mismatch", Stage.TRANSPORT,
        "The endpoints' encryption settings are incompatible",
        (28027,), "reference 4.14 (TA-39)",
        "ALTER ENDPOINT ... FOR SERVICE_BROKER (ENCRYPTION = REQUIRED ALGORITHM AES) on both.",
        _encryption,
    ),
    by_status(
        "authentication", Stage.TRANSPORT, "Authentication between the servers failed",
        (9751, 9758, 28022, 28023, 28026, 28028, 28029, 28030, 28031, 28035, 28036, 28037, 28038,
         28039, 28045, 28047, 28048, 28059, 28070, 28079, 28081, 28082),
        "reference 4.14",
        "With Windows authentication: check that the service accounts are in the same domain or "
        "in trusting domains, and check their SPNs. With certificates: check that each side has "
        "the other's public key in master, and that none has expired. An endpoint's certificate "
        "that has expired or is missing (28022, 28023, 28035, 28036): CREATE CERTIFICATE in "
        "master, give its public key to the peers, and ALTER ENDPOINT ... FOR SERVICE_BROKER "
        "(AUTHENTICATION = CERTIFICATE ...). The other server's error log has details.",
    ),
    by_status(
        "connect-failed", Stage.TRANSPORT, "The connection attempt failed",
        (9754,), "reference 4.6",
        "10061: no endpoint listens on this port. 10060: a firewall blocks it, or the host does "
        "not exist. Run Test-NetConnection HOST -Port PORT on the sending server.",
    ),
    by_status(
        "connection-lost", Stage.TRANSPORT, "The connection was lost",
        (9755, 9757, 9759), "reference 4.6",
        "10054: the other side closed the connection, usually because of its security or "
        "encryption settings: "
        "read its error log at that time. The port may also belong to another program.",
    ),
    *TARGET,
    Cause(
        "forwarding-off", Stage.FORWARDING, "An instance on the path does not forward",
        (9792,), "reference 2.2 R8.2 (TA-08)",
        "ALTER ENDPOINT ... FOR SERVICE_BROKER (MESSAGE_FORWARDING = ENABLED) there, or change "
        "the route to avoid it. The routes of its msdb apply, not those of a user database.",
        _forwarding_off,
    ),
    Cause(
        "loop", Stage.FORWARDING, "The routes form a loop",
        (), "reference 5.1 (TA-10)",
        "Correct the msdb route of the instance that closes the loop.",
        _loop,
    ),
    Cause(
        "stale-broker-id", Stage.ACCEPTANCE, "The route leads to a database with another broker id",
        (28017,), "reference 1.5, 2.2 R7.1 (TA-04, TA-05)",
        "After NEW_BROKER, a restore elsewhere or a failover, ALTER ROUTE with the "
        "service_broker_guid that the target database has now, and its address. A dialog that was "
        "acknowledged keeps the old id: END CONVERSATION ... WITH CLEANUP, and begin a new one.",
        _stale,
    ),
    Cause(
        "service-not-there", Stage.ACCEPTANCE, "The target instance has no service of this name",
        (), "reference 5.3 (11210)",
        "Correct the name in BEGIN DIALOG (names must match exactly, case and blanks included), or "
        "create the service there. If it is in another instance, the route leads to the wrong one: "
        "ALTER ROUTE, or CREATE ROUTE in msdb of the instance that must forward.",
        _service_not_there, implies=("target-unreachable",),
    ),
    Cause(
        "lost-on-the-way", Stage.FORWARDING, "An instance on the path drops the message",
        (9788, 9789, 9790), "reference 2.2 R2, 5.3",
        "CREATE ROUTE for the service in msdb of that instance, or enable the broker in its msdb. "
        "The message is not lost: the sender retries.",
        _lost_in_transit,
    ),
)  # fmt: skip
