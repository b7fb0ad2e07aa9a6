"""Names of Service Broker that every database knows: services, message types, and keywords."""

PREFIX = "http://schemas.microsoft.com/SQL/ServiceBroker/"  # http, not https: C-02
DEFAULT = "DEFAULT"
"""The message type and the contract that a statement uses if it names none."""
ERROR = PREFIX + "Error"
END_DIALOG = PREFIX + "EndDialog"
DIALOG_TIMER = PREFIX + "DialogTimer"
NOTICE = PREFIX + "BrokerConfigurationNotice"
"""The contract of requests for routes, and the first part of their message types' names."""
SYSTEM_SERVICE = PREFIX + "ServiceBroker"
"""The system service of every database, which begins its own conversations."""
_NOTIFICATIONS = "http://schemas.microsoft.com/SQL/Notifications/"
EVENT_NOTIFICATION = _NOTIFICATIONS + "EventNotification"
POST_EVENT_NOTIFICATION = _NOTIFICATIONS + "PostEventNotification"
QUERY_NOTIFICATION = _NOTIFICATIONS + "QueryNotification"
POST_QUERY_NOTIFICATION = _NOTIFICATIONS + "PostQueryNotification"
EVENT_NOTIFICATION_SERVICE = _NOTIFICATIONS + "EventNotificationService"
"""The service from which a database sends its event notifications."""
SYSTEM_SERVICES = frozenset(
    {SYSTEM_SERVICE, EVENT_NOTIFICATION_SERVICE, _NOTIFICATIONS + "QueryNotificationService"}
)
"""The services that every database has; the last two only begin dialogs."""
NOTIFYING_SERVICES = SYSTEM_SERVICES - {SYSTEM_SERVICE}
"""The services of event notifications and query notifications, which only begin dialogs."""
MSDB_SERVICES = frozenset(
    {"ExternalMailService", "InternalMailService", "syspolicy_event_listener"}
)
"""The services that msdb is shipped with, for Database Mail and Policy-Based Management."""
CONFIGURATION_SERVICE = "SQL/ServiceBroker/BrokerConfiguration"
CURRENT_DATABASE = "CURRENT DATABASE"
"""The keyword of BEGIN DIALOG for the id of the broker in which the dialog begins."""


SYSTEM_QUEUES = frozenset(
    {"ServiceBrokerQueue", "EventNotificationErrorsQueue", "QueryNotificationErrorsQueue"}
)
"""The queues that every database has, in the schema dbo."""


def is_current_database(broker: str | None) -> bool:
    """Return whether BEGIN DIALOG has this keyword instead of a broker id."""
    return broker is not None and broker.upper() == CURRENT_DATABASE
