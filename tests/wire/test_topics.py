"""Topic names: injective both ways, legal for Kafka, never two objects on one topic."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from streams.wire import Topics, escape, unescape
from streams.wire.place import TopicPlace, place_of

thoroughly = settings(max_examples=300)

LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")
anything = st.text(st.characters(), max_size=20)  # lone surrogates too
awkward = st.lists(st.sampled_from("\\/._-aA0é€😀\ud800\udc00 "), max_size=12).map("".join)
parts = st.one_of(anything, awkward)
longer = st.builds(lambda text, times: text * times, parts, st.integers(1, 40))
wholes = st.lists(longer, min_size=1, max_size=3).map(tuple)


@thoroughly
@given(parts)
@example("SQL01\\PROD")
@example("//shop/Queue")
@example("\ud83d\ude00")  # two lone surrogates, which are not the character that they would make
def test_unescape_gives_back_what_was_escaped(part: str) -> None:
    """Instance, database, schema and queue names come back as they were."""
    assert unescape(escape(part)) == part


@thoroughly
@given(parts)
def test_an_escaped_part_is_legal_and_has_no_dot(part: str) -> None:
    """A part has only characters that Kafka allows, and never the one that joins parts."""
    assert re.fullmatch(r"[A-Za-z0-9_-]*", escape(part))
    assert "__" not in escape(part)


@thoroughly
@given(parts, parts)
def test_escaping_is_injective(one: str, other: str) -> None:
    """Two different names are never escaped alike; ``.`` and ``_`` are no exception."""
    assert (escape(one) == escape(other)) is (one == other)


@thoroughly
@given(wholes, wholes)
def test_names_of_topics_are_injective(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    """Two different objects never share a topic, however long their names are."""
    topics = Topics()
    assert (topics.name("queue", *one) == topics.name("queue", *other)) is (one == other)


@thoroughly
@given(st.tuples(longer, longer), st.tuples(longer, longer))
def test_two_clusters_never_write_into_one_topic(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    """Nor one cluster for two gateways: ("a.b", "c") is not ("a", "b.c")."""
    topics = Topics()
    assert (topics.ingress(*one) == topics.ingress(*other)) is (one == other)
    assert LEGAL.fullmatch(topics.ingress(*one))


@thoroughly
@given(parts.filter(bool), parts.filter(bool))
def test_the_name_of_an_ingress_says_whose_it_is(gateway: str, cluster: str) -> None:
    """As far as it can be printed."""
    assume(all(not set(text) & set(map(chr, range(0xD800, 0xE000))) for text in (gateway, cluster)))
    topics = Topics()
    assume(len(topics.ingress(gateway, cluster)) < 249)
    place = place_of(topics.ingress(gateway, cluster), topics)
    assert place == TopicPlace("ingress", gateway, cluster=cluster)


@thoroughly
@given(wholes)
def test_names_of_topics_are_legal(whole: tuple[str, ...]) -> None:
    """Kafka takes every name: its characters, and at most 249 of them."""
    assert LEGAL.fullmatch(Topics().name("queue", *whole))


@thoroughly
@given(st.integers(240, 260), st.sampled_from("a_é"))
def test_lengths_around_the_limit(length: int, letter: str) -> None:
    """One character more is another topic, below, at and beyond 249."""
    topics = Topics()
    assert topics.cmd(letter * length) != topics.cmd(letter * (length + 1))
    assert len(topics.cmd(letter * length)) <= 249


@pytest.mark.parametrize("part", ["-ff", "-ed-a0-80", "A-e2-82"])
def test_a_topic_that_is_not_escaped_has_the_name_that_it_shows(part: str) -> None:
    """Who may create topics may name them anything; a name must be printable."""
    assert Topics().home("dialog", f"ssb.dialog.{part}") == part


def test_no_name_looks_like_one_that_was_hashed() -> None:
    """Not even a name that is made to: what a long name ends in is no legal escape."""
    topics = Topics()
    for seed in range(100):
        shortened = topics.queue("I", "d" * 240 + str(seed), "q")
        assert len(shortened) == 249
        forged = shortened.removeprefix("ssb.queue.").split(".")
        with suppress(UnicodeDecodeError):
            assert topics.queue("I", *map(unescape, forged[-2:])) != shortened


def test_the_names_of_an_instance() -> None:
    """The names say what the topic is, to a reader who knows nothing of escaping."""
    topics = Topics("t.")
    assert topics.cmd("ServerA") == "t.cmd.ServerA"
    assert topics.inbox("ServerA") == "t.in.ServerA"
    assert topics.queue("SQL01\\PROD", "Shop", "sales.Orders") == (
        "t.queue.SQL01-5cPROD.Shop.sales-2eOrders"
    )
    assert [topics.catalog, topics.presence, topics.event] == ["t.catalog", "t.presence", "t.event"]


def test_kinds_do_not_collide() -> None:
    """One instance has seven topics of its own, and one for each cluster that writes to it."""
    t = Topics()
    made = (t.cmd, t.out, t.txq, t.inbox, t.ack, t.dialog, t.result)
    assert len({*(make("X") for make in made), t.ingress("X", "a"), t.ingress("X", "b")}) == 9
