"""The catalog views and DMVs of a snapshot, and the columns that are read.

Columns have the views' own names. Hopline defines four views: ``server`` (the server's name and
time), ``row_counts`` (of truncated views), ``queue_depths``, and the instance's own addresses from
sys.dm_exec_connections. The scripts select exactly these columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class CellType(Enum):
    """The type of a cell; times are in UTC, except ``LOCAL`` times (the server's time zone)."""

    TEXT = "text"
    INT = "number"
    BIT = "bit"
    GUID = "guid"
    TIME = "time (UTC)"
    LOCAL = "time (local)"


class Scope(Enum):
    """Whether a view has rows per instance or per database."""

    INSTANCE = "instance"
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class View:
    """One view; a row without its ``key`` columns is a finding.

    ``source``, ``where`` and ``expressions`` are parts of the query that the view's name and
    columns do not determine.
    """

    name: str
    scope: Scope
    columns: Mapping[str, CellType]
    key: tuple[str, ...]
    source: str
    where: str = ""
    expressions: Mapping[str, str] | None = None


_KINDS = {
    "t": CellType.TEXT, "i": CellType.INT, "b": CellType.BIT,
    "g": CellType.GUID, "u": CellType.TIME, "l": CellType.LOCAL,
}  # fmt: skip


def _view(scope: Scope, name: str, key: str, columns: str, where: str = "", **more: object) -> View:
    """Build a view from ``name:kind`` words."""
    kinds = {n: _KINDS[k] for n, k in (word.split(":") for word in columns.split())}
    source = str(more.pop("source", f"sys.{name}"))
    expressions = {str(n): str(e) for n, e in more.items()}
    return View(name, scope, kinds, tuple(key.split()), source, where, expressions or None)


STATUS_NUMBERS = (
    916, 8494, 9617, 9642, 9666, 9727, 9728, 9730, 9731, 9733, 9734, 9735, 9736, 9737, 9748,
    9749, 9750, 9751, 9752, 9753, 9754, 9755, 9756, 9757, 9758, 9759, 9767, 9768, 9770, 9771,
    9779, 9780, 9781, 9782, 9783, 9784, 9785, 9788, 9789, 9790, 9791, 9792, 9793, 9794, 9795,
    9796, 9797, 11215, 11219, 15404, 15517, 15581, 28005, 28011, 28012, 28013, 28014, 28015,
    28016, 28017, 28018, 28020, 28021, 28022, 28023, 28024, 28025, 28026, 28027, 28028, 28029,
    28030, 28031, 28034, 28035, 28036, 28037, 28038, 28039, 28045, 28047, 28048, 28050, 28051,
    28054, 28056, 28058, 28059, 28069, 28070, 28072, 28073, 28075, 28079, 28080, 28081, 28082,
    28090, 33009,
)  # fmt: skip
"""Possible values of transmission_status (reference 4.6)."""

_SERVER = Scope.INSTANCE
_INSIDE = Scope.DATABASE

_STATUS_TEXTS = (
    f"message_id IN ({', '.join(map(str, STATUS_NUMBERS))}) AND language_id IN (1033, (SELECT "
    "l.msglangid FROM sys.syslanguages AS l JOIN sys.configurations AS c ON "
    "CONVERT(int, c.value_in_use) = l.langid WHERE c.configuration_id = 124))"
)
"""The server's texts for transmission_status, in English and in its default language."""

_ROWS = (
    _view(
        _SERVER, "server", "",
        "server_name:t machine_name:t product_version:t taken_at:u utc_offset_minutes:i",
        source="",
        server_name="CONVERT(nvarchar(256), SERVERPROPERTY('ServerName'))",
        machine_name="CONVERT(nvarchar(256), SERVERPROPERTY('MachineName'))",
        product_version="CONVERT(nvarchar(256), SERVERPROPERTY('ProductVersion'))",
        taken_at="CONVERT(nvarchar(30), GETUTCDATE(), 126)",
        utc_offset_minutes="DATEDIFF(minute, GETUTCDATE(), GETDATE())",
    ),
    _view(
        _SERVER, "databases", "name",
        "name:t database_id:i service_broker_guid:g is_broker_enabled:b "
        "is_honor_broker_priority_on:b state:i is_read_only:b user_access:i "
        "is_master_key_encrypted_by_server:b",
    ),
    _view(
        _SERVER, "database_mirroring", "database_id",
        "database_id:i mirroring_guid:g mirroring_role:i mirroring_partner_name:t",
        where="mirroring_guid IS NOT NULL",
    ),
    _view(
        _SERVER, "service_broker_endpoints", "name",
        "name:t endpoint_id:i state:i is_message_forwarding_enabled:b message_forwarding_size:i "
        "connection_auth:i certificate_id:i encryption_algorithm:i",
    ),
    _view(_SERVER, "tcp_endpoints", "endpoint_id port", "endpoint_id:i port:i"),
    _view(_SERVER, "server_principals", "principal_id name", "principal_id:i name:t"),
    _view(
        _SERVER, "server_permissions", "major_id permission_name",
        "class:i major_id:i grantee_principal_id:i permission_name:t state:t",
        where="class = 105",
    ),
    _view(_SERVER, "availability_groups", "group_id name", "group_id:g name:t"),
    _view(
        _SERVER, "availability_group_listeners", "group_id dns_name",
        "group_id:g dns_name:t port:i",
    ),
    _view(
        _SERVER, "availability_databases_cluster", "group_id database_name",
        "group_id:g database_name:t",
    ),
    _view(
        _SERVER, "dm_hadr_availability_replica_states", "group_id role",
        "group_id:g is_local:b role:i",
        where="is_local = 1",
    ),
    _view(
        _SERVER, "dm_exec_connections", "local_net_address", "local_net_address:t",
        where="local_net_address IS NOT NULL",
    ),
    _view(
        _SERVER, "dm_broker_connections", "state",
        "connection_id:g state:i connect_time:l login_time:l authentication_method:t "
        "principal_name:t remote_user_name:t last_activity_time:l is_accept:b login_state:i "
        "encryption_algorithm:i",
    ),
    _view(
        _SERVER, "dm_broker_forwarded_messages", "conversation_id",
        "conversation_id:g is_initiator:b to_service_name:t to_broker_instance:t "
        "from_service_name:t from_broker_instance:t adjacent_broker_address:t "
        "message_sequence_number:i message_fragment_number:i hops_remaining:i time_to_live:i "
        "time_consumed:i message_id:g",
    ),
    _view(
        _SERVER, "dm_broker_queue_monitors", "database_id queue_id",
        "database_id:i queue_id:i state:t last_empty_rowset_time:l last_activated_time:l "
        "tasks_waiting:i",
    ),
    _view(
        _SERVER, "messages", "message_id text", "message_id:i language_id:i text:t",
        where=_STATUS_TEXTS,
    ),
    _view(
        _INSIDE, "routes", "name address",
        "name:t route_id:i remote_service_name:t broker_instance:t lifetime:u address:t "
        "mirror_address:t",
    ),
    _view(_INSIDE, "services", "name", "name:t service_id:i service_queue_id:i principal_id:i"),
    _view(
        _INSIDE, "service_queues", "name",
        "name:t object_id:i schema_id:i max_readers:i activation_procedure:t "
        "is_activation_enabled:b is_receive_enabled:b is_enqueue_enabled:b "
        "is_retention_enabled:b is_poison_message_handling_enabled:b",
    ),
    _view(_INSIDE, "schemas", "name schema_id", "name:t schema_id:i"),
    _view(
        _INSIDE, "service_contracts", "name service_contract_id", "name:t service_contract_id:i"
    ),
    _view(
        _INSIDE, "service_contract_usages", "service_id service_contract_id",
        "service_id:i service_contract_id:i",
    ),
    _view(
        _INSIDE, "service_contract_message_usages", "service_contract_id message_type_id",
        "service_contract_id:i message_type_id:i is_sent_by_initiator:b is_sent_by_target:b",
    ),
    _view(
        _INSIDE, "service_message_types", "name message_type_id",
        "name:t message_type_id:i validation:t xml_collection_id:i",
    ),
    _view(
        _INSIDE, "xml_schema_collections", "xml_collection_id name",
        "xml_collection_id:i schema_id:i name:t",
    ),
    _view(
        _INSIDE, "conversation_priorities", "name",
        "name:t service_contract_id:i local_service_id:i remote_service_name:t priority:i",
    ),
    _view(
        _INSIDE, "remote_service_bindings", "name remote_service_name",
        "name:t remote_service_name:t remote_principal_id:i is_anonymous_on:b",
    ),
    _view(
        _INSIDE, "certificates", "name",
        "name:t certificate_id:i principal_id:i subject:t start_date:u expiry_date:u "
        "is_active_for_begin_dialog:b",
    ),
    _view(_INSIDE, "database_principals", "principal_id name", "principal_id:i name:t"),
    _view(
        _INSIDE, "database_permissions", "major_id permission_name",
        "class:i major_id:i grantee_principal_id:i permission_name:t state:t",
        where="class = 17",
    ),
    _view(
        _INSIDE, "conversation_endpoints", "conversation_handle conversation_id state",
        "conversation_handle:g conversation_id:g is_initiator:b service_contract_id:i "
        "conversation_group_id:g service_id:i lifetime:u state:t far_service:t "
        "far_broker_instance:t security_timestamp:u send_sequence:i end_dialog_sequence:i "
        "receive_sequence:i is_system:b",
    ),
    _view(
        _INSIDE, "transmission_queue", "conversation_handle to_service_name",
        "conversation_handle:g to_service_name:t to_broker_instance:t from_service_name:t "
        "service_contract_name:t enqueue_time:u message_sequence_number:i message_type_name:t "
        "is_conversation_error:b is_end_of_dialog:b body_length:i transmission_status:t",
        body_length="DATALENGTH(message_body)",
    ),
    _view(
        _INSIDE, "queue_depths", "object_id messages", "object_id:i messages:i",
        source="sys.internal_tables AS t JOIN sys.partitions AS p ON p.object_id = t.object_id",
        where="t.internal_type = 201 AND p.index_id = 1",
        object_id="t.parent_object_id",
        messages="p.rows",
    ),
    _view(_INSIDE, "row_counts", "view_name row_count", "view_name:t row_count:i", source=""),
)  # fmt: skip

VIEWS: Mapping[str, View] = {view.name: view for view in _ROWS}
"""All views by name (without ``sys.``), starting with the views of the instance."""

NEEDED = ("databases", "routes", "services")
"""Views without which a snapshot cannot show the path of a message."""
OPTIONAL = frozenset({"row_counts", "messages", "dm_exec_connections", "xml_schema_collections"})
"""Optional views, which only refine answers."""
