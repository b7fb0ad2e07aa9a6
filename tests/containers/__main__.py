"""``python -m tests.containers``: faults that only containers allow; ``make faults`` runs it.

It writes its part of docs/faults.md if all runs were requested, and exits with 1 if a message was
lost or delivered twice, or another check has failed.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from tests.containers.compose import ROOT, run
from tests.containers.container_faults import GROUPS
from tests.containers.page import faults_of, generated, rewrite
from tests.containers.run import run_group
from tests.containers.two_clusters import run_two_clusters

PAGE = ROOT / "docs" / "faults.md"
_BORDER = "two-clusters"


def main(arguments: list[str]) -> int:
    """Run the requested faults; return the exit code."""
    asked = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # end all processes that were started
    run("docker", "compose", "build", timeout=1800)
    wanted = asked.only or [*(g.name for g in GROUPS), _BORDER]
    outcomes, bad = [], []
    for group in (g for g in GROUPS if g.name in wanted):
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            outcome = run_group(group, asked.rate, Path(folder), _say)
        outcomes.append(outcome)
        for felt in outcome.felt:
            _say(f"  {felt.fault.service} {felt.fault.words}: felt for {felt.seconds:.1f} s")
        bad += [f"{group.name}: {n} {c}" for n, c in outcome.verdict.faults.items()]
        bad += [f"{group.name}: {n} {c}" for n, c in faults_of(outcome.account).items()]
        _say(f"{group.name}: {outcome.account['verdict']}")
    border = run_two_clusters(asked.rate / 2, _say) if _BORDER in wanted else None
    if border is not None:
        bad += [f"{_BORDER}: {n} {c}" for n, c in faults_of(border.account).items()]
        bad += [] if border.held and border.dropped and border.retried else [f"{_BORDER}: {border}"]
        _say(f"{_BORDER}: {border.account['verdict']}")
    _say(generated(outcomes, border))
    if not asked.only:
        PAGE.write_text(rewrite(PAGE.read_text("utf-8"), outcomes, border), "utf-8")
    _say(f"not as it must be: {', '.join(bad)}" if bad else "nothing lost")
    return 1 if bad else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("--rate", type=float, default=20.0, help="messages a second")
    parser.add_argument("--only", action="append", choices=[*(g.name for g in GROUPS), _BORDER])
    return parser


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
