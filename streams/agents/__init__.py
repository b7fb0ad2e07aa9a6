"""Services as Faust agents, instead of activated procedures. Only this package imports Faust."""

from streams.agents.application import HoplineApp, hopline_app
from streams.agents.attempt import Handler
from streams.agents.dialog import Dialog
from streams.client.receiver import Received

__all__ = ["Dialog", "Handler", "HoplineApp", "Received", "hopline_app"]
