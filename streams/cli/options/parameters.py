"""Parameter types, which are checked before the command contacts Kafka or other systems."""

from __future__ import annotations

import math
import re

import click

from streams.errors import UsageError
from streams.settings import PREFIX_RULE, Replication, is_prefix

Param = click.Parameter | None
Context = click.Context | None

_PARTS = ("instance", "database", "service")


class Finite(click.FloatRange):
    """A finite number within a range."""

    def convert(self, value: object, param: Param, ctx: Context) -> float:
        """Return the number that a string such as ``0.5`` represents."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class Seconds(click.ParamType):
    """A time in seconds, limited by the Kafka client: 31 bits of milliseconds."""

    name = "seconds"

    def __init__(self, least: float = 0.0, most: float = 2_147_483.0) -> None:
        self.least, self.most = least, most

    def convert(self, value: object, param: Param, ctx: Context) -> float:
        """Return the number that a string such as ``0.5`` represents."""
        seconds = float(click.FLOAT.convert(value, param, ctx))
        if not self.least <= seconds <= self.most:  # also rejects NaN
            self.fail(f"{value} is not between {self.least:.0f} and {self.most:.0f}.", param, ctx)
        return seconds


class ReplicationText(click.ParamType):
    """The setting `replication`, as validated text."""

    name = "replication"

    def convert(self, value: object, param: Param, ctx: Context) -> str:
        """Return the text if it is valid."""
        try:
            return Replication(str(value)).text
        except UsageError as error:
            self.fail(f"{error.message} {error.remedy}", param, ctx)


class WithUnit(click.ParamType):
    """A number with an optional unit: ``10x``, ``500/s``."""

    def __init__(self, name: str, unit: str) -> None:
        self.name, self._unit = name, unit

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        text = re.sub(f"{re.escape(self._unit)}$", "", str(value).strip())
        try:
            return float(text)
        except ValueError:
            self.fail(f"{value!r} is not a {self.name}; write 10 or 10{self._unit}.", param, ctx)


class Address(click.ParamType):
    """A listening address: HOST:PORT, or a port alone, as validated text; may be empty."""

    name = "address"

    def convert(self, value: object, param: Param, ctx: Context) -> str:
        """Return the text if it is valid."""
        text = str(value)
        if text:
            from streams.telemetry import address_of  # import the Prometheus library only on demand

            try:
                address_of(text)
            except UsageError as error:
                self.fail(f"{error.message} {error.remedy}", param, ctx)
        return text


class TopicPrefix(click.ParamType):
    """A prefix of topic names: characters that Kafka allows."""

    name = "text"

    def convert(self, value: object, param: Param, ctx: Context) -> str:
        """Return the text, if topic names can begin with it."""
        text = str(value)
        if not is_prefix(text):
            self.fail(f"Topic names cannot begin with '{text}': {PREFIX_RULE}", param, ctx)
        return text


class Name(click.ParamType):
    """A service's name, or a broker id: any non-empty text."""

    def __init__(self, what: str) -> None:
        self.name = what

    def convert(self, value: object, param: Param, ctx: Context) -> str:
        """Return the text, if not empty."""
        text = str(value)
        if not text:
            self.fail(f"The {self.name} must not be empty.", param, ctx)
        return text


class PlaceText(click.ParamType):
    """A place in a form such as ``INSTANCE/DATABASE[/SERVICE]``, as validated text.

    The catalog is checked for this place later.
    """

    def __init__(self, form: str) -> None:
        self.name = form
        self.least = form.partition("[")[0].count("/") + 1

    def convert(self, value: object, param: Param, ctx: Context) -> str:
        """Return the text, if it is complete."""
        text = str(value)
        parts = text.split("/", len(_PARTS) - 1)  # a service name may contain slashes
        for index, what in enumerate(_PARTS):
            if (index < self.least) if index >= len(parts) else not parts[index]:
                self.fail(f"'{text}' has no {what}; write {self.name}.", param, ctx)
        return text


ADDRESS, SECONDS, TOPIC_PREFIX = Address(), Seconds(), TopicPrefix()
SERVICE, BROKER_ID = Name("service"), Name("id")
REPLICATION = ReplicationText()
IN_DATABASE = PlaceText("INSTANCE/DATABASE")
SENDER = PlaceText("INSTANCE/DATABASE[/SERVICE]")
SENDING_SERVICE = PlaceText("INSTANCE/DATABASE/SERVICE")
