"""Made-up estates, from a seed: as large as somebody asks for, healthy or with planted defects."""

from streams.topology.generate.defects import KINDS, Defect
from streams.topology.generate.estate import Estate, Wish, generate_estate

__all__ = ["KINDS", "Defect", "Estate", "Wish", "generate_estate"]
