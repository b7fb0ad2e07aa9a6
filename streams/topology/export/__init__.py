"""Export a topology as T-SQL that a server accepts, and that imports as the same topology.

For everything that T-SQL cannot express, there is a comment in its place and a :class:`LeftOut`; an
exported folder has the missing part in its ``topology.yaml``.
"""

from streams.topology.export.explicit import explicit_instance
from streams.topology.export.folder import Folder, export_folder
from streams.topology.export.instance import database_script, instance_script
from streams.topology.export.script import LeftOut, Script

__all__ = [
    "Folder",
    "LeftOut",
    "Script",
    "database_script",
    "explicit_instance",
    "export_folder",
    "instance_script",
]
