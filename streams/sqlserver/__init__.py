"""Take snapshots of running SQL Servers: the only package that connects to them.

:mod:`url` reads the address of a server, :mod:`connection` runs the snapshot script there, and
:mod:`refusals` explains why a server or its driver refuses. The text that a server returns is read
by :mod:`streams.topology.snapshot`, like a file.
"""

from streams.sqlserver.connection import Driver, load_driver, take_snapshot
from streams.sqlserver.url import PASSWORD, Server, read_url

__all__ = ["PASSWORD", "Driver", "Server", "load_driver", "read_url", "take_snapshot"]
