"""All settings with their meanings, and the reader of `hopline.toml`; no other I/O."""

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
from streams.settings.prefix import PREFIX_RULE, is_prefix
from streams.settings.properties import (
    ADDRESS,
    REFUSED,
    STATED,
    Sourced,
    decides_trust,
    demand_safe,
    has_credentials,
    is_secret,
    property_variable,
    property_variables,
    unknown_variables,
    variable_of,
)
from streams.settings.replication import Replicas, Replication
from streams.settings.secrets import SUFFIX, is_filed, read_secret, with_files_read

__all__ = [
    "ADDRESS",
    "NOTHING",
    "NO_CREDENTIALS",
    "PREFIX_RULE",
    "REFUSED",
    "SECTIONS",
    "STATED",
    "SUFFIX",
    "ClusterSettings",
    "Credentials",
    "LogFormat",
    "PaceName",
    "Replicas",
    "Replication",
    "Setting",
    "SettingsFile",
    "Sourced",
    "WorkerSettings",
    "credentials_of",
    "decides_trust",
    "demand_safe",
    "has_credentials",
    "is_filed",
    "is_prefix",
    "is_secret",
    "property_variable",
    "property_variables",
    "read_secret",
    "read_settings",
    "setting_of",
    "settings_of",
    "unknown_variables",
    "variable_of",
    "with_files_read",
]
