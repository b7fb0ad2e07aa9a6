"""Grow an estate flow by flow up to the requested number of routes.

Applications send to services of their own region directly or through its gateways, and to services
of other regions through gateways and hubs. Every path has a return path. Planted defects are
recorded, so that a checker can be tested.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from streams.chance import Chance
from streams.errors import UsageError
from streams.topology.generate.defects import Defect, plant
from streams.topology.generate.draft import Draft, expectations
from streams.topology.generate.layout import Layout, lay_out
from streams.topology.generate.rows import (
    Flow,
    Home,
    Offer,
    PathKind,
    RouteDraft,
    Table,
    Tiers,
    rows_between,
)
from streams.topology.model import Topology, default_broker_id

_DOMAINS = ("Sales", "Stock", "Billing", "Shipping", "Customers", "Pricing", "Payroll", "Claims")
_NOUNS = ("Order", "Invoice", "Payment", "Shipment", "Account", "Quote", "Return", "Ledger")
_PATIENCE = 30
"""After this many consecutive flows that need too many routes, all later flows are LOCAL."""
_RECENT = 200
"""Number of recent flows whose services a new flow may share; frequent services are more likely."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The request for an estate. Raises UsageError for impossible numbers."""

    instances: int = 500
    routes: int = 5_000
    seed: int = 1
    defects: int = 0

    def __post_init__(self) -> None:
        if self.instances < 1 or self.routes < 0 or self.defects < 0:
            raise UsageError(
                "A topology needs at least one instance, and no number may be negative.",
                "Set --instances to at least 1; --routes and --defects may be 0.",
            )


@dataclass(frozen=True, slots=True)
class GeneratedEstate:
    """The topology, its flows, and its planted defects."""

    topology: Topology
    flows: tuple[Flow, ...]
    defects: tuple[Defect, ...]


def generate_estate(wish: Wish) -> GeneratedEstate:
    """Return an estate with exactly these numbers of instances, routes and defects.

    The number of routes excludes AutoCreatedLocal, and is the number before defects are planted.
    Raises UsageError if too few flows are left for the defects.
    """
    chance = Chance(wish.seed)
    layout = lay_out(wish.instances)
    draft = Draft(layout, chance)
    flows = _Growth(layout, chance, draft).grow(wish.routes)
    defects = plant(wish.defects, draft, flows, chance)
    return GeneratedEstate(draft.build(expectations(flows)), flows, defects)


class _Growth:
    """Draw flows from the applications in turn, preferably to services already in use."""

    def __init__(self, layout: Layout, chance: Chance, draft: Draft) -> None:
        self._layout = layout
        self._chance = chance
        self._draft = draft
        self._apps: list[tuple[int, Home]] = []
        self._stores: list[list[Table]] = []
        self._flows: list[Flow] = []
        self._near: list[list[Flow]] = [[] for _ in layout.regions]
        self._known: set[tuple[Table, str]] = set()
        self._offers = 0
        for number, region in enumerate(layout.regions):
            self._stores.append([])
            for at, server in enumerate(region.servers):
                self._furnish(number, region.name, server, at)

    def grow(self, routes: int) -> tuple[Flow, ...]:
        """Return flows that need exactly this number of routes."""
        turn, misses = 0, 0
        while (left := routes - self._draft.routes) > 0:
            region, app = self._apps[turn % len(self._apps)]
            turn += 1
            offer = self._offer(region) if misses < _PATIENCE else self._beside(region)
            flow = self._flow(region, app, offer, explicit=misses >= _PATIENCE)
            if flow is None or self._draft.missing(flow) > left:
                misses += 1
                continue
            misses = misses if misses >= _PATIENCE else 0
            self._accept(flow)
        return tuple(self._flows)

    def _furnish(self, number: int, region: str, server: str, at: int) -> None:
        """Add an application, a service's database, or both to a server."""
        domain = self._chance.pick(_DOMAINS)
        both = at == 0 or self._chance.once_in(5)
        if both or at % 2 == 0:
            table = (server, f"{domain}App")
            client = f"//estate/{region}/{server}/Client"
            self._apps.append((number, Home(table, client, default_broker_id(*table))))
        if both or at % 2 == 1:
            self._stores[number].append((server, domain))

    def _accept(self, flow: Flow) -> None:
        self._draft.add(flow)
        self._flows.append(flow)
        self._near[flow.offer.region].append(flow)
        self._known.add((flow.sender.table, flow.offer.service))
        self._offers = max(self._offers, flow.offer.number)

    # --- The services of an application ----------------------------------------------------------

    def _offer(self, region: int) -> Offer:
        """Return a recently used service or a new one, at random; most are in the region."""
        near = not self._chance.once_in(4)
        used = self._near[region] if near else self._flows
        if used and self._chance.once_in(2):
            return self._chance.pick(used[-_RECENT:]).offer
        number = region if near else self._chance.below(len(self._layout.regions))
        return self._new(number, self._homes(number))

    def _homes(self, region: int) -> tuple[Table, ...]:
        """Return the databases of a new service; a balanced service has 2 or 3 in one region."""
        stores = self._stores[region]
        first = self._chance.below(len(stores))
        wanted = self._chance.pick((1, 1, 1, 2, 2, 3))
        return tuple(stores[(first + n) % len(stores)] for n in range(min(wanted, len(stores))))

    def _new(self, region: int, tables: tuple[Table, ...]) -> Offer:
        chance = self._chance
        offer = Offer(
            self._offers + 1, region, tables[0][1].casefold(), chance.pick(_NOUNS), (),
            guarded=bool(self._layout.regions[region].gateways) and chance.once_in(3),
            by_name=len(tables) == 1 and chance.once_in(4),
        )  # fmt: skip
        homes = (Home(table, offer.service, default_broker_id(*table)) for table in tables)
        return replace(offer, homes=tuple(homes))

    def _beside(self, region: int) -> Offer:
        """Return a new service on the region's first server, which also has an application."""
        return self._new(region, (self._stores[region][0],))

    # --- Paths of its messages -----------------------------------------------------------------

    def _flow(self, region: int, app: Home, offer: Offer, *, explicit: bool) -> Flow | None:
        """Return the flow; ``None`` if it exists, or if the server has one of the several homes."""
        if (app.table, offer.service) in self._known:
            return None
        if any(home.table[0] == app.table[0] for home in offer.homes):
            return self._local(app, offer, explicit=explicit)
        path_kind, tiers = self._path_of(region, offer)
        return Flow(app, offer, path_kind, tiers, rows_between(app, offer, tiers))

    def _local(self, app: Home, offer: Offer, *, explicit: bool) -> Flow | None:
        """Return a flow within an instance, which uses its own route or AutoCreatedLocal."""
        if len(offer.homes) > 1:
            return None
        here, [home] = app.table[0], offer.homes
        broker = None if offer.by_name else home.broker
        stated = explicit or self._chance.once_in(2)
        rows = (RouteDraft(app.table, offer.service, broker, here),) if stated else ()
        return Flow(app, offer, PathKind.LOCAL, (), rows)

    def _path_of(self, region: int, offer: Offer) -> tuple[PathKind, Tiers]:
        regions = self._layout.regions
        if region != offer.region:
            near, far = regions[region].gateways, regions[offer.region].gateways
            return PathKind.HUBS, (near, self._layout.hubs, far)
        if offer.guarded:
            return PathKind.GATEWAYS, (regions[region].gateways,)
        return PathKind.DIRECT, ()
