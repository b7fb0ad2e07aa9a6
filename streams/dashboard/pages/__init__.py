"""The pages, in the order of the navigation."""

from streams.dashboard.page import Page
from streams.dashboard.pages.overview import OVERVIEW

PAGES: tuple[Page, ...] = (OVERVIEW,)
"""To add a page: one module of this package, and one name here."""
