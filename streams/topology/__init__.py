"""The topology: instances, databases, routes and services, from a folder or a catalog.

:func:`load` reads ``topology.yaml`` and T-SQL; :func:`routing_instances` compiles the result for
:mod:`streams.routing`; :func:`flatten` turns it into the objects of the ``catalog`` topic. The
package is pure except for the files that :func:`load` reads; time is an argument. The model is in
:mod:`streams.topology.model` (instances) and :mod:`streams.topology.objects` (databases).
"""

from streams.topology.agents import (
    DEFAULT_SERVICES,
    Agent,
    Classification,
    Language,
    ShippedService,
    Stated,
)
from streams.topology.catalog import catalog_key, flatten, split_key, unflatten
from streams.topology.compile import (
    directory,
    instance_at,
    routing_instance,
    routing_instance_of,
    routing_instances,
)
from streams.topology.failover import failover
from streams.topology.findings import NOWHERE, Finding, Severity, Skipped, Source, finding_at
from streams.topology.history import with_history
from streams.topology.load import FILE, apply_sql, load, load_with_notes
from streams.topology.lookup import (
    accepted_contracts,
    accepts,
    contract_of,
    queue_named,
    queue_of,
    queues_by_service,
    queues_of,
    schema_of,
    schemas_by_type,
)
from streams.topology.model import (
    MSDB,
    Claims,
    Cluster,
    Endpoint,
    EndpointState,
    Expectation,
    Ingress,
    Instance,
    Neighbour,
    Topology,
    Transport,
    default_broker_id,
    empty_database,
)
from streams.topology.objects import (
    Binding,
    Contract,
    Database,
    MessageType,
    Mirror,
    Priority,
    Queue,
    Role,
    Route,
    Sender,
    Service,
    Validation,
    queue_name,
)
from streams.topology.offers import Offer, route_key
from streams.topology.pairs import (
    MirroredPair,
    home_of,
    homes_of,
    hosts_of,
    pair_names,
    pairs_of,
    principal_of,
)
from streams.topology.procedures import BeginDialog, Procedure
from streams.topology.security import (
    OWNER,
    Certificate,
    Encryption,
    Grant,
    PrivateKey,
    Securable,
)
from streams.topology.share import clusters_of, next_instances, share_of
from streams.topology.suppressions import SUPPRESSIONS_FILE, Suppression
from streams.topology.system import SYSTEM_CONTRACTS, SYSTEM_MESSAGE_TYPES
from streams.topology.yaml_file.directory import load_offers
from streams.topology.yaml_file.suppressions import load_suppressions

__all__ = [
    "DEFAULT_SERVICES",
    "FILE",
    "MSDB",
    "NOWHERE",
    "OWNER",
    "SUPPRESSIONS_FILE",
    "SYSTEM_CONTRACTS",
    "SYSTEM_MESSAGE_TYPES",
    "Agent",
    "BeginDialog",
    "Binding",
    "Certificate",
    "Claims",
    "Classification",
    "Cluster",
    "Contract",
    "Database",
    "Encryption",
    "Endpoint",
    "EndpointState",
    "Expectation",
    "Finding",
    "Grant",
    "Ingress",
    "Instance",
    "Language",
    "MessageType",
    "Mirror",
    "MirroredPair",
    "Neighbour",
    "Offer",
    "Priority",
    "PrivateKey",
    "Procedure",
    "Queue",
    "Role",
    "Route",
    "Securable",
    "Sender",
    "Service",
    "Severity",
    "ShippedService",
    "Skipped",
    "Source",
    "Stated",
    "Suppression",
    "Topology",
    "Transport",
    "Validation",
    "accepted_contracts",
    "accepts",
    "apply_sql",
    "catalog_key",
    "clusters_of",
    "contract_of",
    "default_broker_id",
    "directory",
    "empty_database",
    "failover",
    "finding_at",
    "flatten",
    "home_of",
    "homes_of",
    "hosts_of",
    "instance_at",
    "load",
    "load_offers",
    "load_suppressions",
    "load_with_notes",
    "next_instances",
    "pair_names",
    "pairs_of",
    "principal_of",
    "queue_name",
    "queue_named",
    "queue_of",
    "queues_by_service",
    "queues_of",
    "route_key",
    "routing_instance",
    "routing_instance_of",
    "routing_instances",
    "schema_of",
    "schemas_by_type",
    "share_of",
    "split_key",
    "unflatten",
    "with_history",
]
