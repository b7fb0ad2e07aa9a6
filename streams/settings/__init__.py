"""What can be set, what each setting means, and what `hopline.toml` says of it; no client, no I/O
but that one file.
"""

from streams.settings.clusters import NO_CREDENTIALS, Credentials, credentials_of
from streams.settings.file import NOTHING, SettingsFile, read_settings
from streams.settings.model import (
    SECTIONS,
    ClusterSettings,
    LogFormat,
    PaceName,
    Setting,
    WorkerSettings,
    setting_of,
    settings_of,
)
from streams.settings.properties import (
    ADDRESS,
    REFUSED,
    Sourced,
    demand_safe,
    is_secret,
    property_variables,
    unknown_variables,
    variable_of,
)

__all__ = [
    "ADDRESS",
    "NOTHING",
    "NO_CREDENTIALS",
    "REFUSED",
    "SECTIONS",
    "ClusterSettings",
    "Credentials",
    "LogFormat",
    "PaceName",
    "Setting",
    "SettingsFile",
    "Sourced",
    "WorkerSettings",
    "credentials_of",
    "demand_safe",
    "is_secret",
    "property_variables",
    "read_settings",
    "setting_of",
    "settings_of",
    "unknown_variables",
    "variable_of",
]
