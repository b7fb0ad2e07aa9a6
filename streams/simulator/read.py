"""Read a scenario file; errors have a line, a column and a remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from streams.errors import InputError, UsageError
from streams.protocol import Limits
from streams.simulator.clock import SECOND, START
from streams.simulator.read_steps import Reading, read_step
from streams.simulator.read_values import Names, duration, fraction, word
from streams.simulator.scenario import Application, Does, Latency, Link, Network, Scenario, Step
from streams.topology import Topology, load
from streams.topology.yaml_file.nodes import Node, parse_yaml

KEYS = (
    "topology", "network", "until", "steps", "applications", "aborts", "stalls", "skew", "memory",
    "limits", "batch",
)  # fmt: skip
_LINK = ("latency", "loss", "duplicate", "reorder")
_MOST = 1 << 40


def read_scenario(path: Path) -> tuple[Topology, Scenario]:
    """Read a scenario and its topology; raise InputError or UsageError."""
    if not path.is_file():
        raise UsageError(f"There is no scenario at {path}.", "Give a scenario's .yaml file.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            "The file is not UTF-8.", file=str(path), remedy="Save the file as UTF-8."
        ) from error
    return parse_scenario(text, path)


def parse_scenario(
    text: str, path: Path, topology: Topology | None = None
) -> tuple[Topology, Scenario]:
    """Parse a scenario; ``path`` is its file, ``topology`` replaces the topology of the file."""
    root = parse_yaml(text, str(path))
    if root is None:
        raise InputError(
            "The scenario is empty.", file=str(path), remedy="Add 'topology:' and 'steps:'."
        )
    given = root.fields("a scenario", KEYS)
    if "topology" not in given:
        raise root.error("the scenario has no topology", "Add 'topology: FOLDER'.")
    named = word(given["topology"], "the topology's folder")
    if topology is None:
        topology = _load(given["topology"], path.parent / named)
    names = Names(topology)
    limits = _limits(given["limits"]) if "limits" in given else Limits()
    return topology, Scenario(
        _steps(given, names),
        duration(given["until"]) if "until" in given else 120 * SECOND,
        _network(given["network"], names) if "network" in given else Network(),
        tuple(_application(n, names) for n in given["applications"].items("applications"))
        if "applications" in given
        else (),
        fraction(given["aborts"]) if "aborts" in given else 0.0,
        _each(given, "skew", names, lambda node: duration(node, signed=True)),
        _each(given, "memory", names, lambda node: node.integer("a number of bytes", 0, _MOST)),
        limits,
        given["batch"].integer("the largest batch", 1, 10_000) if "batch" in given else 100,
        fraction(given["stalls"]) if "stalls" in given else 0.0,
        path.stem,
        named,
    )


def _load(node: Node, folder: Path) -> Topology:
    try:
        return load(folder, START / 1000)
    except UsageError as error:
        remedy = f"{error.remedy} The name is relative to the scenario's own folder."
        raise node.error(error.message, remedy) from error


def _steps(given: Mapping[str, Node], names: Names) -> tuple[Step, ...]:
    reading = Reading(names)
    nodes = given["steps"].items("steps") if "steps" in given else ()
    return tuple(read_step(node, reading) for node in nodes)


def _network(node: Node, names: Names) -> Network:
    given = node.fields("the network", (*_LINK, "links", "until"))
    common = _link(given, Link())
    links: dict[tuple[str, str], Link] = {}
    for item in given["links"].items("links") if "links" in given else ():
        fields = item.fields("a link", ("link", *_LINK))
        if "link" not in fields:
            raise item.error("which link?", "Add 'link: [INSTANCE, INSTANCE]'.")
        a, b = sorted(names.link(fields["link"]))
        links[a, b] = _link(fields, common)
    return Network(common, links, duration(given["until"]) if "until" in given else None)


def _link(given: Mapping[str, Node], default: Link) -> Link:
    return Link(
        _latency(given["latency"]) if "latency" in given else default.latency,
        fraction(given["loss"]) if "loss" in given else default.loss,
        fraction(given["duplicate"]) if "duplicate" in given else default.duplicate,
        fraction(given["reorder"]) if "reorder" in given else default.reorder,
    )


def _latency(node: Node) -> Latency:
    """Read ``5ms``, ``[1ms, 20ms]`` (evenly spread) or ``{least: 1ms, heavy: 5ms}``."""
    if node.is_list:
        ends = [duration(item) for item in node.items("two durations")]
        if len(ends) != 2 or ends[0] > ends[1]:
            raise node.error("a range has a minimum and a maximum", "Write it like [1ms, 20ms].")
        return Latency(*ends)
    if not isinstance(node.raw.value, str):
        given = node.fields("a latency", ("least", "heavy"))
        least = duration(given["least"]) if "least" in given else 0
        return Latency(least, least, duration(given["heavy"]) if "heavy" in given else 0)
    fixed = duration(node)
    return Latency(fixed, fixed)


def _application(node: Node, names: Names) -> Application:
    given = node.fields("an application", ("service", "does", "type", "body", "limit", "routes"))
    if "service" not in given or "does" not in given:
        raise node.error(
            "an application needs the fields service and does",
            "Write it like {service: ServerB/DatabaseB/TargetService, does: [reply, end]}.",
        )
    instance, database, service = names.service(given["service"])
    does = given["does"]
    listed = does.items("what it does") if does.is_list else (does,)
    kinds = tuple(item.choice("what an application does", Does) for item in listed)
    made = Application(instance, database, service, kinds, source=node.source)
    return Application(
        instance,
        database,
        service,
        kinds,
        names.message_type(given["type"]) if "type" in given else made.type,
        word(given["body"], "a body") if "body" in given else made.body,
        given["limit"].integer("the number of replies", 0, _MOST) if "limit" in given else None,
        _routes(given["routes"]) if "routes" in given else {},
        node.source,
    )


def _routes(node: Node) -> dict[str, str]:
    found = node.mapping("addresses by service").values()
    return {word(name, "a service"): word(address, "an address") for name, address in found}


def _each(
    given: Mapping[str, Node], key: str, names: Names, read: Callable[[Node], int]
) -> dict[str, int]:
    if key not in given:
        return {}
    found = given[key].mapping("instances")
    return {names.instance(name): read(value) for name, value in found.values()}


def _limits(node: Node) -> Limits:
    known = ("window", "wider", "run", "hops", "time_to_live", "retries", "fragment")
    given = node.fields("the limits", known)
    made: dict[str, object] = {}
    if "window" in given:
        made["window"] = given["window"].integer("the window", 1, 100_000)
    if "wider" in given:
        made["wider"] = given["wider"].integer("the factor by which a window grows", 1, 1_000)
    if "run" in given:
        made["run"] = given["run"].integer("the fragments of a run", 1, 100_000)
    if "hops" in given:
        made["hops"] = given["hops"].integer("the hop count", 0, 63)
    if "time_to_live" in given:
        made["time_to_live"] = duration(given["time_to_live"]) // 1_000
    if "fragment" in given:
        made["fragment"] = given["fragment"].integer("bytes of a fragment", 1, _MOST)
    if "retries" in given:
        made["retries"] = tuple(duration(n) // 1_000 for n in given["retries"].items("durations"))
    return Limits(**made)  # type: ignore[arg-type]
