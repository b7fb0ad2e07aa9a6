"""Next-hop addresses: what CREATE ROUTE says, what its examples do, and what nobody says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.routing import (
    DEFAULT_PORT,
    LOCAL,
    TRANSPORT,
    Address,
    address_from_name,
    network,
    parse_address,
)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("tcp://ServerB:4022", "ServerB", 4022),
        ("TCP://dispatch.Adventure-Works.com:4999", "dispatch.Adventure-Works.com", 4999),
        ("tcp://host2.Adventure-Works.com:4022/", "host2.Adventure-Works.com", 4022),
        ("tcp://10.0.0.4:1433", "10.0.0.4", 1433),
        ("tcp://[::1]:4022", "[::1]", 4022),
        ("TCP://[2001:DB8::7]:4022/", "[2001:DB8::7]", 4022),
        ("tcp://h:1", "h", 1),
        ("tcp://h:65535", "h", 65535),
        ("  tcp://h:5000  ", "h", 5000),
    ],
)
def test_network_addresses(text: str, host: str, port: int) -> None:
    """``TCP://host:port`` in any case; a trailing slash is stripped; IPv6 stands in brackets."""
    assert parse_address(text) == network(host, port)


@pytest.mark.parametrize("text", ["TCP://dispatch.Adventure-Works.com", "tcp://[::1]", "tcp://h/"])
def test_the_port_is_optional(text: str) -> None:
    """Without a port 4022 is meant (U-03, C-03)."""
    parsed = parse_address(text)
    assert parsed is not None
    assert parsed.port == DEFAULT_PORT == 4022
    assert parsed.key == network(parsed.host).key


@pytest.mark.parametrize("text", ["LOCAL", "local", "Local", " local "])
def test_local_is_a_keyword_in_any_case(text: str) -> None:
    """LOCAL has no case (U-04)."""
    assert parse_address(text) is LOCAL


@pytest.mark.parametrize("text", ["TRANSPORT", "transport", "Transport"])
def test_transport_is_a_keyword_in_any_case(text: str) -> None:
    """TRANSPORT has no case (U-04)."""
    assert parse_address(text) is TRANSPORT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ServerB",
        "ServerB:4022",
        "http://ServerB:4022",
        "tcp://",
        "tcp://:4022",
        "tcp://h:",
        "tcp://h:0",
        "tcp://h:65536",
        "tcp://h:123456",
        "tcp://h:٤٠٢٢",
        "tcp://h:4022/Service",
        "tcp://h:4022//",
        "tcp://a b:4022",
        "tcp://::1:4022",
        "tcp://[::1:4022",
        "tcp://[]:4022",
        "LOCALE",
        "tcp://h:4022\ntcp://h:4022",
    ],
)
def test_what_is_no_address(text: str) -> None:
    """Anything else is refused (9744 of CREATE ROUTE)."""
    assert parse_address(text) is None


def test_hosts_have_no_case() -> None:
    """Two spellings of a host have one key, and each keeps its spelling."""
    one, other = network("ServerB"), network("SERVERB")
    assert one.key == other.key
    assert (str(one), str(other)) == ("tcp://ServerB:4022", "tcp://SERVERB:4022")
    assert one.key != network("ServerB", 4023).key
    assert LOCAL.key != TRANSPORT.key


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("tcp://rushi.desai.name:4256/MyService", network("rushi.desai.name", 4256)),
        ("TCP://host9:4099/Pay/More", network("host9", 4099)),
        ("tcp://host9:4099", network("host9", 4099)),
        ("tcp://host9:4099/", network("host9", 4099)),
        ("tcp://[::1]:4099/Pay", network("[::1]", 4099)),
        ("tcp://host9:4099/two\nlines", network("host9", 4099)),
    ],
)
def test_a_service_name_may_begin_with_an_address(name: str, address: Address) -> None:
    """TRANSPORT takes the address from the beginning of the service's name."""
    assert address_from_name(name) == address


def test_the_port_of_a_service_name_is_optional() -> None:
    """Without a port the name means 4022 as well (U-03)."""
    found = address_from_name("tcp://host9/Pay")
    assert found is not None
    assert (found.host, found.port) == ("host9", 4022)


@pytest.mark.parametrize(
    "name",
    ["Pay", "//host9/Pay", " tcp://host9:4099/Pay", "tcp://host9:4099Pay", "tcp://host9:0/Pay"],
)
def test_other_service_names_say_no_address(name: str) -> None:
    """A name is taken byte by byte: nothing is stripped, nothing guessed (U-10)."""
    assert address_from_name(name) is None


@given(st.text())
def test_nothing_raises(text: str) -> None:
    """Whatever somebody writes is an address or none."""
    for found in (parse_address(text), address_from_name(text)):
        assert found is None or parse_address(str(found)) is not None


@given(st.from_regex(r"\A[A-Za-z][A-Za-z0-9.-]{0,20}\Z"), st.integers(1, 65535))
def test_addresses_can_be_written_and_read(host: str, port: int) -> None:
    """What an address prints reads back as the same address."""
    assert parse_address(str(network(host, port))) == network(host, port)
