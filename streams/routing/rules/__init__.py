"""The routing decision as tables of rules, R1 to R10 of the reference (section 2.2).

A message passes through five tables. In each table, the rules are tried from the top until one
answers:

    ENTRY   may this message be classified at all, and is it a reply?     R1.1, R2.1, REPLY
    MATCH   which routes match?                                           M1 ... M7
    CHOOSE  which tier of these is used?                                   R5.1 ... R5.5
    LOCATE  LOCAL: which database?                                        R7.1, R7.2a, R7.2b
    SEND    network: loop back, forward if allowed, or just send?         R8.1 ... R8.4, R6

A rule takes the context and the remaining routes. It returns routes (the next table continues with
them), a decision (the end), or nothing (the next rule is tried). The tables are values, so a test
can remove one rule and require that an example of the reference fails.
"""

from __future__ import annotations

from dataclasses import dataclass

from streams.routing.rules.choose import CHOOSE
from streams.routing.rules.entry import ENTRY
from streams.routing.rules.locate import LOCATE
from streams.routing.rules.match import MATCH
from streams.routing.rules.rule import Context, Found, Routes, Rule
from streams.routing.rules.send import SEND

__all__ = ["RULES", "Context", "Found", "Routes", "Rule", "Rules"]


@dataclass(frozen=True, slots=True)
class Rules:
    """The five tables together; tests use a copy with one rule removed."""

    entry: tuple[Rule, ...] = ENTRY
    match: tuple[Rule, ...] = MATCH
    choose: tuple[Rule, ...] = CHOOSE
    locate: tuple[Rule, ...] = LOCATE
    send: tuple[Rule, ...] = SEND


RULES = Rules()
