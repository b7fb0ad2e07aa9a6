"""Decide where a message goes, and explain the decision. Only this package chooses routes.

The functions are pure: they take and return values, and use only the standard library. Start with
:mod:`streams.routing.rules`.
"""

from streams.routing.address import (
    DEFAULT_PORT,
    LOCAL,
    TRANSPORT,
    Address,
    AddressKind,
    address_from_name,
    network,
    parse_address,
)
from streams.routing.decision import FOREVER, Decision, Explanation, Plan, TraceStep, Verdict
from streams.routing.hashing import order_databases, pick_broker
from streams.routing.locate import locate
from streams.routing.model import (
    AUTO_CREATED_LOCAL,
    Database,
    Instance,
    Origin,
    Query,
    Route,
    RoutingTable,
    auto_created_local,
    broker_key,
    broker_order,
)
from streams.routing.plan import explain, plan
from streams.system_names import CONFIGURATION_SERVICE, SYSTEM_SERVICE

__all__ = [
    "AUTO_CREATED_LOCAL",
    "CONFIGURATION_SERVICE",
    "DEFAULT_PORT",
    "FOREVER",
    "LOCAL",
    "SYSTEM_SERVICE",
    "TRANSPORT",
    "Address",
    "AddressKind",
    "Database",
    "Decision",
    "Explanation",
    "Instance",
    "Origin",
    "Plan",
    "Query",
    "Route",
    "RoutingTable",
    "TraceStep",
    "Verdict",
    "address_from_name",
    "auto_created_local",
    "broker_key",
    "broker_order",
    "explain",
    "locate",
    "network",
    "order_databases",
    "parse_address",
    "pick_broker",
    "plan",
]
