"""Make broken YAML with atheris, and try it.

Give a folder for new inputs, those to begin with, and libFuzzer's options:

    python -m tests.fuzz.fuzz_yaml build/fuzz tests/fuzz/yaml -dict=tests/fuzz/yaml.dict \\
        -max_total_time=600

What it finds is kept in ``tests/fuzz/yaml``, which ``test_yaml_files.py`` tries every time. Atheris
is no dependency: ``pip install atheris`` where it runs.
"""

from __future__ import annotations

import sys

import atheris  # type: ignore[import-not-found]

with atheris.instrument_imports(include=["streams", "yaml"]):
    from streams.topology import load
    from tests.fuzz.yaml_files import TOPOLOGIES, try_scenario, try_topology


def main() -> None:
    """Run until told to stop, or until something breaks."""
    combined = load(TOPOLOGIES / "combined", 1.0)

    def once(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        try_topology(text)
        try_scenario(text, combined)

    atheris.Setup(sys.argv, once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
