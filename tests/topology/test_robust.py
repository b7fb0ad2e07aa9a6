"""Whatever is in the files, the answer is a topology or an error with its place."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.errors import InputError
from streams.topology import Topology, apply_sql, empty_database, flatten, unflatten
from streams.topology.model import Instance
from streams.topology.yaml_file import read_document

SQL = [
    "CREATE", "ALTER", "DROP", "ROUTE", "R", "[R", "WITH", "SERVICE_NAME", "=", "'S'", ",", ";",
    "ADDRESS", "'tcp://h'", "BROKER_INSTANCE", "LIFETIME", "5", "QUEUE", "SERVICE", "ON", "(", ")",
    "CONTRACT", "SENT BY ANY", "MESSAGE TYPE", "ENDPOINT", "AS TCP", "LISTENER_PORT", "\nGO\n",
    "FOR SERVICE_BROKER", "DATABASE", "SET NEW_BROKER", "USE", "msdb", "/*", "*/", "--", "'", "IF",
    "STATE = STARTED", "MESSAGE_FORWARDING = ENABLED", "PROCEDURE", "\n:r x", "-", ".", "\x00",
    "BROKER PRIORITY P", "FOR CONVERSATION", "SET (", "CONTRACT_NAME", "ANY", "PRIORITY_LEVEL",
    "XML SCHEMA COLLECTION X AS", "STATUS = OFF", "SET HONOR_BROKER_PRIORITY ON",
]  # fmt: skip
YAML = [
    "instances", "databases", "A", "DB", ": ", ":\n  ", ":\n    ", "- ", "\n", "{", "}", "[", "]",
    "routes", "services", "schemas", "priorities", "name", "address", "'tcp://h'", "null", "!!int ",
    "&a ", "*a", "<<", "?",
    "'", '"', "5", "on", "endpoint", "expect", "clusters", "|", "#", "\t", "\x00", "%", "@",
]  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.sampled_from(SQL), max_size=30).map(" ".join))
def test_any_script_is_applied_or_refused(text: str) -> None:
    """Words in any order never end in anything but a topology or InputError with a line."""
    base = Topology({"I": Instance("I", empty_database("I", "msdb"), {})})
    try:
        topology = apply_sql(base, "I", "msdb", text, 1.0)
    except InputError as error:
        assert error.line > 0 and error.column > 0
    else:
        assert unflatten(flatten(topology)) == topology


@settings(max_examples=300)
@given(st.lists(st.sampled_from(YAML), max_size=25).map("".join))
def test_any_yaml_is_read_or_refused(text: str) -> None:
    """The same for topology.yaml."""
    try:
        read_document(text, "topology.yaml", 1.0)
    except InputError as error:
        assert error.message and error.line > 0
