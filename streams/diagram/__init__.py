"""Sequence diagrams: one list of rows, written as Mermaid text or as an SVG picture.

A source (a simulated run, the life of a dialog in Kafka) creates :class:`Sight` values, with texts
from ``words``; ``fold`` merges similar values into rows, and ``participants`` orders the lifelines;
``mermaid`` and ``svg`` (with ``layout``) write the diagram. The same sights give the same bytes.
"""

from streams.diagram.fold import folded
from streams.diagram.mermaid import mermaid_text
from streams.diagram.participants import participants
from streams.diagram.rows import Diagram, DiagramRow, Participant, Place, Shape, Sight, seconds
from streams.diagram.svg import Links, svg_text
from streams.diagram.words import ack_words, error_code, event_words, excerpt, message_words

__all__ = [
    "Diagram",
    "DiagramRow",
    "Links",
    "Participant",
    "Place",
    "Shape",
    "Sight",
    "ack_words",
    "error_code",
    "event_words",
    "excerpt",
    "folded",
    "mermaid_text",
    "message_words",
    "participants",
    "seconds",
    "svg_text",
]
