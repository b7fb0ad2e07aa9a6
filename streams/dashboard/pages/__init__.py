"""The pages, in the order of the navigation."""

from streams.dashboard.page import Page
from streams.dashboard.pages.dialog import DIALOG
from streams.dashboard.pages.overview import OVERVIEW
from streams.dashboard.pages.topology import TOPOLOGY

PAGES: tuple[Page, ...] = (OVERVIEW, TOPOLOGY, DIALOG)
"""To add a page, add a module to this package, and its name here."""
