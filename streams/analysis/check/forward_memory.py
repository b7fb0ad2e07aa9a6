"""Find forwarders without enough memory for messages in transit (TA-35)."""

from __future__ import annotations

from collections.abc import Iterator

from streams.analysis.check.registry import Check
from streams.analysis.estate import Estate
from streams.analysis.flows.flow_answer import passages
from streams.analysis.objects import finding
from streams.prose import counted
from streams.protocol import Limits
from streams.topology import Finding, Severity

FRAGMENT = Limits().fragment
"""The size of the largest fragment, in bytes (U-23)."""
_MEGABYTE = 1024 * 1024


def budgets(estate: Estate) -> Iterator[Finding]:
    """Find forwarders that cannot buffer one fragment of every flow through them (5.1-6)."""
    flows: dict[str, list[str]] = {}
    for passage in passages(estate):
        for name in passage.forwarders:
            flows.setdefault(name, []).append(str(passage.flow))
    for name, through in flows.items():
        instance = estate.topology.instances[name]
        budget = instance.endpoint.forward_size_mb * _MEGABYTE
        # Messages and replies both need memory.
        needed = 2 * FRAGMENT * len(through)
        if budget < needed:
            yield finding(
                "TA-35", Severity.WARNING, instance, instance.endpoint.source,
                f"{name} forwards {counted(len(through), 'flow')} and may buffer {budget:,} bytes; "
                f"one fragment for each flow and direction needs {needed:,} bytes",
                "Raise MESSAGE_FORWARD_SIZE of its endpoint, or move flows to another forwarder.",
                forward_size_mb=instance.endpoint.forward_size_mb, needed_bytes=needed,
                flows=len(through), some=through[:5],
            )  # fmt: skip


CHECKS = (
    Check(
        "TA-35",
        "A forwarder with too little memory for its flows",
        (Severity.WARNING,),
        "reference 5.1-6",
        "A forwarder buffers in-flight messages in memory, up to MESSAGE_FORWARD_SIZE. It "
        "silently drops a copy that does not fit (11289), and the sender retries. How much memory "
        "is needed depends on the traffic. The minimum for a burst on all flows is one fragment "
        "of 64 KiB for each flow and direction.",
        "Raise MESSAGE_FORWARD_SIZE. `hopline simulate` shows how much a scenario needs.",
        budgets,
    ),
)
