"""Images: the name of Kafka's, and a check that ours contain no tools, caches or other files."""

from __future__ import annotations

import os
import re

from tests.containers.compose import ROOT, run

_LOOK = r"""
set -u
for tool in gcc cc make git curl wget pip pip3 javac mvn; do
  command -v $tool >/dev/null && echo "the tool $tool"
done
python -c 'import pip' 2>/dev/null && echo 'the package pip'
python -c 'import pytest' 2>/dev/null && echo 'packages of the extra dev'
find / -xdev \( -name .git -o -name .env -o -name '*.pem.key' -o -name id_rsa -o -name .netrc \
  -o -path /src -o -path '*/.cache/*' -o -path '/var/lib/apt/lists/*_Packages' \
  -o -path '/tmp/?*' \) -print 2>/dev/null
[ "$(id -u)" != 0 ] || echo 'it is root who runs'
touch /opt/hopline/bin/x 2>/dev/null && echo 'a program that its user can change'
true
"""


def refuse_left_overs(image: str) -> None:
    """Raise AssertionError if an image contains files that only its build needed."""
    found = run("docker", "run", "--rm", "--entrypoint", "bash", image, "-c", _LOOK).split("\n")
    found = [line for line in found if line]
    assert not found, f"{image} holds {', '.join(found[:10])}"
    java = run("docker", "run", "--rm", "--entrypoint", "bash", image, "-c",
               "command -v java || true")  # fmt: skip
    assert bool(java) == ("spark" in image), f"{image}: {java or 'no Java'}"


def image(name: str) -> str:
    """Return the image that docker-compose.yml uses too: from the environment, or from .env."""
    stated = re.search(rf"^{name}=(.*)$", (ROOT / ".env").read_text("utf-8"), re.M)
    assert stated is not None
    return os.environ.get(name) or stated[1]


def kafka_image() -> str:
    """Return Kafka's image."""
    return image("HOPLINE_KAFKA_IMAGE")
