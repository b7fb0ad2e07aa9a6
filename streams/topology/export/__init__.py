"""Export a topology as T-SQL that a server accepts; importing it gives the same topology.

For each property that T-SQL cannot express, the script has a comment and a :class:`LeftOut`. An
exported folder contains the missing part in its ``topology.yaml``.
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
