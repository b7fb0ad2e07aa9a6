"""The profile two-clusters: the network between the clusters fails for longer than a copy lives.

The gateways buffer copies that they cannot forward, and drop them when their time to live is over
(11290). The senders keep their messages and retry, so each is delivered once when the network is
back.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from streams.errors import Number
from streams.kafka import Cluster, headers_of, read_all
from streams.protocol import END_DIALOG
from streams.wire import MalformedError, Topics, decode_event
from streams.wire.records import read_queued
from tests.command import hopline
from tests.containers.compose import Compose, composed, run

SERVICES = ("buyer", "buyer-gateway", "seller-gateway", "seller")
APART = 80.0
"""Duration of the outage in seconds; a copy lives for 60 s."""
_TRAFFIC = "--from ServerA/DatabaseA/OrderService --to SupplierService --dialogs 10 --length 20"
_QUEUE = ("ServerB", "DatabaseB", "SupplierQueue")
_PATIENCE = 240.0
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Border:
    """The results: most buffered messages, dropped copies (11290), messages delivered by retries.

    ``back``: seconds from the network's return until the last of these was delivered.
    """

    held: int
    dropped: int
    retried: int
    back: float
    account: dict[str, object]


def run_two_clusters(rate: float, say: Say) -> Border:
    """Disconnect the clusters under load, reconnect them, and compute the account of both."""
    with composed("hopline-faults") as compose, ThreadPoolExecutor(1) as pool:
        compose.do("up", "--wait", *SERVICES)
        say("two clusters: healthy")
        try:
            return _apart(compose, pool, rate, say)
        except BaseException:
            say(compose.logs())
            raise


def _apart(compose: Compose, pool: ThreadPoolExecutor, rate: float, say: Say) -> Border:
    seconds = round(APART) + 60
    words = f"{_TRAFFIC} --rate {rate:g} --duration {seconds}s".split()
    speaking = pool.submit(compose.do, "exec", "-T", "buyer", "hopline", "traffic", *words)
    _until(lambda: len(_queued(compose)) >= 3 * rate, "the seller gets messages", speaking)
    _each_gateway(compose, "disconnect")
    began, most, told = time.monotonic(), 0, False
    while time.monotonic() < began + APART:
        held = _held(compose)
        if held and not told:
            say(f"two clusters: apart; GatewayA holds {held} messages in memory")
            told = True
        most = max(most, held)
    dropped = _dropped(compose)
    say(f"two clusters: apart for {APART:.0f} s; held {most}, dropped {dropped} (11290)")
    before = len(_queued(compose))
    _each_gateway(compose, "connect")
    joined = time.time()
    speaking.result()
    _until(lambda: not _waiting(compose), "no message waits any more", None)
    rows = _queued(compose)
    account = compose.verify("audit")
    late = [at for attempt, at in rows[before:] if attempt]
    say(f"two clusters: {len(rows)} messages at the seller, {len(late)} of them by a retry")
    back = max(late, default=joined * 1000) / 1000 - joined
    return Border(most, dropped, len(late), back, account)


def _each_gateway(compose: Compose, verb: str) -> None:
    """Disconnect each gateway from the other cluster's network, or reconnect it."""
    for service, network in (("buyer-gateway", "seller"), ("seller-gateway", "buyer")):
        [name] = compose.containers(service)
        run("docker", "network", verb, f"{compose.project}_{network}", name)


def _clusters(compose: Compose) -> tuple[Cluster, Cluster]:
    topics = Topics("ssb.")
    return (
        Cluster(compose.address("HOPLINE_BUYER_PORT"), topics),
        Cluster(compose.address("HOPLINE_SELLER_PORT"), topics),
    )


def _queued(compose: Compose) -> list[tuple[int, int]]:
    """Return the attempt that delivered each message at the seller, and the time (epoch ms)."""
    _, seller = _clusters(compose)
    found = []
    for message in read_all(seller, seller.topics.queue(*_QUEUE)):
        with suppress(MalformedError):
            frame = read_queued(message.value(), headers_of(message))
            if frame.header.type != END_DIALOG:
                found.append((frame.journey.attempt, frame.journey.path[-1][1]))
    return found


def _held(compose: Compose) -> int:
    buyer, _ = _clusters(compose)
    rows = _query(buyer, "sys.dm_broker_forwarded_messages", "--at", "GatewayA")
    return len(rows)


def _waiting(compose: Compose) -> int:
    return sum(len(_query(each, "sys.transmission_queue")) for each in _clusters(compose))


def _query(cluster: Cluster, *words: str) -> list[object]:
    code, out, err = hopline("query", *words, "--format", "json", "--bootstrap", cluster.bootstrap)
    assert code == 0, err
    rows: list[object] = json.loads(out)
    return rows


def _dropped(compose: Compose) -> int:
    buyer, _ = _clusters(compose)
    told = [decode_event(m.value()) for m in read_all(buyer, buyer.topics.event)]
    return sum(1 for event in told if event["error"] == Number.NOT_DELIVERABLE_IN_TIME)


def _until(probe: Callable[[], bool], what: str, speaking: Future[str] | None) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not probe():
        assert time.monotonic() < deadline, f"{what}: not within {_PATIENCE:.0f} s"
        if speaking is not None and speaking.done():
            speaking.result()
        time.sleep(0.5)
