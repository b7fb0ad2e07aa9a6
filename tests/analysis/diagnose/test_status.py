"""transmission_status in the wordings in which servers write it."""

from __future__ import annotations

from collections import Counter

import pytest

from streams.analysis.diagnose import CAUSES, read_status
from streams.analysis.diagnose.meanings import meaning
from streams.analysis.diagnose.status import PHRASES
from streams.topology.snapshot import STATUS_NUMBERS
from tests.analysis.diagnose.texts import TEXTS, text

GERMAN = {9750: ("Keine Route entspricht dem Zieldienstnamen für diese Konversation.",),
          9754: ("Verbindungsversuch mit Fehler: '%.*ls'.",),
          9736: ("Fehler bei der Dialogübertragung: Fehler: %i, Status: %i. %.*ls",)}  # fmt: skip


TEMPLATES = {number: (template,) for number, template in TEXTS.items()}
INNER: dict[str, int] = {
    text(28012, text(28013)): 28013,
    text(28016, text(28014)): 28014,
    text(28012, text(28018)): 28018,
    text(28005, 15517, 1, text(15517, "dbo")): 15517,
    text(28005, 33009, 2, text(33009, "Shop", "Shop")): 33009,
    text(28005, 916, 3, text(916, "sa", "Shop")): 916,
    text(28005, 916, 3): 916,
    text(28005, 1205, 13, "Transaction (Process ID 7) was deadlocked."): 28005,
    text(9736, 15404, 19, text(15404, "CORP\\ann", "0x5")): 15404,
    text(9736, 28051, 1, "x"): 28051,
    text(9736, 17, 1, "x"): 9736,
    text(28072, 3, 8494, 1, 5): 8494,
    text(9754, "10061(No connection could be made.)"): 9754,
    text(28035, "The certificate has expired."): 28035,
    text(9642, 8474, 11, "Target", "10.0.0.1"): 9642,
    text(9642, 5, 11, "Target", "10.0.0.1:11219"): 9642,
    "Fehler bei der Dialogübertragung: Fehler: 916, Status: 1.": 916,
    "出现错误：错误：15517，状态：1。": 15517,
    "Queue 916, port 4022.": 0,
}
HANDSHAKES = [n for n, t in TEXTS.items() if t.startswith("Connection handshake failed")]


@pytest.mark.parametrize("number", STATUS_NUMBERS)
def test_every_text_of_the_documentation_is_recognized(number: int) -> None:
    """By its phrase alone, and together with the templates of all errors."""
    assert read_status(text(number), {}).number == number
    assert read_status(text(number), TEMPLATES).number == number


def test_every_phrase_is_in_the_text_of_its_error() -> None:
    assert [p for n, p in PHRASES if p not in TEXTS[n].casefold()] == []
    assert {n for n, _ in PHRASES} == set(TEXTS) == set(STATUS_NUMBERS)


@pytest.mark.parametrize("status", INNER)
def test_an_error_that_another_one_names(status: str) -> None:
    for templates in ({}, TEMPLATES):
        assert (read_status(status, templates).number or 0) == INNER[status]


@pytest.mark.parametrize("number", HANDSHAKES)
def test_a_failed_login_names_the_handshakes_error(number: int) -> None:
    """28047 and 28048 end with the reason and the peer's address."""
    for wrapper, values in ((28047, ("Service Broker",)), (28048, ("Service Broker", "x"))):
        status = text(wrapper, *values, text(number), "[CLIENT: 10.0.0.1]")
        assert read_status(status, {}).number == number
        assert read_status(status, TEMPLATES).number == number


def test_nothing_was_tried() -> None:
    for empty in (None, "", "  "):
        status = read_status(empty, {})
        assert (status.empty, status.number, status.unknown) == (True, None, False)


def test_any_language_by_the_servers_own_words() -> None:
    status = "Keine Route entspricht dem Zieldienstnamen für diese Konversation."
    assert read_status(status, {}).unknown
    assert read_status(status, GERMAN).number == 9750
    assert read_status("Verbindungsversuch mit Fehler: 'x'.", GERMAN).number == 9754


def test_the_parts_of_a_template_are_found_in_order_in_linear_time() -> None:
    """A file's own template and status may be such that a regular expression never ends."""
    templates = {9750: ("%s" + "a%s" * 1_000 + "B",), 9754: ("b%s a %d!",)}
    assert read_status("a" * 100_000, templates).number is None
    assert read_status("a" * 999 + "b", templates).number is None
    assert read_status("a" * 1_000 + "b", templates).number == 9750
    assert read_status("a b! a 1", templates).number is None
    assert read_status("B, a 1!", templates).number == 9754


def test_any_language_by_a_number_in_it() -> None:
    assert read_status("Erreur : 28051, État : 1.", {}).number == 28051
    assert read_status("Ошибка: '10061(…)'", {}).number == 9754
    assert (
        read_status(
            "接続エラー: '10054(既存の接続はリモート ホストに強制的に切断されました。)'", {}
        ).number
        == 9755
    )
    assert read_status("'11001(Host unbekannt)'", {}).number == 9783


def test_a_wrapped_error_takes_precedence_over_its_wrapper() -> None:
    status = "Fehler bei der Dialogübertragung: Fehler: 8494, Status: 1. x"
    assert read_status(status, GERMAN).number == 8494


def test_a_number_that_is_none_of_ours_is_not_taken() -> None:
    assert read_status("port 40221 at 10.97.50.1, 2026-09-21T12:00:00.9750", {}).unknown


def test_every_number_of_a_status_is_some_causes() -> None:
    claimed = Counter(number for cause in CAUSES for number in cause.numbers)
    silent = set(STATUS_NUMBERS) - set(claimed)
    assert not silent
    assert all(count == 1 for count in claimed.values())


def test_every_number_of_a_status_has_a_sentence() -> None:
    assert not [n for n in STATUS_NUMBERS if meaning(n).startswith("SQL Server error")]
