"""The rules of CREATE and ALTER ROUTE: V1 to V14 of the reference (1.4), as a table.

A rule checks the resulting route, even for ALTER. A T-SQL statement that breaks a rule is not
applied, as in the engine. YAML defines records as they are (C-06). Both kinds of violation become
TA-20.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streams.errors import Number, text_of
from streams.routing import CONFIGURATION_SERVICE, Address, AddressKind, parse_address
from streams.topology.findings import Finding, Severity, Source, finding_at
from streams.topology.objects import Route

LIFETIME_MAX = 2_147_483_647  # U-05
LIMITS = {"SERVICE_NAME": 256, "BROKER_INSTANCE": 128, "ADDRESS": 256, "MIRROR_ADDRESS": 256}
"""Maximum length of each clause in UTF-16 units (reference 1.2)."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A resulting route, and the other clauses of the statement."""

    route: Route
    lifetime: int | None = None
    prefixed: bool = False
    taken: bool = False

    @property
    def clauses(self) -> tuple[tuple[str, str | None], ...]:
        """Return the string clauses with their values."""
        r = self.route
        values = (r.service, r.broker, r.address, r.mirror)
        return tuple(zip(LIMITS, values, strict=True))

    @property
    def addresses(self) -> tuple[Address | None, Address | None]:
        """Return both addresses in parsed form; ``None`` if missing or invalid."""
        mirror = self.route.mirror
        return parse_address(self.route.address), parse_address(mirror) if mirror else None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: ``broken`` returns the violation, or nothing; ``number`` is SQL Server's error."""

    name: str
    number: Number | None
    broken: Callable[[Proposal], str | None]
    remedy: str


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that a proposal breaks."""

    rule: Rule
    detail: str


def _empty(p: Proposal) -> str | None:
    names = [name for name, value in p.clauses if value == ""]
    return f"{', '.join(names)} is empty" if names else None


def _long(p: Proposal) -> str | None:
    long = [name for name, value in p.clauses if value is not None and _units(value) > LIMITS[name]]
    return f"{', '.join(long)} is longer than {LIMITS[long[0]]} characters" if long else None


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _broker_alone(p: Proposal) -> str | None:
    alone = p.route.broker is not None and p.route.service is None
    return "BROKER_INSTANCE is given without SERVICE_NAME" if alone else None


def _mirror_alone(p: Proposal) -> str | None:
    r = p.route
    if r.mirror is None or (r.service is not None and r.broker is not None):
        return None
    return "MIRROR_ADDRESS is given, but SERVICE_NAME or BROKER_INSTANCE is missing"


def _mirror_keyword(p: Proposal) -> str | None:
    if p.route.mirror is None:
        return None
    words = [a.kind.value for a in p.addresses if a and a.kind is not AddressKind.NETWORK]
    return f"MIRROR_ADDRESS is given together with {words[0]}" if words else None


def _no_address(p: Proposal) -> str | None:
    written = (p.route.address, p.route.mirror)
    bad = [w for w, a in zip(written, p.addresses, strict=True) if w and a is None]
    return f"'{bad[0]}' is not a valid address" if bad else None


def _transport_named(p: Proposal) -> str | None:
    address = p.addresses[0]
    named = p.route.service is not None or p.route.broker is not None
    if address is None or address.kind is not AddressKind.TRANSPORT or not named:
        return None
    return "ADDRESS is TRANSPORT, and a service or a broker instance is named"


def _lifetime(p: Proposal) -> str | None:
    if p.lifetime is None or 1 <= p.lifetime <= LIFETIME_MAX:
        return None
    return f"LIFETIME is {p.lifetime}"


def _same_address(p: Proposal) -> str | None:
    one, other = p.addresses
    if one is None or other is None or one.kind is not AddressKind.NETWORK:
        return None
    return f"ADDRESS and MIRROR_ADDRESS are both {one}" if one.key == other.key else None


def _configuration(p: Proposal) -> str | None:
    named = p.route.service == CONFIGURATION_SERVICE and p.route.broker is not None
    return "a route to the configuration service names a BROKER_INSTANCE" if named else None


def _service_syntax(p: Proposal) -> str | None:
    service = p.route.service
    if not service or (service.strip() and service.isprintable()):
        return None
    return "SERVICE_NAME is blank or has control characters"


def _broker_syntax(p: Proposal) -> str | None:
    broker = p.route.broker
    if not broker or (broker == broker.strip() and broker.isprintable()):
        return None
    return "BROKER_INSTANCE begins or ends with a blank or has control characters"


def _prefixed(p: Proposal) -> str | None:
    return f"the name '{p.route.name}' has a prefix" if p.prefixed else None


def _taken(p: Proposal) -> str | None:
    return f"the database already has a route '{p.route.name}'" if p.taken else None


RULES = (
    Rule("V1", Number.CLAUSE_EMPTY, _empty, "Leave the clause out or give it a value."),
    Rule("V2", Number.CLAUSE_TOO_LONG, _long, "Shorten the value."),
    Rule("V3", Number.BROKER_WITHOUT_SERVICE, _broker_alone, "Add SERVICE_NAME."),
    Rule("V4", Number.MIRROR_WITHOUT_BROKER, _mirror_alone,
         "Add SERVICE_NAME and the broker id of the mirrored database."),
    Rule("V5", Number.MIRROR_WITH_KEYWORD, _mirror_keyword,
         "Give both addresses as TCP://host:port."),
    Rule("V6", Number.ADDRESS_INVALID, _no_address,
         "Write TCP://host:port, LOCAL or TRANSPORT."),
    Rule("V7", Number.TRANSPORT_WITH_SERVICE, _transport_named,
         "Leave the service and the broker instance out, or give a network address."),
    Rule("V8", Number.LIFETIME_RANGE, _lifetime, f"Give seconds from 1 to {LIFETIME_MAX}."),
    Rule("V9", Number.ADDRESS_EQUALS_MIRROR, _same_address,
         "Give the other partner's address, or no MIRROR_ADDRESS."),
    Rule("V10", None, _configuration, "Leave BROKER_INSTANCE out."),
    Rule("V11", Number.SERVICE_NAME_SYNTAX, _service_syntax, "Write the service's exact name."),
    Rule("V12", Number.BROKER_INSTANCE_SYNTAX, _broker_syntax,
         "Write the service_broker_guid of the target database."),
    Rule("V13", Number.TOO_MANY_PREFIXES, _prefixed, "Write the name without a prefix; select "
                                                     "its database with USE."),
    Rule("V14", None, _taken, "Give the route another name, or use ALTER ROUTE."),
)  # fmt: skip
"""The documentation does not state SQL Server's error numbers for V10 and V14 (U-06)."""


