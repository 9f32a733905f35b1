"""The command: `race` and `train`, and where the other subcommands are found."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from rich.live import Live

from river_extra_trees import persistence
from river_extra_trees.cli import (
    UserError,
    checkpoint,
    learners,
    listing,
    models,
    options,
    outputs,
    predict,
    report,
    serving,
    streams,
)
from river_extra_trees.cli.race import Entrant, Interruptible, Race, checksum, enter
from river_extra_trees.serving import description

SECONDS_BETWEEN_VIEWS = 0.25

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    no_args_is_help=True,
)


@app.callback()
def about(version: options.Version = False) -> None:
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
    with outputs.refusing():
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
    _leave(contest, interrupted)


@app.command(
    epilog="Exit status: 0 on success, 1 if the learner failed, 2 if the command or the data are "
    "invalid, 130 after Ctrl-C. What was learned until then is saved in all cases."
)
def train(
    data: options.Data,
    learner: options.Learner,
    save: options.Save,
    parameters: options.Parameters = None,
    target: options.Target = None,
    task: options.Task = None,
    metric: options.Metrics = None,
    limit: options.Limit = None,
    seed: options.Seed = 1,
    nominal: options.Nominal = None,
    checkpoint: options.Checkpoint = None,
    every: options.Every = 10_000,
    resume: options.Resume = False,
) -> None:
    """Train a learner and save it: each item is predicted and scored before it is learned."""
    with outputs.refusing():
        outputs.check(streams.files_of(data), checkpoint=checkpoint, model=save)
        spec = learners.with_parameters(learner, parameters or ())
        saved = models.open_model(Path(spec), None) if Path(spec).is_file() else None
        if saved is not None and task is None:
            task = description.task_of(saved)
        stream = streams.open_stream(
            data, target=target, task=_task(task), nominal=nominal or (), limit=limit
        )
        plan = {
            **{"command": "train", "data": data, "target": target, "task": stream.task},
            **{"learners": [spec], "metric": metric, "nominal": nominal, "seed": seed},
        }
        saver = Saver(checkpoint, every, plan)
        contest = saver.resumed(resume) or Race(
            _entrants([spec], metric, stream.task, seed, saved), stream.task
        )
        entrant = contest.entrants[0]
        models.require_file(entrant.model)
        _skip(stream, contest)
        try:
            interrupted = _watch(contest, stream, saver)
        finally:
            if contest.items:
                outputs.write(save, lambda path: persistence.save(entrant.model, path))
    _leave(contest, interrupted)


app.command()(predict.predict)
app.command()(serving.serve)
app.command()(models.info)
app.command()(models.draw)
app.command("list")(listing.list_names)


def _leave(contest: Race, interrupted: bool) -> None:
    """End the command with the status of a race."""
    if interrupted:
        raise typer.Exit(outputs.INTERRUPTED)
    if any(entrant.error is not None for entrant in contest.entrants):
        raise typer.Exit(outputs.FAILED)


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
            outputs.write(path, write)


def _entrants(
    names: list[str],
    metric: list[str] | None,
    task: streams.Task,
    seed: int,
    saved: Any = None,
) -> list[Entrant]:
    if len(set(names)) < len(names):
        raise UserError("a learner is named twice")
    entrants = []
    for name in names:
        model = saved if saved is not None else learners.make_learner(name, task, seed)
        specs = metric or learners.USUAL_METRICS[task]
        entrants.append(enter(name, model, {s: learners.make_metric(s, model) for s in specs}))
    return entrants


def _watch(contest: Race, stream: streams.Stream, saver: Saver) -> bool:
    """Run the race, with live standings on a terminal; return whether the user interrupted it."""
    console = outputs.console()
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
