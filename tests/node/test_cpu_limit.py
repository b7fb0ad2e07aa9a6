"""A computation that takes too much CPU time is interrupted, and nothing else is."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial

import pytest
import xmlschema

from streams import cpu_limit
from streams.cpu_limit import TooExpensiveError, limited
from streams.node.catalog_view import MessageType
from streams.node.endpoint import validation
from streams.node.endpoint.validation import is_valid
from streams.topology import Validation

_HEAD = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">'


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the watching thread look often.

    Hypothesis registers a callback of the garbage collector. An exception that is raised there is
    lost.
    """
    gc.disable()
    xmlschema.XMLSchema(choice(1))  # the first use takes longer than the limits of these tests
    monkeypatch.setattr(cpu_limit, "_EVERY", 0.001)
    limited(1, lambda: None, str)  # the watching thread now uses the new value
    yield
    gc.enable()
    assert not cpu_limit._runs


def endless() -> None:
    while True:
        pass


def test_the_result_of_a_computation_is_returned() -> None:
    assert limited(1, lambda: 5, str) == 5


def test_errors_of_a_computation_are_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        limited(1, lambda: 1 / 0, str)


def test_a_computation_that_takes_too_much_time_is_interrupted() -> None:
    with pytest.raises(TooExpensiveError):
        limited(0.05, endless, str)


def test_a_library_that_catches_all_exceptions_is_interrupted() -> None:
    def stubborn() -> str:
        try:
            endless()
        except BaseException:
            return "caught"
        return ""

    with pytest.raises(TooExpensiveError):
        limited(0.05, stubborn, str)


def test_no_interruption_comes_after_the_end_of_its_computation() -> None:
    """Each computation takes about as long as it may."""

    def count_to(number: int) -> None:
        for _ in range(number):
            pass

    outcomes = set()
    for number in range(0, 400_000, 1_000):
        try:
            limited(0.002, partial(count_to, number), str)
        except TooExpensiveError:
            outcomes.add("interrupted")
        else:
            outcomes.add("ended")
        for _ in range(1_000):  # an exception that came late would be raised here
            pass
    assert outcomes == {"ended", "interrupted"}


def test_an_interruption_that_has_begun_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, it would be raised in the code after the computation."""
    begun, raise_in = threading.Event(), cpu_limit._raise_in

    def late(thread: int) -> None:
        if threading.get_ident() != thread:
            begun.set()
            [run] = cpu_limit._runs
            while not run._is_over:
                pass
            for _ in range(100_000):  # time to go on, for a thread that does not wait
                pass
        raise_in(thread)

    def compute() -> None:
        while not begun.is_set():
            pass

    monkeypatch.setattr(cpu_limit, "_raise_in", late)
    is_after = False
    with pytest.raises(TooExpensiveError):
        limited(0.01, compute, str)
        is_after = True
        for _ in range(10_000_000):
            pass
    assert not is_after


def test_no_computation_is_interrupted_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watching thread may look between the registration and the computation."""

    class Watched(dict[cpu_limit._Run, None]):
        def __setitem__(self, run: cpu_limit._Run, value: None) -> None:
            super().__setitem__(run, value)
            run.watch()

    raised = []
    monkeypatch.setattr(cpu_limit, "_EVERY", 60)
    monkeypatch.setattr(cpu_limit, "_runs", Watched())
    monkeypatch.setattr(cpu_limit, "_raise_in", raised.append)
    assert limited(0, lambda: 5, str) == 5
    assert not raised


def test_an_interruption_between_the_computation_and_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The computation is over although its end was interrupted."""
    settle, ends = cpu_limit._Run.settle, []

    def interrupted(run: cpu_limit._Run) -> None:
        ends.append(run)
        if len(ends) == 1:
            raise TooExpensiveError
        settle(run)

    monkeypatch.setattr(cpu_limit._Run, "settle", interrupted)
    with pytest.raises(TooExpensiveError):
        limited(10, lambda: None, str)
    assert ends[0]._is_over


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_that_is_lost_in_a_finalizer_is_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Finalized:
        def __del__(self) -> None:
            endless()

    has_ended = False

    def compute() -> None:
        nonlocal has_ended
        Finalized()
        for _ in range(100_000_000):
            pass
        has_ended = True

    monkeypatch.setattr(cpu_limit, "_AGAIN", 0.05)
    with pytest.raises(TooExpensiveError):
        limited(0.01, compute, str)
    assert not has_ended


TRACED = """
import sys
from streams.cpu_limit import TooExpensiveError, limited

