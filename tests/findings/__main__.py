"""``python -m tests.findings [--write]``: check, or rewrite, the generated pages."""

import sys

from .page import main

sys.exit(main(sys.argv[1:]))
