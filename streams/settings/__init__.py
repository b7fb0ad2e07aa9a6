"""What can be set, what each setting means, and what `hopline.toml` says of it; no client, no I/O
but that one file.
"""

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
    REFUSED,
    Sourced,
    demand_safe,
    is_secret,
    property_variables,
    unknown_variables,
)

__all__ = [
    "NOTHING",
    "REFUSED",
    "SECTIONS",
    "ClusterSettings",
    "LogFormat",
    "PaceName",
    "Setting",
    "SettingsFile",
    "Sourced",
    "WorkerSettings",
    "demand_safe",
    "is_secret",
    "property_variables",
    "read_settings",
    "setting_of",
    "settings_of",
    "unknown_variables",
]
