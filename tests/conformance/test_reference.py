"""Tests show every rule that the list claims, and the list has every rule that tests show."""

from __future__ import annotations

from collections import Counter

from tests.node.codes import CODES
from tests.node.rulings import DIALOGS, FORWARDING
from tests.routing.conformance import ROWS
from tests.routing.rulings import RULINGS
from tests.services.rulings import SERVICES
from tests.topology.rulings import DDL, RESTORE

from .evidence import evidence, functions, level_of
from .reference import SHOWN, VERDICTS, rules

STATED = {r.id for r in (*RULINGS, *FORWARDING, *DIALOGS, *CODES, *DDL, *RESTORE, *SERVICES)}


def test_a_verdict_is_what_is_shown() -> None:
    """A rule has tests if its verdict is same, stronger or weaker, and otherwise no tests."""
    for rule in rules():
        assert rule.verdict in VERDICTS, rule
        assert bool(rule.shown) is (rule.verdict in SHOWN), rule
        assert rule.why or rule.verdict in ("same", "not yet"), f"{rule.id} needs its reason"


def test_what_a_rule_names_exists() -> None:
    """The named tests and rules exist, and every test has a level."""
    for rule in rules():
        assert [test for test in rule.tests if test not in functions()] == [], rule
        assert [other for other in rule.by if other not in STATED] == [], rule
        assert all(level_of(test) for test in rule.shown), rule


def test_ids_are_unique() -> None:
    assert [i for i, n in Counter(rule.id for rule in rules()).items() if n > 1] == []


def test_nothing_is_shown_that_nobody_states() -> None:
    """Every rule, example, choice and conflict that a test shows has a line."""
    known = {rule.id for rule in rules()}
    examples = {row.id.rstrip("abcdefgh") for row in ROWS if row.id.startswith("EX-")}
    assert sorted(set(evidence()) - known - STATED) == []
    assert sorted(examples - known) == []
    assert sorted(i for i in STATED - known if i.startswith(("EX-", "U-", "C-"))) == []
