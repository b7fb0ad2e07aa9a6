"""Credentials and addresses of other clusters, which no catalog stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from streams.settings.file import SettingsFile
from streams.settings.properties import Sourced, cluster_variables, demand_safe, folded
from streams.settings.secrets import with_files_read


@dataclass(frozen=True, slots=True)
class Credentials:
    """librdkafka's properties for other clusters, by the credentials' case-insensitive name."""

    _by_name: Mapping[str, Mapping[str, Sourced]] = field(default_factory=dict, repr=False)

    def __iter__(self) -> Iterator[tuple[str, str, Sourced]]:
        """Yield the name, property and value of each setting."""
        for name, properties in sorted(self._by_name.items()):
            for key, sourced in sorted(properties.items()):
                yield name, key, sourced

    def named(self, name: str) -> dict[str, str]:
        """Return the properties of one name; empty if the name is not set."""
        return {key: s.value for key, s in self._by_name.get(folded(name), {}).items()}


NO_CREDENTIALS = Credentials()


def credentials_of(file: SettingsFile, environment: Mapping[str, str]) -> Credentials:
    """Return the credentials of a file and of variables, which override the file.

    Raises UsageError for a property that cannot be set, or a password file that is unreadable.
    """
    found: dict[str, dict[str, Sourced]] = {}
    for name, properties in file.clusters.items():
        found.setdefault(folded(name), {}).update(with_files_read(properties))
    by_cluster: dict[str, dict[str, Sourced]] = {}
    for name, key, sourced in cluster_variables(environment):
        demand_safe({key: sourced.value}, sourced.source, elsewhere=True)
        by_cluster.setdefault(folded(name), {})[key] = sourced
    for name, variables in by_cluster.items():
        found.setdefault(name, {}).update(with_files_read(variables))
    return Credentials(found)
