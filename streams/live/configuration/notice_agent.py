"""Create the configuration service's applications."""

from __future__ import annotations

import logging
from typing import Any

from streams.agents import HoplineApp
from streams.agents.from_topology import Maker, Place
from streams.agents.notice import notice_app
from streams.kafka import Cluster
from streams.live.configuration.directory import directory_of
from streams.live.configuration.notice import Notices
from streams.topology import Agent


def notice_maker(cluster: Cluster) -> Maker:
    """Return a factory of the configuration service's applications on a cluster."""
    logging.getLogger("hopline.notice").setLevel(logging.INFO)

    def make(agent: Agent, place: Place, options: dict[str, Any]) -> HoplineApp:
        return notice_app(*place, Notices(cluster, directory_of(agent)), **options)

    return make
