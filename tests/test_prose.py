"""The functions that wrap, count and list text for users."""

from __future__ import annotations

from fractions import Fraction

import pytest

from streams.prose import clipped, counted, listed, meant, percent, wrapped, wrapping_at


def test_a_folded_text_hangs_below_its_first_line() -> None:
    assert wrapped("one two three", "> ", width=9) == ["> one two", "  three"]
    assert wrapped("one two three", "", "  ", width=7) == ["one two", "  three"]


def test_a_word_that_is_too_long_stays_whole() -> None:
    path = "/a/very/long-path/to-a/file.sql"
    assert wrapped(f"see {path}", width=12) == ["see", path]
    assert all(len(line) <= 12 for line in wrapped(f"see {path}", width=12, break_words=True))


def test_no_text_is_one_line() -> None:
    assert wrapped("", "why   ") == ["why"]


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 ways"), (1, "1 way"), (2, "2 ways"), (1024, "1,024 ways")]
)
def test_a_number_of_things(number: int, text: str) -> None:
    assert counted(number, "way") == text


def test_a_noun_may_have_its_own_plural_and_a_verb() -> None:
    assert counted(1, "entry", "entries") == "1 entry"
    assert counted(2, "message waits", "messages wait") == "2 messages wait"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("", ""),
        ("a", "a"),
        ("ab", "a and b"),
        ("abc", "a, b and c"),
        ("abcde", "a, b, c and 2 more"),
    ],
)
def test_many_names_are_cut(names: str, text: str) -> None:
    assert listed(names, 3) == text


def test_names_to_choose_from() -> None:
    assert listed(["a", "b"], last="or") == "a or b"


def test_a_share() -> None:
    assert percent(Fraction(1, 3)) == "33.3 %"


def test_what_somebody_wrote_is_cut() -> None:
    assert clipped("abcdef", 6) == "abcdef"
    assert clipped("abcdefg", 6) == "abc..."


def test_the_nearest_name_may_be_meant() -> None:
    assert meant("adress", ["aliases", "address"]) == "Did you mean 'address'?"
    assert meant("adress", ["port"]) == ""


def test_the_output_width_is_the_readers_meanwhile() -> None:
    text = "x " * 60
    with wrapping_at(20):
        assert max(map(len, wrapped(text))) == 19
        assert max(map(len, wrapped(text, width=10))) == 9
    assert max(map(len, wrapped(text))) == 99


def test_a_name_in_another_case_is_the_closest() -> None:
    known = ["DatabaseA", "DatabaseB", "TargetService"]
    assert meant("databaseb", known) == "Did you mean 'DatabaseB'?"
    assert meant("TARGETSERVICE", known) == "Did you mean 'TargetService'?"
