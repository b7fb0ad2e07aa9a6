"""The account costs no more than its records, whatever places the records of others name."""

from __future__ import annotations

import uuid

import pytest

from streams.report import Accepted, Ending, Endings, EndpointKey, Fate, balance

DIALOG = uuid.UUID(int=7)
MANY = 100


class Counting(dict[EndpointKey, int]):
    """Acknowledgements of targets, by place; counts how often one was looked up."""

    lookups = 0

    def get(self, key: EndpointKey, default: int = 0) -> int:  # type: ignore[override]
        """Return the acknowledged number of a place."""
        self.lookups += 1
        return super().get(key, default)


@pytest.mark.parametrize("senders", [1, MANY])
def test_forged_places_of_targets_are_not_searched_for_each_message(senders: int) -> None:
    """Events may name any number of databases, and statements any number of messages."""
    places = [EndpointKey(f"B/D{n}", DIALOG, False) for n in range(MANY)]
    acknowledged = Counting(dict.fromkeys(places, 0))
    sent = [
        Accepted(EndpointKey(f"A/D{n % senders}", DIALOG, True), uuid.UUID(int=n + 1), n, b"x")
        for n in range(MANY)
    ]
    ledger = balance(sent, [], [], Endings(unaccepted=acknowledged))
    assert ledger.outcomes == {Fate.ERROR_RECEIVED: 1, Fate.LOST: MANY - 1}
    assert acknowledged.lookups <= 2 * MANY


def test_the_first_deaf_place_without_a_state_decides() -> None:
    """Later ones explain nothing more, and one with an EndDialog has received everything."""
    first, *others = (EndpointKey(f"B/D{n}", DIALOG, False) for n in range(3))
    sent = [Accepted(EndpointKey("A/D", DIALOG, True), uuid.UUID(int=1), 0, b"x")]
    ends = dict.fromkeys((first, *others), Ending.PLAIN)
    assert balance(sent, [], [], Endings(ends, end_dialogs={first})).outcomes == {
        Fate.PEER_ENDED: 1
    }
    assert balance(sent, [], [], Endings(ends, end_dialogs={first, *others})).lost
