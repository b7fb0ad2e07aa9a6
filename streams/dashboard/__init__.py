"""What the monitor has found, to look at: `hopline dashboard`, pages that read and change nothing.

A page is a module of :mod:`streams.dashboard.pages`: pure functions make values of figures, a
template makes HTML of them, and :mod:`streams.dashboard.frame` alone hands them to NiceGUI.
"""

from streams.dashboard.config import DashboardConfig
from streams.dashboard.serve import serve

__all__ = ["DashboardConfig", "serve"]
