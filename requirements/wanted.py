"""``python requirements/wanted.py EXTRA ...``: what pyproject.toml wants of other packages.

For an image whose packages are a layer of their own, below the code. Versions: lock.txt.
"""

import sys
import tomllib
from pathlib import Path

here = Path(__file__).parent
files = [folder / "pyproject.toml" for folder in (here, here.parent)]
project = tomllib.loads(next(f for f in files if f.exists()).read_text("utf-8"))["project"]
wanted = [
    *project["dependencies"],
    *(line for extra in sys.argv[1:] for line in project["optional-dependencies"][extra]),
]
print("\n".join(wanted))
