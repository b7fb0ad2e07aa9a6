"""A run as a sequence diagram: what is on it, what is folded, what is marked as left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from streams.diagram import (
    Diagram,
    DiagramRow,
    Links,
    Participant,
    Shape,
    Sight,
    folded,
    mermaid_text,
    svg_text,
)
from streams.diagram.layout import (
    LINE,
    MARGIN,
    TIMES,
    box_of,
    head_width,
    label_at,
    lay_out,
    text_width,
)
from streams.errors import UsageError
from streams.simulator import Simulation, read_scenario
from streams.simulator.diagram import MOST_ROWS, Choice, diagram_of
from tests.simulator.build import SHIPPED, path_of, simulation

SVG = "{http://www.w3.org/2000/svg}"


def played(name: str, seed: int = 0) -> Simulation:
    """Play a shipped scenario, ``topology/scenario``."""
    run = Simulation(*read_scenario(path_of(*name.split("/"))), seed)
    run.play()
    return run


def drawn(name: str, choice: Choice | None = None) -> Diagram:
    """Return the diagram of a shipped scenario."""
    return diagram_of(played(name), choice)


def texts(diagram: Diagram, shape: Shape | None = None) -> list[str]:
    """Return what the rows say, or those of one shape."""
    return [row.text for row in diagram.rows if shape in (None, row.shape)]


# --- what is on it -------------------------------------------------------------------------------


def test_participants_stand_in_the_order_in_which_messages_meet_them() -> None:
    names = [p.where or p.name for p in drawn("several_targets/two_targets").participants]
    assert names == [
        "ServerA/DatabaseA", "ServerA", "ServerB", "ServerB/DatabaseB", "ServerC",
        "ServerC/DatabaseC",
    ]  # fmt: skip
    chain = drawn("forwarding_chain/forwarder_crash")
    assert [p.name for p in chain.participants if not p.is_service] == ["SQL1", "SQL2", "SQL3"]


def test_the_order_is_that_of_the_whole_run_whatever_is_drawn_of_it() -> None:
    part = drawn("load_balanced/dialogs", Choice("d/39", 2_000_000, 6_000_000))
    assert [p.name for p in part.participants] == ["InitiatorService", "ServerA", "ServerC"]


def test_an_arrow_from_an_instance_to_itself_needs_no_space_between_lifelines() -> None:
    """A foreign frame may state that its last visit was at the instance that reads it."""
    a, b = Participant(("A",), "A"), Participant(("B",), "B")
    rows = [DiagramRow(0, Shape.MESSAGE, (place, place), "m") for place in (("A",), ("B",))]
    assert "<svg" in svg_text(Diagram("D", (a, b), tuple(rows)))


def test_a_long_text_is_clipped() -> None:
    """An event may contain 64 kB."""
    [row] = folded([Sight(0, Shape.NOTE, (("A",),), "x" * 65_000)], {})
    assert len(row.text) == 500


def test_a_dialog_within_one_instance_has_its_statements_and_its_queues() -> None:
    rows = texts(drawn("local/request_reply"))
    assert rows[:2] == ["BEGIN DIALOG to TargetService", "SEND 0–2"]
    assert "messages 0–2 into TargetQueue" in rows
    assert 'SEND 0–2 "thanks"' in rows
    assert rows[-1] == "DatabaseA: CLOSED"


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("several_targets/two_targets", "locked to DatabaseB"),
        ("several_targets/two_targets", "acts on message 0"),
        ("several_targets/two_targets", "Error (-8495)"),
        ("several_targets/two_targets", "drops message 0: 28017 the target broker"),
        ("several_targets/two_targets", "drops an acknowledgement: 11224 another"),
        ("load_balanced/table_change", "DatabaseA: DROP ROUTE LoadBalancingRoute1"),
        ("two_brokers/missing_return_route", "delays an acknowledgement: 9750"),
        ("two_brokers/missing_return_route", "duplicate of message 0, attempt 1"),
        ("two_brokers/lifetime", "DatabaseA: ERROR 8489"),
        ("two_brokers/lifetime", "DatabaseA: 8429 SEND refused"),
        ("two_brokers/lifetime", "link goes down"),
        ("routing_loop/dies_of_hops", "drops message 0: 11285 the hop count"),
        ("forwarding_chain/forwarder_crash", "forwarder crashes"),
        ("forwarding_chain/forwarder_crash", "forwarder starts again"),
        ("local/request_reply", "EndDialog 3 into TargetQueue"),
    ],
)
def test_what_matters_is_on_it(scenario: str, words: str) -> None:
    assert any(words in text for text in texts(drawn(scenario)))


def test_an_acknowledgement_shows_stored_and_buffered_messages() -> None:
    rows = texts(drawn("load_balanced/dialogs", Choice("d/39")), Shape.ACK)
    assert rows[:2] == ["ack 0–1", "ack of nothing, buffers 1"]


def test_fragments_have_their_own_numbers() -> None:
    run = simulation(
        "two_brokers",
        """
        limits: {fragment: 10}
        steps:
          - at: 0s
            begin: {dialog: d, from: ServerA/DatabaseA/InitiatorService, to: TargetService}
          - {at: 0s, send: {dialog: d, body: a body of twenty-seven bytes}}
        """,
    )
    run.play()
    diagram = diagram_of(run)
    assert texts(diagram, Shape.MESSAGE)[0] == "message 0, fragments 0–2 of 3"


def test_a_broken_invariant_is_the_last_thing_on_it() -> None:
    run = played("local/request_reply")
    run.invariants.broken(1, "on purpose", "ServerA")
    assert texts(diagram_of(run))[-1] == "BROKEN: invariant 1: on purpose"


def test_what_would_have_happened_after_the_end_is_not_on_it() -> None:
    run = simulation(
        "two_brokers",
        """
        until: 2s
        steps:
          - {at: 1s, fault: {link: [ServerA, ServerB], state: down}}
          - {at: 9s, fault: {link: [ServerA, ServerB], state: up}}
        """,
    )
    run.play()
    assert texts(diagram_of(run)) == ["link goes down"]


# --- what is folded ------------------------------------------------------------------------------


def test_what_several_dialogs_do_alike_is_one_row() -> None:
    first = texts(drawn("load_balanced/table_change"))[:4]
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in first] == [
        "BEGIN DIALOG to TargetService (40 dialogs)",
        'SEND 0 "first" of 40 dialogs',
        "message 0 of 19 dialogs",
        "message 0 of 21 dialogs",
    ]


def test_dialogs_with_different_messages_are_not_one_row() -> None:
    statements = texts(drawn("load_balanced/table_change"), Shape.STATEMENT)
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in statements[3:]] == [
        'SEND 1 "second" of 40 dialogs',
        'SEND 0 "third" of 40 dialogs',
    ]


def test_nothing_is_folded_across_a_fault() -> None:
    run = simulation(
        "two_brokers",
        """
        steps:
          - at: 0s
            begin:
              {dialog: d, count: 2, from: ServerA/DatabaseA/InitiatorService, to: TargetService}
          - at: 0s
            begin: {dialog: e, from: ServerA/DatabaseA/InitiatorService, to: TargetService}
          - {at: 1s, send: {dialog: d, body: x}}
          - {at: 1010ms, fault: {link: [ServerA, ServerB], state: down}}
          - {at: 1020ms, send: {dialog: e, body: x}}
        """,
    )
    run.play()
    rows = [row.text for row in diagram_of(run).rows if row.shape in (Shape.STATEMENT, Shape.FAULT)]
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in rows[1:]] == [
        'SEND 0 "x" of 2 dialogs',
        "link goes down",
        'e: SEND 0 "x"',
    ]


def test_rounds_that_are_the_same_are_counted() -> None:
    diagram = drawn("routing_loop/dies_of_hops")
    again = [row for row in diagram.rows if row.shape is Shape.AGAIN]
    assert again[0].text == "the 2 rows above 7 more times, until 0.099"
    assert again[0].count == 14
    before = diagram.rows[: diagram.rows.index(again[0])]
    assert sum(row.count for row in before if row.shape.is_copy) + 14 == 17, "1 + 16 hops"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_every_copy_is_in_a_row(path: Path) -> None:
    run = Simulation(*read_scenario(path))
    run.play()
    rows = diagram_of(run, most=100_000).rows
    copies = sum(row.count for row in rows if row.shape.is_copy)
    again = sum(row.count for row in rows if row.shape is Shape.AGAIN)
    assert copies <= len(run.network.passages) <= copies + again
    lost = sum(row.count for row in rows if row.is_lost)
    assert lost == sum(p.arrived is None for p in run.network.passages)
    assert [row.at for row in rows] == sorted(row.at for row in rows)


# --- what is left out ----------------------------------------------------------------------------


def test_one_dialog_by_its_name_and_by_its_id() -> None:
    run = played("load_balanced/dialogs")
    conversation = run.dialogs["d"][39]
    by_name = diagram_of(run, Choice("d/39"))
    assert by_name == diagram_of(run, Choice(str(conversation)))
    assert by_name == diagram_of(run, Choice(conversation.hex[:8].upper()))
    assert by_name.left_out == ("2,724 things of other dialogs",)
    assert diagram_of(run, Choice("d")).left_out[0].startswith("... "), "all hundred of them"


def test_faults_at_instances_that_the_dialog_never_meets_are_left_out() -> None:
    run = played("combined/gateway_loss")
    one = diagram_of(run, Choice("d/0"))
    assert texts(one, Shape.FAULT) == ["crashes"]
    assert "1 thing at other instances" in one.left_out


@pytest.mark.parametrize("name", ["e", "d/100", "0000000", "d/"])
def test_a_dialog_that_is_none_is_named(name: str) -> None:
    with pytest.raises(UsageError, match=r"no dialog '.*'[^$]*Give one of: d/0, .* and 95 more;"):
        drawn("load_balanced/dialogs", Choice(name))


def test_a_span_of_time() -> None:
    diagram = drawn("several_targets/no_progress", Choice(None, 5_000_000, 20_000_000))
    assert texts(diagram)[0] == "link goes down"
    assert all(5_000_000 <= row.at <= 20_000_000 for row in diagram.rows)
    assert diagram.left_out == ("17 things before 5.000 s", "9 things after 20.000 s")


def test_a_long_diagram_is_cut_with_a_note() -> None:
    run = played("load_balanced/dialogs")
    whole, part = diagram_of(run, most=100_000), diagram_of(run)
    assert part.rows == whole.rows[:MOST_ROWS]
    rest = whole.rows[MOST_ROWS:]
    copies = sum(row.count for row in rest if row.shape.is_copy)
    (omission,) = part.left_out
    assert omission.startswith(f"... {copies:,} more copies and ")


def test_where_nothing_happened_the_instances_stand_alone() -> None:
    diagram = drawn("two_brokers/lifetime", Choice(first=110_000_000))
    assert diagram.rows == ()
    assert [p.name for p in diagram.participants] == ["ServerA", "ServerB"]
    assert "left out" in mermaid_text(diagram)
    assert "left out" in svg_text(diagram)


# --- Mermaid -------------------------------------------------------------------------------------


def test_mermaid_marks_lost_and_late_copies() -> None:
    assert "p1-xp2: 6.002 message 1, lost\n" in mermaid_text(drawn("several_targets/no_progress"))
    text = mermaid_text(drawn("several_targets/two_targets"))
    assert "p1->>p2: 0.001 message 0\n" in text
    assert "p1->>p4: 0.001 message 0, there at 0.301\n" in text
    assert "p4-->>p1: 0.304 ack 0, there at 0.604\n" in text


NASTY = 'a;b#c<d>&"e"\nf'
ODD = Diagram(
    NASTY,
    (Participant(("i", "d", "s"), NASTY, NASTY), Participant(("i",), "end")),
    (
        DiagramRow(0, Shape.STATEMENT, (("i", "d", "s"), ("i",)), NASTY),
        DiagramRow(0, Shape.NOTE, (("i",),), NASTY),
    ),
    (NASTY,),
)


def test_names_cannot_break_mermaid() -> None:
    lines = mermaid_text(ODD).splitlines()
    assert len(lines) == 7
    escaped = 'a#59;b#35;c#60;d#62;#38;"e" f'
    assert lines[2] == f"  participant p0 as {escaped}<br/>{escaped}"
    assert lines[4] == f"  p0->>p1: 0.000 {escaped}"
    assert "#" not in lines[1] and ";" not in lines[1], "a title knows no escapes"


# --- SVG -----------------------------------------------------------------------------------------


def test_names_cannot_break_the_picture() -> None:
    root = ElementTree.fromstring(svg_text(ODD))
    assert 'a;b#c<d>&"e" f' in [element.text for element in root.iter(f"{SVG}text")]


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    text = svg_text(drawn("several_targets/no_progress"))
    root = ElementTree.fromstring(text)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags == {"svg", "title", "desc", "style", "rect", "line", "path", "polygon", "text"}
    assert text.count("http") == 1, "the namespace alone"
    assert not re.search(r"url\(|@import|@font-face|href", text)


def test_its_rules_are_for_itself_alone_and_its_rows_lead_nowhere() -> None:
    text = svg_text(drawn("several_targets/no_progress"))
    (style,) = re.findall(r"<style>(.*?)</style>", text)
    rules = re.sub(r"@media[^{]*", "", style)
    names = re.findall(r"([^{}]+)\{", rules)
    assert len(names) > 30
    assert all(part.startswith(".sequence ") for name in names for part in name.split(","))
    assert "<a " not in text


def test_in_a_page_rows_with_keys_are_links() -> None:
    rows = (
        DiagramRow(0, Shape.NOTE, (("i",),), NASTY, keys=(3, 4)),
        DiagramRow(0, Shape.NOTE, (("i",),), "no key"),
    )
    diagram = Diagram("d", (Participant(("i",), "i"),), rows)
    text = svg_text(diagram, Links(lambda key: f'?a="&key={key}', chosen=4))
    (link,) = ElementTree.fromstring(text).iter(f"{SVG}a")
    assert link.attrib["href"] == '?a="&key=3'
    assert link.attrib["id"] == "row-3"
    assert link.attrib["aria-current"] == "true"
    assert link.attrib["aria-label"] == '0.000 s: a;b#c<d>&"e" f'
    assert '[data-theme="dark"] .sequence' in text
    assert "prefers-color-scheme" not in text


def test_a_lost_copy_ends_in_a_cross_and_a_late_one_slants() -> None:
    diagram = drawn("several_targets/no_progress")
    root = ElementTree.fromstring(svg_text(diagram))
    paths = [element.attrib for element in root.iter(f"{SVG}path")]
    crosses = [path for path in paths if path["class"] == "line s-bad" and "l9 9" in path["d"]]
    assert len(crosses) == sum(row.is_lost for row in diagram.rows) == 4
    ends = [re.findall(r"[\d.]+", path["d"]) for path in paths if "L" in path["d"]]
    slanting = [end for end in ends if end[1] != end[3]]
    assert len(slanting) == 3, "to ServerC: the first message, the Error, and the last retry"


@pytest.mark.long
@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_nothing_covers_a_text(path: Path) -> None:
    run = Simulation(*read_scenario(path))
    run.play()
    diagram = diagram_of(run)
    boxes = sorted(_boxes(diagram), key=lambda box: box[1])
    layout = lay_out(diagram)
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0 and right <= layout.width and bottom <= layout.height
        for other in boxes[number + 1 :]:
            apart = other[0] >= right or other[2] <= left or other[1] >= bottom
            assert apart, f"{(left, top, right, bottom)} and {other}"


@pytest.mark.long
@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_what_belongs_to_a_lifeline_reaches_to_no_other(path: Path) -> None:
    run = Simulation(*read_scenario(path))
    run.play()
    _each_keeps_its_place(diagram_of(run))


def test_notes_alone_keep_lifelines_apart() -> None:
    places = [("A",), ("B",), ("C",)]
    rows = [DiagramRow(0, Shape.NOTE, (place,), "a note wider than an arrow") for place in places]
    _each_keeps_its_place(
        Diagram("notes", tuple(Participant(p, p[0]) for p in places), tuple(rows))
    )


def _each_keeps_its_place(diagram: Diagram) -> None:
    """A text is no longer than its arrow, and a note covers its own line alone."""
    layout = lay_out(diagram)
    for slot in layout.slots:
        xs = sorted(layout.columns[end] for end in slot.row.ends)
        if slot.row.shape.is_arrow:
            assert max(map(text_width, slot.lines)) < xs[-1] - xs[0], slot.lines
            continue
        left, width = box_of(slot, layout.columns)
        assert left > MARGIN + TIMES
        assert left + width <= layout.width
        covered = [x for x in layout.columns.values() if left <= x <= left + width]
        assert len(slot.row.ends) > 1 or covered == xs, slot.lines


def _boxes(diagram: Diagram) -> Iterator[tuple[float, float, float, float]]:
    """Yield the boxes of all notes, and of what is written above the arrows."""
    layout = lay_out(diagram)
    for participant in diagram.participants:
        x, half = layout.columns[participant.place], head_width(participant) / 2
        yield x - half, layout.top, x + half, layout.top + 2 * LINE
    for slot in layout.slots:
        height = LINE * len(slot.lines)
        if slot.row.shape.is_arrow:
            width = max(map(text_width, slot.lines))
            x, anchor = label_at(slot, layout.columns)
            left = x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
            yield left, slot.y - 4 - height, left + width, slot.y - 4
        else:
            left, width = box_of(slot, layout.columns)
            yield left, slot.y, left + width, slot.y + height


@pytest.mark.parametrize("write", [mermaid_text, svg_text])
def test_the_same_run_gives_the_same_bytes(write: object) -> None:
    assert callable(write)
    one, two = (write(drawn("load_balanced/dialogs")) for _ in range(2))
    assert one == two