def endless():
    while True:
        pass

try:
    limited(0.01, endless, str)
except TooExpensiveError:
    sys.settrace(lambda *_: None)
    (lambda: print("called"))()
"""


def test_calls_are_traced_after_an_interruption() -> None:
    """A flag that Python 3.11 never clears would make each traced call endless."""
    command = [sys.executable, "-c", TRACED]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "called\n"


def groups(levels: int) -> str:
    """Return a schema whose groups each refer twice to the next one."""
    inner = "".join(
        f'<xs:group name="g{n}"><xs:sequence>'
        + f'<xs:group ref="g{n + 1}"/>' * 2
        + "</xs:sequence></xs:group>"
        for n in range(levels)
    )
    last = '<xs:element name="x" type="xs:string" minOccurs="0"/>'
    return (
        f'{_HEAD}{inner}<xs:group name="g{levels}"><xs:sequence>{last}</xs:sequence></xs:group>'
        '<xs:element name="a"><xs:complexType><xs:group ref="g0"/></xs:complexType></xs:element>'
        "</xs:schema>"
    )


def choice(count: int) -> str:
    """Return a schema with a choice of so many elements."""
    inner = "".join(f'<xs:element name="e{n}" type="xs:string"/>' for n in range(count))
    return (
        f'{_HEAD}<xs:element name="a"><xs:complexType><xs:choice>{inner}</xs:choice>'
        "</xs:complexType></xs:element></xs:schema>"
    )


@pytest.mark.filterwarnings("ignore:can't verify the content model")
@pytest.mark.parametrize(
    ("schema", "what"), [(groups(18), "Checking a body"), (choice(3_000), "Compiling a schema")]
)
def test_a_schema_that_takes_too_much_time_is_given_up(
    schema: str, what: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """18 groups take seconds for each body, twice as long with each further group.

    Compiling 3,000 elements takes 2.2 s, four times as long for twice as many.
    """
    monkeypatch.setattr(validation, "_MOST_CPU", 0.3)
    monkeypatch.setattr(validation, "_schemas", {})
    monkeypatch.setattr(validation, "_verdicts", {})
    kind = MessageType(Validation.VALID_XML, schema)
    with caplog.at_level(logging.WARNING):
        assert not is_valid(kind, b"<a/>")
        assert not any(is_valid(kind, b"<a/>" + b" " * n) for n in range(1, 10))
    # clients of earlier tests may log, too
    [warned] = [one.getMessage() for one in caplog.records if one.name == "hopline.endpoint"]
    assert warned.startswith(what)


def test_a_body_that_takes_too_much_time_excludes_only_large_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise, one application could make all messages of the others invalid."""
    monkeypatch.setattr(validation, "_schemas", {})
    monkeypatch.setattr(validation, "_verdicts", {})
    inner = "".join(f'<xs:element name="e{n}" type="xs:string"/>' for n in range(100))
    kind = MessageType(
        Validation.VALID_XML,
        f'{_HEAD}<xs:element name="a"><xs:complexType><xs:choice maxOccurs="unbounded">{inner}'
        "</xs:choice></xs:complexType></xs:element></xs:schema>",
    )

    def checks(count: int) -> bool:
        return is_valid(kind, b"<a>%s</a>" % (b"<e99/>" * count))

    assert checks(10), "compiled without the low limit"
    monkeypatch.setattr(validation, "_MOST_CPU", 0.2)
    assert not checks(4_900), "takes longer"
    assert not checks(2_460)
    assert checks(11)
    [compiled] = validation._schemas.values()
    assert compiled is not None and compiled.most == len(b"<a></a>") // 2 + 3 * 4_900
