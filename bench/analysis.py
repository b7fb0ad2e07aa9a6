"""CPU time of analyses of a whole topology: check, explain, path, and reading 100,000 routes.

Run ``make bench-analysis``, or ``python -m bench.analysis``.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from bench.layers import CASES, SENDER, TARGET
from bench.measure import Bench
from bench.part import hand_over, options
from streams.analysis import Question, explain_decision, find_at, find_paths, find_sender, path_text
from streams.analysis.check import check_topology
from streams.resources import topologies_dir
from streams.topology import FILE, load
from streams.topology.generate import Wish, generate_estate

NOW = 1_800_000_000.0
MANY = 100_000


def scripts(folder: Path) -> Path:
    """Write a T-SQL script with many routes."""
    rows = (
        f"CREATE ROUTE [R{n}] WITH SERVICE_NAME = N'//bench/Service{n}', "
        f"BROKER_INSTANCE = '{n:08x}-0000-0000-0000-000000000000', "
        f"ADDRESS = N'TCP://host{n % 500}:4022';\nGO\n"
        for n in range(MANY)
    )
    (folder / "bench.sql").write_text("USE Home;\nGO\n" + "".join(rows), encoding="utf-8")
    return folder


def document(folder: Path) -> Path:
    """Write a topology.yaml with many routes."""
    rows = "".join(
        f"          - {{name: R{n}, service_name: //bench/Service{n}, broker_instance: B{n}, "
        f"address: 'tcp://host{n % 500}:4022'}}\n"
        for n in range(MANY)
    )
    head = "instances:\n  Bench:\n    databases:\n      Home:\n        routes:\n"
    (folder / FILE).write_text(head + rows, encoding="utf-8")
    return folder


def main() -> None:
    """Print one line for each measurement."""
    given = options(__doc__).parse_args()
    table = Bench("answers about a topology, CPU time of each", given.rounds)
    combined = load(topologies_dir() / "combined", NOW)
    at, home = find_at(combined, "ServerA/DatabaseA")
    asks = Question(at, home, "TargetService")
    table.rate("explain, topologies/combined", partial(explain_decision, combined, asks, NOW), 1e4)
    for name, make in CASES.items():
        topology = make()
        place = find_sender(topology, SENDER, TARGET)
        ask = partial(find_paths, topology, place, TARGET, NOW)
        table.time(f"path, {name}", ask, 1.0)
        table.time("  and its text", partial(path_text, ask()))
    estate = generate_estate(Wish(500, 5_000, seed=1, defects=0)).topology
    table.time("check, 500 instances", partial(check_topology, estate, NOW), 10.0)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        sql, yaml = scripts(Path(one)), document(Path(two))
        table.time(f"read {MANY:,} routes from T-SQL", partial(load, sql, NOW))
        table.time(f"read {MANY:,} routes from YAML", partial(load, yaml, NOW))
    hand_over(table.rows, given)


if __name__ == "__main__":
    main()
