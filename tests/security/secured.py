"""A real broker that lets nobody do anything: an authorizer, users with passwords, and TLS.

Its plain listener is for whoever looks after it (``ANONYMOUS`` is the superuser). Each role of a
topology is a user of SCRAM with a password of its own, over TLS.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from streams.embedded import Beside, Broker
from streams.kafka import Cluster, KafkaException
from streams.kafka.acls import binding_of, create_acls, set_passwords
from streams.wire import Topics
from streams.wire.acl import Granted, Operation, Role
from tests.ports import reserved
from tests.running import eventually
from tests.workers.rig import pause

ROOT = Path(__file__).parents[2]
SCRAM = "SCRAM-SHA-512"
_ASKED = re.compile(
    r"Principal = User:(\S+) is (Allowed|Denied) operation = (\w+) from host = \S+ "
    r"on resource = (\w+):LITERAL:(.*?) for request"
)
_OPERATIONS = {operation.value.upper(): operation for operation in Operation}
_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


def password_of(user: str) -> str:
    """Return a user's password: nothing else that is written anywhere looks like it."""
    return f'geheim-"{user}"\\'


@dataclass(frozen=True, slots=True)
class Secured:
    """The broker: ``plain`` for its superuser, ``sasl`` for roles, ``tls`` for certificates."""

    broker: Broker
    sasl: str
    tls: str
    certificates: Path

    @property
    def plain(self) -> str:
        """Return the address at which everything is allowed."""
        return self.broker.bootstrap

    def asked(self, user: str) -> Counter[tuple[bool, str, str, Operation]]:
        """Return what a user has asked for: allowed, kind and name of the resource, operation.

        Kafka's authorizer says it in the broker's log.
        """
        log = self.broker.data.log_file.read_text(encoding="utf-8", errors="replace")
        return Counter(
            (m[2] == "Allowed", m[4], m[5], _OPERATIONS[m[3].replace("_", "").upper()])
            for m in _ASKED.finditer(log)
            if m[1] == user and m[3].replace("_", "").upper() in _OPERATIONS
        )

    def unused(self, role: Role) -> set[tuple[str, str]]:
        """Return what a role may do and has not done, as (resource's name, operation)."""
        asked = [(name, operation) for ok, _, name, operation in self.asked(role.name) if ok]
        return {
            (grant.name, operation.value)
            for grant in role.grants
            for operation in grant.operations
            if not any(
                done is operation
                and (name.startswith(grant.name) if grant.prefixed else name == grant.name)
                for name, done in asked
            )
        }

    def refused(self, user: str, prefix: str) -> set[tuple[str, str]]:
        """Return what a user was refused in one system, as (resource's name, operation)."""
        return {
            (name, operation.value)
            for ok, _, name, operation in self.asked(user)
            if not ok and name.startswith(prefix)
        }

    @property
    def authority(self) -> str:
        """Return the file of the certificate authority."""
        return str(self.certificates / "ca.crt")

    def admin(self, prefix: str) -> Cluster:
        """Return the cluster as the superuser sees it."""
        return Cluster(self.plain, Topics(prefix))

    def properties(self, user: str) -> dict[str, str]:
        """Return a user's properties, as settings say them."""
        return {
            "security.protocol": "sasl_ssl",
            "sasl.mechanisms": SCRAM,
            "sasl.username": user,
            "sasl.password": password_of(user),
            "ssl.ca.location": self.authority,
        }

    def as_user(self, user: str, prefix: str) -> Cluster:
        """Return the cluster as a user sees it."""
        return Cluster(self.sasl, Topics(prefix), self.properties(user))

    def add_users(self, users: Iterable[str]) -> None:
        """Let users log in with their passwords; returns when the broker lets them in."""
        users = tuple(users)
        set_passwords(self.admin(""), {user: password_of(user) for user in users})
        # Kafka answers before its broker knows the last one, which is refused until then.
        eventually(lambda: self._lets_in(users[-1]), f"{users[-1]} can log in")

    def _lets_in(self, user: str) -> bool:
        try:
            self.as_user(user, "").admin().list_topics("unknown", timeout=5)
        except KafkaException:
            return False
        return True

    def grant(self, roles: Iterable[Role]) -> None:
        """Let roles do what they may; returns when the broker goes by it."""
        wanted = [(f"User:{r.name}", g) for r in roles for g in r.grants]
        create_acls(self.admin(""), wanted)
        user, grant = wanted[-1]
        one, admin = _filter(user, grant, grant.operations[-1]), self.admin("").admin()
        eventually(lambda: admin.describe_acls(one).result() or pause(), "it is granted")

    def take(self, user: str, grant: Granted, operation: Operation) -> None:
        """Take one operation from a user; returns when the broker goes by it."""
        one = _filter(f"User:{user}", grant, operation)
        admin = self.admin("").admin()
        [future] = admin.delete_acls([one]).values()
        assert len(future.result()) == 1
        eventually(lambda: not admin.describe_acls(one).result() or pause(), "it is taken")

    def give_back(self, user: str, grant: Granted, operation: Operation) -> None:
        """Give it back; returns when the broker goes by it."""
        create_acls(self.admin(""), [(f"User:{user}", replace(grant, operations=(operation,)))])
        one, admin = _filter(f"User:{user}", grant, operation), self.admin("").admin()
        eventually(lambda: admin.describe_acls(one).result() or pause(), "it is given back")

    def revoke_all(self) -> None:
        """Take everything from everybody."""
        every = AclBindingFilter(
            ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY,
            AclPermissionType.ANY,
        )  # fmt: skip
        admin = self.admin("").admin()
        for future in admin.delete_acls([every]).values():
            future.result()


def _filter(principal: str, grant: Granted, operation: Operation) -> AclBindingFilter:
    binding = binding_of(principal, grant, operation)
    fields = ("restype", "name", "resource_pattern_type", "principal", "host", "operation",
              "permission_type")  # fmt: skip
    return AclBindingFilter(*(getattr(binding, field) for field in fields))


@contextmanager
def secured_broker(folder: Path, *clients: str) -> Iterator[Secured]:
    """Run one; ``clients`` get certificates."""
    with reserved(2) as ports:
        yield from _on(ports, folder, clients)


def _on(ports: list[int], folder: Path, clients: tuple[str, ...]) -> Iterator[Secured]:
    certificates = folder / "tls"
    made = [ROOT / "deploy/tls/make.sh", certificates, "broker=localhost,127.0.0.1", *clients]
    subprocess.run(made, check=True)
    sasl, tls = ports
    beside = Beside(
        {"SASL_SSL": sasl, "SSL": tls},
        {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "sasl.enabled.mechanisms": SCRAM,
            f"listener.name.sasl_ssl.{SCRAM.lower()}.sasl.jaas.config": _LOGIN,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(certificates / "broker.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(certificates / "ca.crt"),
            "listener.name.ssl.ssl.client.auth": "required",
            "ssl.principal.mapping.rules": "RULE:^CN=([^,]+)$/$1/",
        },
        ("-Dorg.slf4j.simpleLogger.log.kafka.authorizer.logger=debug",),
    )
    with Broker(folder / "kafka", beside=beside) as broker:
        yield Secured(broker, f"127.0.0.1:{sasl}", f"127.0.0.1:{tls}", certificates)
