"""``python -m tests.conformance [--write]``: check, or rewrite, the generated blocks."""

import sys

from .blocks import BLOCKS
from .page import main

sys.exit(main(sys.argv[1:], BLOCKS))
