"""Take away any rule of the five tables, and some row of the conformance table notices."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from streams.routing.rules import RULES

from .conformance import ROWS

EVERY_RULE = tuple((f.name, rule.name) for f in fields(RULES) for rule in getattr(RULES, f.name))

# One of the two concerns what began here, the other what came from another instance.
EITHER_ORDER = {("R1.1", "R2.1"), ("R8.1", "R8.2")}


@pytest.mark.parametrize(("table", "name"), EVERY_RULE, ids=lambda part: part)
def test_a_missing_rule_is_noticed(table: str, name: str) -> None:
    """Without this rule at least one row is red."""
    rest = tuple(rule for rule in getattr(RULES, table) if rule.name != name)
    assert any(row.is_red(replace(RULES, **{table: rest})) for row in ROWS)


@pytest.mark.parametrize("table", [f.name for f in fields(RULES)])
def test_the_order_of_the_rules_is_noticed(table: str) -> None:
    """Swapping two neighbours turns a row red, except where the order cannot matter."""
    rules = getattr(RULES, table)
    for at in range(len(rules) - 1):
        swapped = (*rules[:at], rules[at + 1], rules[at], *rules[at + 2 :])
        noticed = any(row.is_red(replace(RULES, **{table: swapped})) for row in ROWS)
        pair = (rules[at].name, rules[at + 1].name)
        assert noticed is (pair not in EITHER_ORDER), pair


def test_no_row_is_red_with_all_rules() -> None:
    """The rows notice what is missing, not what is there."""
    assert not [row.id for row in ROWS if row.is_red(RULES)]
