"""Say in one sentence if this machine lacks what `make setup` needs. Any Python 3 can run it."""

import os
import sys

if sys.version_info < (3, 11):
    version = ".".join(str(part) for part in sys.version_info[:3])
    sys.exit("Hopline needs Python 3.11 or newer, this is %s: make setup PYTHON=..." % version)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from streams.embedded import find_java
from streams.errors import HoplineError

try:
    find_java()
except HoplineError as error:
    sys.exit("%s %s" % (error.message, error.remedy))
