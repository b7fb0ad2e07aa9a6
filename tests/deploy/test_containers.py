"""docker-compose.yml and Dockerfile, as far as they can be read: what they promise is in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams.settings import property_variables
from tests.command import hopline

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text("utf-8")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["services"]
IMAGES = (ROOT / "Dockerfile").read_text("utf-8")
TOPOLOGY = ROOT / "deploy" / "containers" / "topology"
PROFILES = {"load", "two-clusters"}
KNOBS = dict(re.findall(r"^(HOPLINE_\w+)=(.*)$", (ROOT / ".env").read_text("utf-8"), re.M))


def test_every_knob_is_explained_and_every_one_is_used() -> None:
    asked = set(re.findall(r"\$\{(HOPLINE_\w+)\}", TEXT)) | set(
        re.findall(r"\[(HOPLINE_\w+)\]", TEXT)
    )
    assert asked == set(KNOBS)
    before = "#"
    for line in (ROOT / ".env").read_text("utf-8").splitlines():
        assert not line or line[0] == "#" or before[:1] in ("#", "H"), f"no sentence above {line}"
        before = line


def test_no_knob_is_taken_for_a_property_of_kafkas_client() -> None:
    assert list(property_variables(KNOBS)) == []


def test_no_service_of_the_default_system_has_a_profile() -> None:
    default = {name for name, service in SERVICES.items() if "profiles" not in service}
    assert default == {
        *("kafka", "apply", "forwarder", "endpoint", "agents"),
        *("postgres", "monitor", "dashboard", "prometheus"),
    }
    assert {p for s in SERVICES.values() for p in s.get("profiles", ())} == PROFILES


@pytest.mark.parametrize("name", [name for name, s in SERVICES.items() if "ports" in s])
def test_nothing_is_published_beyond_loopback(name: str) -> None:
    for port in SERVICES[name]["ports"]:
        address = re.sub(r"\$\{(\w+)\}", lambda match: KNOBS[match[1]], port)
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", address), port


def test_only_the_gateways_are_on_both_networks() -> None:
    both = {n for n, s in SERVICES.items() if {"buyer", "seller"} <= set(s.get("networks", ()))}
    assert both == {"buyer-gateway", "seller-gateway"}


@pytest.mark.parametrize("name", [n for n, s in SERVICES.items() if "build" in s])
def test_what_is_ours_may_write_nowhere_and_has_no_rights(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["pull_policy"] == "never"
    assert service["image"].startswith(f"hopline/{service['build']['target']}:")


def test_every_service_is_bounded_in_memory_and_processes() -> None:
    """A worker that is attacked takes neither the machine's memory nor its process table."""
    text = (ROOT / "deploy" / "containers" / "secure.yml").read_text("utf-8")
    secure: dict[str, dict[str, Any]] = yaml.safe_load(text)["services"]
    every = {name: {**secure.get(name, {}), **SERVICES.get(name, {})} for name in SERVICES | secure}
    for name, service in every.items():
        knob = re.fullmatch(r"\$\{(HOPLINE_MEMORY_\w+)\}", service["mem_limit"])
        assert knob and re.fullmatch(r"\d+g", KNOBS[knob[1]]), name
        assert 256 <= service["pids_limit"] <= 2048, name


def test_every_broker_is_the_one_that_can_be_chosen() -> None:
    images = {s["image"] for n, s in SERVICES.items() if "kafka" in n}
    assert images == {"${HOPLINE_KAFKA_IMAGE}"}


def test_images_are_made_of_locked_packages_and_run_as_no_root() -> None:
    bases = set(re.findall(r"^FROM (\S*[:$]\S*)", IMAGES, re.M))
    assert bases == {"${HOPLINE_PYTHON_IMAGE}"}
    assert f"ARG HOPLINE_PYTHON_IMAGE={KNOBS['HOPLINE_PYTHON_IMAGE']}\n" in IMAGES
    *_, worker, spark = IMAGES.split("\nFROM ")
    assert worker.rstrip().endswith("USER hopline")
    assert spark.rstrip().endswith("USER hopline")
    commands = re.sub(r"\\\n", "", IMAGES).splitlines()
    installs = [line for line in commands if " install " in line and "apt-get" not in line]
    for line in installs:
        assert re.search(r"pip.* install .*(--require-hashes|--no-deps /wheel/\*\.whl)", line), line
    assert len(installs) == 6
    assert IMAGES.count(" install --require-hashes") == 4


def test_every_image_is_named_in_one_place() -> None:
    images = {service["image"] for service in SERVICES.values()}
    ours = {image for image in images if image.startswith("hopline/")}
    assert {re.fullmatch(r"\$\{(\w+)\}", image)[1] for image in images - ours} == {
        "HOPLINE_KAFKA_IMAGE",
        "HOPLINE_POSTGRES_IMAGE",
        "HOPLINE_PROMETHEUS_IMAGE",
    }


def test_the_topology_that_runs_is_sound() -> None:
    code, out, err = hopline("check", TOPOLOGY, "--fail-on", "warning")
    assert code == 0, out + err
