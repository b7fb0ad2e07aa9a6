"""Read and write ``topology.yaml``: nodes with places, and the documented structure."""

from streams.topology.yaml_file.document import Document, ScriptName, read_document
from streams.topology.yaml_file.write import write_document

__all__ = ["Document", "ScriptName", "read_document", "write_document"]
