"""The agents of a topology, which implement services; `hopline up` runs them.

An agent is a process that runs either a service that comes with Hopline (:class:`ShippedService`)
or a custom application (``MODULE:APP``). Agents are not in the catalog, because no worker needs
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from streams.errors import HoplineError, InputError, UsageError
from streams.routing import CONFIGURATION_SERVICE
from streams.topology.findings import NOWHERE, Source


class ShippedService(Enum):
    """A service that comes with Hopline."""

    DATA_DEPENDENT_ROUTING = "data-dependent-routing"
    CONFIGURATION_NOTICE = "configuration-notice"


DEFAULT_SERVICES: Mapping[ShippedService, str] = {
    ShippedService.DATA_DEPENDENT_ROUTING: "DataDependentRouting",
    ShippedService.CONFIGURATION_NOTICE: CONFIGURATION_SERVICE,
}
"""Default service of each kind of agent (U-40)."""


class Language(Enum):
    """The language of a classifier's expression."""

    XPATH = "xpath"
    JMESPATH = "jmespath"
    AVRO = "avro"
    PYTHON = "python"


@dataclass(frozen=True, slots=True)
class Stated:
    """A text of the topology file, with its place."""

    text: str
    source: Source = field(default=NOWHERE, compare=False)

    def error(self, message: str, remedy: str) -> HoplineError:
        """Return an error at this place; a place without a file is the command line."""
        s = self.source
        if s == NOWHERE:
            return UsageError(message, remedy)
        return InputError(message, file=s.file, line=s.line, column=s.column, remedy=remedy)


@dataclass(frozen=True, slots=True)
class Classification:
    """How a message body selects a service: by the text that ``expression`` finds in it.

    The text is the service's name or a key of ``services``; any other text selects ``otherwise``.
    ``namespaces`` are the prefixes of XPath; ``schema`` is the schema file for AVRO.
    """

    language: Language
    expression: Stated
    services: Mapping[str, str] = field(default_factory=dict)
    otherwise: str | None = None
    namespaces: Mapping[str, str] = field(default_factory=dict)
    schema: Stated | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """A process that implements services; ``settings`` contains the settings of its kind, as text.

    ``runs`` is the value of a :class:`ShippedService`, or MODULE:APP.
    """

    name: str
    runs: Stated
    settings: Mapping[str, Stated] = field(default_factory=dict)
    classifier: Classification | None = None
    source: Source = field(default=NOWHERE, compare=False)

    @property
    def service(self) -> str | None:
        """Return the service that the agent implements; ``None`` if the application names it."""
        return self.setting("service") or (DEFAULT_SERVICES[self.kind] if self.kind else None)

    @property
    def kind(self) -> ShippedService | None:
        """Return which of Hopline's services the agent is; ``None`` for a custom application."""
        return next((kind for kind in ShippedService if kind.value == self.runs.text), None)

    def setting(self, name: str) -> str | None:
        """Return a setting's text, if given."""
        found = self.settings.get(name)
        return None if found is None else found.text
