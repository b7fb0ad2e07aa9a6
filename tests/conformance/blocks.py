"""Every block of the page, by its name."""

from __future__ import annotations

from functools import partial

from tests.node import conformance as node
from tests.routing import conformance as routing

from . import reference
from .page import Blocks

BLOCKS: Blocks = {
    "routing": routing.generated,
    **{name: partial(node.generated, name) for name in node.BLOCKS},
    "sections": reference.sections,
    "reference": reference.generated,
}