def breaches(proposal: Proposal) -> tuple[Breach, ...]:
    """Return all rules that a route breaks, in the order of the reference."""
    found = ((rule, rule.broken(proposal)) for rule in RULES)
    return tuple(Breach(rule, detail) for rule, detail in found if detail is not None)


NOT_UNDERSTOOD = "not understood"
"""Beginning of a TA-20 message about a statement that could not be parsed."""


def ddl_finding(
    message: str,
    remedy: str,
    subject: str,
    source: Source,
    *,
    rule: str = "",
    number: int | None = None,
    severity: Severity = Severity.ERROR,
) -> Finding:
    """Create a TA-20: a statement or a record that the engine would reject."""
    evidence = {"rule": rule, "number": number} if rule else {"number": number} if number else {}
    return finding_at("TA-20", severity, message, remedy, subject, source, evidence)


def breach_finding(breach: Breach, name: str, subject: str, source: Source) -> Finding:
    """Create the finding for a broken rule, with SQL Server's error number, if any."""
    rule = breach.rule
    number = None if rule.number is None else int(rule.number)
    why = f"{number}, {text_of(number)}" if number is not None else "the engine refuses it"
    message = f"route {name}: {breach.detail} ({rule.name}: {why})"
    return ddl_finding(message, rule.remedy, subject, source, rule=rule.name, number=number)
