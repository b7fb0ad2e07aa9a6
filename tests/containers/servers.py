"""The servers that the integration suite runs on, as containers of testcontainers.

Under ``pytest --containers`` the fixtures ``kafka`` and ``postgres`` use these, and tests without
one of them are left out. Ports are published on loopback only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testcontainers.community.postgres import PostgresContainer
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from streams.embedded.properties import Node, server_properties
from tests.containers.compose import ROOT, free_ports
from tests.containers.images import image, kafka_image

_INSIDE, _CONTROLLER, _SELF = 9092, 9093, 9094
_HOST = "127.0.0.1"
_DATA = Path("/var/lib/kafka/data")
_PATIENCE = 180
_START = ROOT / "deploy" / "containers" / "kafka" / "start-kafka"


class KafkaContainer(DockerContainer):
    """The public image, configured like the embedded broker, at a port that is chosen beforehand.

    Kafka advertises its address to clients, so it must know the host's port before it starts. It is
    started as in docker-compose.yml.
    """

    def __init__(self) -> None:
        super().__init__(kafka_image())
        self.address = f"{_HOST}:{free_ports()['HOPLINE_KAFKA_PORT']}"
        node = Node(1, (_CONTROLLER,))
        lines = server_properties(_DATA, _INSIDE, node).splitlines()
        settings = dict(line.split("=", 1) for line in lines) | {
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,HOST:PLAINTEXT,SELF:PLAINTEXT",
            "listeners": f"HOST://:{_INSIDE},SELF://{_HOST}:{_SELF},CONTROLLER://{_HOST}:{_CONTROLLER}",
            "advertised.listeners": f"HOST://{self.address},SELF://{_HOST}:{_SELF}",
            # The broker also connects to itself, but the host's port does not exist inside the
            # container.
            "inter.broker.listener.name": "SELF",
            "log.dirs": str(_DATA),
        }
        for name, value in settings.items():
            self.with_env("KAFKA_" + name.upper().replace(".", "_"), value)
        self.ports.update({str(_INSIDE): (_HOST, int(self.address.rpartition(":")[2]))})
        self.with_volume_mapping(str(_START), "/start-kafka")
        self.with_command(["bash", "/start-kafka"])
        started = LogMessageWaitStrategy("Kafka Server started")
        self.waiting_for(started.with_startup_timeout(_PATIENCE))

    @property
    def bootstrap(self) -> str:
        """Return its address, like an embedded broker."""
        return self.address

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self.get_wrapped_container().kill()

    def again(self) -> None:
        """Start it again with its data; return before it serves."""
        self.get_wrapped_container().start()


@contextmanager
def kafka_container() -> Iterator[str]:
    """Yield the bootstrap address of a broker in a container."""
    with KafkaContainer() as container:
        yield container.address


@contextmanager
def postgres_container() -> Iterator[str]:
    """Yield SQLAlchemy's URL of a PostgreSQL in a container."""
    container = PostgresContainer(image("HOPLINE_POSTGRES_IMAGE"), driver="psycopg")
    container.ports.update({str(container.port): (_HOST, None)})
    with container:
        yield container.get_connection_url(host=_HOST)
