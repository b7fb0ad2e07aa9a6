"""The agents of ``topology.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from streams.prose import meant
from streams.topology.agents import Agent, Classification, Language, ShippedService, Stated
from streams.topology.yaml_file.nodes import Node

SETTINGS: Mapping[ShippedService | None, tuple[str, ...]] = {
    ShippedService.DATA_DEPENDENT_ROUTING: ("service", "redirect"),
    ShippedService.CONFIGURATION_NOTICE: ("directory",),
    None: (),
}
"""The text settings of each kind; ``None`` is a custom application."""
CLASSIFIED = frozenset({ShippedService.DATA_DEPENDENT_ROUTING})
"""The kinds that take a classifier."""
CLASSIFIER_KEYS = (
    *(language.value for language in Language), "services", "otherwise", "namespaces", "schema",
)  # fmt: skip
_ONLY_FOR = {"namespaces": Language.XPATH, "schema": Language.AVRO}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_APPLICATION = re.compile(r"[\w.]+:[\w.]+")


def read_agents(node: Node) -> dict[str, Agent]:
    """Read the agents, keyed by name; their processes and logs have the same names."""
    rows = node.named("agents").items()
    return {name: _agent(name, key, value) for name, (key, value) in rows}


def _agent(name: str, key: Node, node: Node) -> Agent:
    if not _NAME.fullmatch(name):
        key.fail(
            "an agent's name", "It is also a file name: up to 64 letters, digits, '-', '_' and '.'."
        )
    every = {word for words in SETTINGS.values() for word in words}
    given = node.fields("an agent", ("runs", *sorted(every), "classifier"))
    if "runs" not in given:
        kinds = " or ".join(kind.value for kind in ShippedService)
        raise key.error("an agent without runs", f"Add runs: {kinds}, or MODULE:APP of your own.")
    runs = _stated(given["runs"], "what it runs")
    kind = _kind(given["runs"], runs.text)
    keys = ("runs", *SETTINGS[kind], *(("classifier",) if kind in CLASSIFIED else ()))
    node.fields(kind.value if kind else "a custom application", keys)
    settings = {word: _stated(given[word], word) for word in SETTINGS[kind] if word in given}
    classifier = _classification(given["classifier"]) if "classifier" in given else None
    return Agent(name, runs, settings, classifier, key.source)


def _kind(node: Node, text: str) -> ShippedService | None:
    kinds = {kind.value: kind for kind in ShippedService}
    if text in kinds:
        return kinds[text]
    if _APPLICATION.fullmatch(text):
        return None
    remedy = meant(text, kinds) or "For the app of app.py, write 'app:app'."
    return node.fail(f"{', '.join(kinds)}, or MODULE:APP", remedy)


def _stated(node: Node, what: str) -> Stated:
    text = node.text(what)
    return Stated(text, node.source) if text else node.fail(what)


def _classification(node: Node) -> Classification:
    given = node.fields("a classifier", CLASSIFIER_KEYS)
    languages = [language for language in Language if language.value in given]
    if len(languages) != 1:
        words = ", ".join(language.value for language in Language)
        raise node.error(
            f"a classifier with {len(languages) or 'none'} of {words}", "Give one of them."
        )
    [language] = languages
    for key, only in _ONLY_FOR.items():
        if key in given and language is not only:
            raise given[key].error(f"{key} is only for {only.value}", "Leave it out.")
    if "otherwise" in given and "services" not in given:
        raise given["otherwise"].error("otherwise without services", "Add services: {text: NAME}.")
    schema = _stated(given["schema"], "the file of an Avro schema") if "schema" in given else None
    if language is Language.AVRO and schema is None:
        raise given["avro"].error("an Avro field without a schema", "Add schema: FILE.avsc.")
    return Classification(
        language,
        _stated(given[language.value], f"an expression in {language.value}"),
        _texts(given, "services"),
        given["otherwise"].text("a service") if "otherwise" in given else None,
        _texts(given, "namespaces"),
        schema,
    )


def _texts(given: Mapping[str, Node], key: str) -> dict[str, str]:
    rows = given[key].mapping(key).items() if key in given else ()
    return {name: value.text(key) for name, (_, value) in rows}
