"""Query the health pages and metrics of a process over HTTP."""

from __future__ import annotations

import urllib.error
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from tests.running import DEADLINE

Samples = dict[tuple[str, ...], float]


def get(port: int | str, path: str) -> tuple[int, str]:
    """Return the status code and the text of a page."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=DEADLINE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def metrics(port: int | str) -> Samples:
    """Return the samples by name and labels."""
    code, text = get(port, "/metrics")
    assert code == 200
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
