"""Make defaults of a topology explicit, as a real server needs them."""

from __future__ import annotations

from dataclasses import replace

from streams.topology.export.quoting import canonical
from streams.topology.export.security import unwritable, written_key
from streams.topology.lookup import queues_of
from streams.topology.model import Endpoint, Instance
from streams.topology.objects import Database

ENDPOINT = "ServiceBrokerEndpoint"
"""Name of an endpoint without a name."""


def explicit_instance(instance: Instance) -> Instance:
    """Return an instance with a named endpoint and port, and all queues declared.

    The result is equivalent to the instance, and equal to the instance after an export and an
    import.
    """
    return replace(
        instance,
        endpoint=_endpoint(instance.endpoint, instance.address.port),
        msdb=explicit_database(instance.msdb),
        databases={name: explicit_database(d) for name, d in instance.databases.items()},
    )


def explicit_database(database: Database) -> Database:
    """Return a database with every queue declared, and with the default schema dbo omitted."""
    types = {
        name: replace(t, schema=t.schema and canonical(t.schema))
        for name, t in database.message_types.items()
    }
    services = {name: replace(s, queue=canonical(s.queue)) for name, s in database.services.items()}
    queues = {canonical(q.name): replace(q, name=canonical(q.name)) for q in queues_of(database)}
    schemas = {canonical(name): text for name, text in database.schemas.items()}
    certificates = {
        name: c if c.private_key or unwritable(c) else replace(c, private_key=written_key(c))
        for name, c in database.certificates.items()
    }
    return replace(
        database, message_types=types, services=services, queues=queues, schemas=schemas,
        certificates=certificates,
    )  # fmt: skip


def _endpoint(endpoint: Endpoint, port: int) -> Endpoint:
    return replace(
        endpoint,
        name=endpoint.name or ENDPOINT,
        port=endpoint.port or port,
        algorithms=tuple(word.upper() for word in endpoint.algorithms),
        authentication=_authentication(endpoint.authentication),
    )


def _authentication(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words in upper case, except for the certificate's name."""
    return tuple(
        word if n and words[n - 1].upper() == "CERTIFICATE" else word.upper()
        for n, word in enumerate(words)
    )
