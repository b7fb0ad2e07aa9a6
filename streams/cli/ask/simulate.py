"""``hopline simulate``: run a scenario on a virtual clock, and check its invariants."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click

from streams.analysis.places import unknown
from streams.cli.ask.diagram_file import DiagramFile, write_diagram
from streams.cli.ask.explore import run_exploration
from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option
from streams.cli.options.duration import DURATION
from streams.cli.options.renamed import since_option, until_option
from streams.cli.options.together import together
from streams.cli.text.terminal import show
from streams.resources import topologies_dir
from streams.simulator import MILLISECOND, Simulation, read_scenario, result_text
from streams.simulator.diagram import Choice, diagram_of


class ScenarioFile(click.ParamType):
    """A scenario's file, or the name of a shipped scenario: ``topology/scenario``."""

    name = "scenario"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Return the file's path; raise UsageError if there is no such file or shipped name."""
        path = Path(str(value))
        if path.exists() or path.is_absolute() or path.suffix:
            return path
        files = topologies_dir().glob("*/scenarios/*.yaml")
        shipped = {f"{file.parent.parent.name}/{file.stem}": file for file in files}
        if path.as_posix() not in shipped:
            raise unknown("file or shipped scenario", str(value), shipped, "Hopline")
        return shipped[path.as_posix()]


@dataclass(frozen=True, slots=True)
class SimulateOptions:
    """The options of ``hopline simulate``."""

    seed: int
    format_: str
    diagram: Path | None
    dialog: str | None
    first: int | None
    last: int | None
    capture: Path | None
    count: int | None
    processes: int | None
    output: Path


@click.command()
@click.argument("scenario", required=False, type=ScenarioFile())
@click.option("--seed", default=0, show_default=True, help="Random seed of the run.")
@format_option()
@click.option(
    "--diagram",
    type=DiagramFile(),
    metavar="FILE",
    help="Write a sequence diagram: SVG (.svg) or Mermaid (.mmd, .md).",
)
@click.option("--dialog", metavar="NAME|ID", help="With --diagram: only this dialog, such as d/3.")
@since_option(
    "first", type=DURATION, metavar="TIME",
    help="With --diagram: start time.",
)  # fmt: skip
@until_option(
    "last", type=DURATION, metavar="TIME",
    help="With --diagram: end time.",
)  # fmt: skip
@click.option(
    "--capture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write all topics as a capture, for `hopline replay`. Needs the extra 'run'.",
)
@click.option(
    "--explore",
    "count",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run N random topologies, scenarios and faults instead, starting at --seed.",
)
@click.option(
    "--processes",
    metavar="N",
    type=click.IntRange(min=1),
    help="With --explore: number of processes. [default: number of cores]",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("explored"),
    show_default=True,
    help="With --explore: folder for minimized failing runs.",
)
@click.pass_context
@together(SimulateOptions)
def simulate(
    ctx: click.Context,
    scenario: Path | None,
    given: SimulateOptions,
) -> None:
    """Run a scenario on a virtual clock and report the outcome of every message.

    SCENARIO is a file, or the name of a shipped scenario, such as load_balanced/dialogs. The same
    seed gives the same run, byte for byte. The exit code is 1 if a message was lost or
    duplicated, or an invariant was violated.
    """
    if (scenario is None) == (given.count is None):
        raise click.UsageError("Give either a scenario file or --explore N.")
    choice = Choice(given.dialog, _virtual(given.first), _virtual(given.last))
    if given.diagram is None and choice != Choice():
        raise click.UsageError("--dialog, --since and --until need --diagram FILE.")
    if given.count is not None:
        if given.diagram or given.capture:
            raise click.UsageError("--explore cannot be combined with --diagram or --capture.")
        ctx.exit(
            0 if run_exploration(given.seed, given.count, given.processes, given.output) else NOT_OK
        )
    assert scenario is not None, "one of the two was given"
    topology, read = read_scenario(scenario)
    # import this before the run, and only here, because it needs an optional dependency
    if given.capture is not None:
        from streams.cli.ask.run_capture import write_run
    run = Simulation(topology, read, given.seed)
    result = run.run()
    if given.diagram is not None:
        write_diagram(given.diagram, diagram_of(run, choice))
    if given.capture is not None:
        write_run(given.capture, run, (scenario.parent / read.topology).resolve().name)
    if given.format_ == "json":
        click.echo(json.dumps(result.to_json(), indent=2, ensure_ascii=False))
    else:
        show(result_text(result))
    ctx.exit(0 if result.good else NOT_OK)


def _virtual(milliseconds: int | None) -> int | None:
    """Convert a time on the command line into microseconds."""
    return None if milliseconds is None else milliseconds * MILLISECOND
