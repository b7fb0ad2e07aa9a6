"""Generate estates of any size from a seed, healthy or with planted defects."""

from streams.topology.generate.defects import KINDS, Defect
from streams.topology.generate.estate import GeneratedEstate, Wish, generate_estate

__all__ = ["KINDS", "Defect", "GeneratedEstate", "Wish", "generate_estate"]
