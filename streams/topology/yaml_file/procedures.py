"""The code of ``topology.yaml``: the procedures that begin, receive or end dialogs."""

from __future__ import annotations

from streams.system_names import DEFAULT
from streams.topology.procedures import BeginDialog, Comparison, Procedure
from streams.topology.yaml_file.nodes import Node, optional

_PROCEDURE = ("begins", "ends", "ends_on", "receives", "calls", "external")
_BEGIN = (
    "service", "to", "broker", "contract", "related", "encryption", "unresolved", "sends",
    "ends_after_send",
)  # fmt: skip
_MANY = 2**31 - 1


def read_procedures(node: Node) -> dict[str, Procedure]:
    """Read procedures, keyed by name."""
    rows = node.named("procedures").items()
    return {name: _procedure(name, key, value) for name, (key, value) in rows}


def _procedure(name: str, key: Node, node: Node) -> Procedure:
    given = node.fields("a procedure", _PROCEDURE)
    begins = given["begins"].items("begins") if "begins" in given else ()
    # Only the number of END CONVERSATION statements, because the file does not have their places.
    ends = given["ends"].integer("ends", 0, _MANY) if "ends" in given else 0
    receives, calls, ends_on = (
        given[word].texts(word) if word in given else ()
        for word in ("receives", "calls", "ends_on")
    )
    compared = ((Comparison(ends_on),),) * ends if ends_on else ()
    return Procedure(
        name, tuple(_begin(item) for item in begins), (key.source,) * ends, receives, calls,
        compared, "external" in given and given["external"].switch("external"), key.source,
    )  # fmt: skip


def _begin(node: Node) -> BeginDialog:
    given = node.fields("a BEGIN DIALOG", _BEGIN)
    encryption = given["encryption"].switch("encryption") if "encryption" in given else None
    service, to, broker = (optional(given, word) for word in ("service", "to", "broker"))
    return BeginDialog(
        service, to, broker,
        optional(given, "contract") if "contract" in given else DEFAULT,
        "related" in given and given["related"].switch("related"),
        encryption is not False,
        given["unresolved"].texts("unresolved") if "unresolved" in given else (),
        encryption is True,
        given["sends"].texts("sends") if "sends" in given else (),
        "ends_after_send" in given and given["ends_after_send"].switch("ends_after_send"),
        node.source,
    )  # fmt: skip
