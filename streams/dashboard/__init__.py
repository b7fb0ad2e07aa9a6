"""The dashboard of the monitor's figures, `hopline dashboard`, with read-only pages.

A page is a module of :mod:`streams.dashboard.pages`: pure functions turn figures into values, a
template turns the values into HTML, and only :mod:`streams.dashboard.frame` uses NiceGUI.
"""

from streams.dashboard.config import DashboardConfig
from streams.dashboard.serve import serve

__all__ = ["DashboardConfig", "serve"]
