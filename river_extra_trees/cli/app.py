"""The command itself: options in, a race, results out."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from river_extra_trees.cli import UserError, learners, report, streams
from river_extra_trees.cli.race import Entrant, Interruptible, Race, enter

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
SECONDS_BETWEEN_VIEWS = 0.25

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=True,
)


@app.callback()
def about() -> None:
    """Streaming tree learners for river."""


@app.command(
    epilog="Exit status: 0 when all went well, 1 when a learner gave up, 2 when the command or "
    "the data cannot be understood, 130 after Ctrl-C (the results so far are still reported)."
)
def race(
    data: Annotated[
        str,
        typer.Argument(
            help="A data set bundled with river, a .csv, .csv.gz or .parquet file, "
            "or - for CSV on standard input."
        ),
    ],
    learner: Annotated[
        list[str] | None,
        typer.Argument(
            help="Learners of this package or of river, as Name or Name:key=value,key=value. "
            "Without any: all of this package and river's usual trees."
        ),
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    task: Annotated[
        str | None,
        typer.Option(help="classification or regression; by default inferred from the target."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="A metric by river's name; repeat it for more. The first one ranks."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="The most items to read.")] = None,
    seed: Annotated[int, typer.Option(help="For every learner that takes a seed.")] = 1,
    nominal: Annotated[
        list[str] | None, typer.Option(help="A CSV column whose numbers are names; repeatable.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the curves to this CSV file.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the curves to this file (.png, .svg, .pdf).")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(help="Write results and curves to this JSON file.")
    ] = None,
) -> None:
    """Race learners: each predicts every item, is scored, and then learns it."""
    try:
        _check_outputs(csv, plot, json)
        stream = streams.open_stream(
            data, target=target, task=_task(task), nominal=nominal or (), limit=limit
        )
        names = learner or learners.usual_learners(stream.task)
        contest = Race(_entrants(names, metric, stream.task, seed), stream.task)
        interrupted = _watch(contest, stream)
        outputs: list[tuple[Path | None, Callable[[Path], None]]] = [
            (csv, lambda path: report.write_csv(path, contest)),
            (plot, lambda path: report.draw(path, contest, stream)),
            (json, lambda path: report.write_json(path, contest, stream, interrupted=interrupted)),
        ]
        for path, write in outputs:
            if path is not None:
                _write(path, write)
    except UserError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(MISUSED) from None
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if any(entrant.error is not None for entrant in contest.entrants):
        raise typer.Exit(FAILED)


def _task(text: str | None) -> streams.Task | None:
    if text in (None, "classification", "regression"):
        return text  # type: ignore[return-value]
    raise UserError(f"--task is {text!r}; it can be classification or regression")


def _check_outputs(csv: Path | None, plot: Path | None, json: Path | None) -> None:
    """Refuse outputs that could not be written, before any time is spent."""
    for path in (csv, plot, json):
        if path is not None and not path.parent.is_dir():
            raise UserError(f"there is no folder {str(path.parent)!r} to write {path.name} to")
    if plot is not None:
        report.require_matplotlib()
        if plot.suffix not in (".png", ".svg", ".pdf"):
            raise UserError(f"cannot draw to {plot.name}: the name must end in .png, .svg or .pdf")


def _write(path: Path, write: Callable[[Path], None]) -> None:
    try:
        write(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    typer.echo(f"wrote {path}")


def _entrants(
    names: list[str], metric: list[str] | None, task: streams.Task, seed: int
) -> list[Entrant]:
    if len(set(names)) < len(names):
        raise UserError("a learner is named twice")
    entrants = []
    for name in names:
        model = learners.make_learner(name, task, seed)
        specs = metric or learners.USUAL_METRICS[task]
        entrants.append(enter(name, model, {s: learners.make_metric(s, model) for s in specs}))
    return entrants


def _watch(contest: Race, stream: streams.Stream) -> bool:
    """Run the race with live standings on a terminal; tell whether the user ended it early."""
    console = Console()
    if not console.is_terminal:
        # Into a file or a pipe the table is as wide as it needs to be.
        console = Console(width=200)
    with (
        Interruptible() as interruptible,
        Live(console=console, auto_refresh=False, transient=True) as live,
    ):
        next_view = 0.0
        for _ in contest.run(interruptible.rows(stream.rows)):
            if console.is_terminal and time.perf_counter() >= next_view:
                live.update(report.table(contest, stream), refresh=True)
                next_view = time.perf_counter() + SECONDS_BETWEEN_VIEWS
    if not contest.items:
        raise UserError(f"{stream.name} has no rows")
    contest.finish()
    console.print(report.table(contest, stream))
    for note in contest.notes():
        typer.echo(f"note: {note}", err=True)
    return interruptible.interrupted
