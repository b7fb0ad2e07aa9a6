"""A broker is distinguished from any other listener."""

from __future__ import annotations

import socket
import threading

from streams.embedded.probe import ask, free_ports, is_free


def test_a_broker_reports_its_cluster_and_its_port(kafka: str) -> None:
    port = int(kafka.rpartition(":")[2])
    answer = ask(port, timeout=10)
    assert answer is not None
    assert len(answer.cluster) == 22
    assert answer.ports == (port,)


def test_nobody_answers_at_a_free_port() -> None:
    (port,) = free_ports(1)
    assert is_free(port)
    assert ask(port) is None


def test_something_else_that_listens_is_no_broker() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        assert ask(port, timeout=10) is None
        thread.join()
        assert not is_free(port)


def test_one_that_accepts_and_stays_silent_is_no_broker() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert ask(server.getsockname()[1], timeout=0.05) is None


def test_ports_chosen_together_differ() -> None:
    assert len(set(free_ports(20))) == 20
