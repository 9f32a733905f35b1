"""The commands: race, info and draw."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.live import Live

from river_extra_trees.cli import (
    UserError,
    checkpoint,
    learners,
    models,
    options,
    outputs,
    report,
    streams,
)
from river_extra_trees.cli.race import Entrant, Interruptible, Race, checksum, enter

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
    epilog="Exit status: 0 on success, 1 if a learner failed, 2 if the command or the data are "
    "invalid, 130 after Ctrl-C (the results so far are still reported)."
)
def race(
    data: options.Data,
    learner: options.Learners = None,
    target: options.Target = None,
    task: options.Task = None,
    metric: options.Metrics = None,
    limit: options.Limit = None,
    seed: options.Seed = 1,
    nominal: options.Nominal = None,
    csv: options.Csv = None,
    plot: options.Plot = None,
    json: options.Json = None,
    checkpoint: options.Checkpoint = None,
    every: options.Every = 10_000,
    resume: options.Resume = False,
) -> None:
    """Race learners: each predicts an item, is scored, and then learns the item."""
    try:
        inputs = streams.files_of(data)
        outputs.check(inputs, csv=csv, plot=plot, json=json, checkpoint=checkpoint)
        stream = streams.open_stream(
            data, target=target, task=_task(task), nominal=nominal or (), limit=limit
        )
        names = learner or learners.usual_learners(stream.task)
        plan = {
            **{"data": data, "target": target, "task": stream.task, "learners": names},
            **{"metric": metric, "nominal": nominal, "seed": seed},
        }
        saver = Saver(checkpoint, every, plan)
        contest = saver.resumed(resume) or Race(
            _entrants(names, metric, stream.task, seed), stream.task
        )
        _skip(stream, contest)
        interrupted = _watch(contest, stream, saver)
        _write_all(contest, stream, interrupted, csv, plot, json)
    except UserError as error:
        _refuse(error)
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if any(entrant.error is not None for entrant in contest.entrants):
        raise typer.Exit(FAILED)


@app.command()
def info(file: models.File, learner: models.Learner = None) -> None:
    """Describe a saved model or a checkpoint of a race."""
    try:
        models.show(file, learner)
    except UserError as error:
        _refuse(error)


@app.command()
def draw(
    file: models.File,
    learner: models.Learner = None,
    tree: Annotated[int, typer.Option(min=0, help="Number of the tree.")] = 0,
    max_depth: Annotated[int, typer.Option(min=0, help="Depth of the deepest nodes to draw.")] = 3,
    output: Annotated[
        Path | None,
        typer.Option(help="Draw to this file (.png, .svg, .pdf); by default, print text."),
    ] = None,
) -> None:
    """Draw a tree of a saved model."""
    try:
        if output is None:
            typer.echo(models.text_of(file, learner, tree, max_depth))
        else:
            outputs.check([file], plot=output)
            _write(output, lambda path: models.draw(path, file, learner, tree, max_depth))
    except UserError as error:
        _refuse(error)


def _refuse(error: UserError) -> NoReturn:
    typer.echo(f"error: {error}", err=True)
    raise typer.Exit(MISUSED) from None


class Saver:
    """Writes checkpoints at intervals, or none if it has no path.

    Parameters
    ----------
    path
        The file to write.
    every
        Number of items between two checkpoints.
    plan
        The arguments of the race that determine its results.
    """

    def __init__(self, path: Path | None, every: int, plan: checkpoint.Plan) -> None:
        self.path = path
        self.every = every
        self.plan = plan

    def resumed(self, wanted: bool) -> Race | None:
        """Return the race of the checkpoint, or None if there is no checkpoint yet."""
        if wanted and self.path is None:
            raise UserError("--resume needs the file to resume from: add --checkpoint FILE")
        if self.path is None or not self.path.exists():
            return None
        if not wanted:
            raise UserError(
                f"{self.path} exists; add --resume to continue from it, or name another file"
            )
        return checkpoint.resume(self.path, self.plan)

    def save(self, contest: Race, *, force: bool = False) -> None:
        """Write a checkpoint if it is due."""
        if self.path is not None and (force or contest.items % self.every == 0):
            checkpoint.save(self.path, contest, self.plan)


def _skip(stream: streams.Stream, contest: Race) -> None:
    """Skip the rows that a resumed race has seen."""
    n, found = 0, 0
    for row in itertools.islice(stream.rows, contest.items):
        n, found = n + 1, checksum(row, found)
    if n < contest.items:
        raise UserError(
            f"{stream.name} has fewer than the {contest.items:,} rows of the checkpoint"
        )
    if found != contest.checksum:
        raise UserError(f"the first {n:,} rows of {stream.name} are not those of the checkpoint")


def _task(text: str | None) -> streams.Task | None:
    if text in (None, "classification", "regression"):
        return text  # type: ignore[return-value]
    raise UserError(f"--task is {text!r}; it must be classification or regression")


def _write_all(
    contest: Race,
    stream: streams.Stream,
    interrupted: bool,
    csv: Path | None,
    plot: Path | None,
    json: Path | None,
) -> None:
    """Write the results to the requested files."""
    results: list[tuple[Path | None, Callable[[Path], None]]] = [
        (csv, lambda path: report.write_csv(path, contest)),
        (plot, lambda path: report.draw(path, contest, stream)),
        (json, lambda path: report.write_json(path, contest, stream, interrupted=interrupted)),
    ]
    for path, write in results:
        if path is not None:
            _write(path, write)


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


def _watch(contest: Race, stream: streams.Stream, saver: Saver) -> bool:
    """Run the race, with live standings on a terminal; return whether the user interrupted it."""
    console = Console()
    if not console.is_terminal:
        # In a file or a pipe, the table is as wide as it needs to be.
        console = Console(width=200)
    with (
        Interruptible() as interruptible,
        Live(console=console, auto_refresh=False, transient=True) as live,
    ):
        next_view = 0.0
        for _ in contest.run(interruptible.rows(stream.rows)):
            saver.save(contest)
            if console.is_terminal and time.perf_counter() >= next_view:
                live.update(report.table(contest, stream), refresh=True)
                next_view = time.perf_counter() + SECONDS_BETWEEN_VIEWS
    if not contest.items:
        raise UserError(f"{stream.name} has no rows")
    saver.save(contest, force=True)
    contest.finish()
    console.print(report.table(contest, stream))
    for note in contest.notes():
        typer.echo(f"note: {note}", err=True)
    return interruptible.interrupted
