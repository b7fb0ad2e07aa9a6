"""What pyproject.toml cannot say: two top-level folders are shipped inside the package.

``schemas/`` becomes ``streams/_schemas``, ``topologies/`` becomes ``streams/_topologies``; an
editable install finds them where they are (``streams/resources.py``).
"""

import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

SHIPPED = ("schemas", "topologies")


class BuildWithFolders(build_py):
    """Copy the shipped folders beside the modules."""

    def run(self):
        """Build as usual, then copy."""
        super().run()
        if self.editable_mode:
            return
        for name in SHIPPED:
            target = Path(self.build_lib) / "streams" / f"_{name}"
            shutil.rmtree(target, ignore_errors=True)  # no file of a former build
            shutil.copytree(name, target, ignore=shutil.ignore_patterns("__pycache__"))


setup(
    packages=find_packages(include=["streams", "streams.*"]),
    package_data={
        "streams": ["py.typed"],
        "streams.dashboard": ["static/*", "templates/*"],
        "streams.embedded": ["*.lock"],
    },
    cmdclass={"build_py": BuildWithFolders},
)
