"""transmission_status in the wordings in which servers write it."""

from __future__ import annotations

from collections import Counter

import pytest

from streams.analysis.diagnose import CAUSES, read_status
from streams.analysis.diagnose.meanings import meaning
from streams.topology.snapshot import STATUS_NUMBERS

ENGLISH = {
    9750: "No route matches the destination service name for this conversation. Create a route to "
    "the destination service name for messages in this conversation to be delivered.",
    9796: "The target service name matched a LOCAL route, but there is no service by that name in "
    "the local SQL Server instance.",
    9753: "The target service broker is unreachable.",
    28017: "The message has been dropped because the target service broker is unreachable.",
    9791: "The broker is disabled in the sender's database.",
    9789: "Unable to route the incoming message. The system database msdb containing routing "
    "information is not available. The broker is disabled in msdb.",
    9748: "The Service Broker protocol transport is not available.",
    28027: "Connection handshake failed. There is no compatible authentication protocol. State 21.",
    28034: "Connection handshake failed. The login 'D\\x$' does not have CONNECT permission on the "
    "endpoint. State 84.",
    28013: "The Service Broker in the target database is unavailable: 'The service broker is "
    "administratively disabled.'.",
    9727: "Dialog security is not available for this conversation because there is no remote "
    "service binding for the target service. Create a remote service binding, or specify "
    "ENCRYPTION = OFF in the BEGIN DIALOG statement.",
}
GERMAN = {9750: ("Keine Route entspricht dem Zieldienstnamen für diese Konversation.",),
          9754: ("Verbindungsversuch mit Fehler: '%.*ls'.",),
          9736: ("Fehler bei der Dialogübertragung: Fehler: %i, Status: %i. %.*ls",)}  # fmt: skip


@pytest.mark.parametrize("number", ENGLISH)
def test_english_by_its_phrases(number: int) -> None:
    assert read_status(ENGLISH[number], {}).number == number


def test_nothing_was_tried() -> None:
    for text in (None, "", "  "):
        status = read_status(text, {})
        assert (status.empty, status.number, status.unknown) == (True, None, False)


def test_any_language_by_the_servers_own_words() -> None:
    text = "Keine Route entspricht dem Zieldienstnamen für diese Konversation."
    assert read_status(text, {}).unknown
    assert read_status(text, GERMAN).number == 9750
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
    text = "An error occurred in dialog transmission: Error: 28051, State: 1. x"
    assert read_status(text, {}).number == 28051
    text = "Fehler bei der Dialogübertragung: Fehler: 8494, Status: 1. x"
    assert read_status(text, GERMAN).number == 8494
    unknown = "An error occurred in dialog transmission: Error: 17, State: 1. x"
    assert read_status(unknown, {}).number == 9736


def test_a_number_that_is_none_of_ours_is_not_taken() -> None:
    assert read_status("port 40221 at 10.97.50.1, 2026-09-21T12:00:00.9750", {}).unknown


def test_every_number_of_a_status_is_some_causes() -> None:
    claimed = Counter(number for cause in CAUSES for number in cause.numbers)
    silent = set(STATUS_NUMBERS) - set(claimed)
    assert not silent
    assert all(count == 1 for count in claimed.values())


def test_every_number_of_a_status_has_a_sentence() -> None:
    assert not [n for n in STATUS_NUMBERS if meaning(n).startswith("SQL Server error")]
