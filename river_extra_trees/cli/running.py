"""How a race runs: watched, saved at intervals, and reported whatever happens."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.live import Live
from river import metrics, utils

from river_extra_trees.cli import UserError, learners, outputs, report
from river_extra_trees.cli.race import Entrant, Interruptible, Race, enter
from river_extra_trees.cli.streams import Stream, Task

SECONDS_BETWEEN_VIEWS = 0.25


@dataclass
class Ending:
    """How a race ended: at the end of the stream, by an interruption, or by an error."""

    interrupted: bool
    error: UserError | None = None


def make_entrants(
    names: list[str],
    metric: list[str] | None,
    task: Task,
    seed: int,
    saved: Any = None,
    rolling: int | None = None,
) -> list[Entrant]:
    """Create the learners and their metrics, over all samples or the last so many.

    A saved model, if there is one, takes the place of a new one.
    """
    if len(set(names)) < len(names):
        raise UserError("the same learner is given twice")
    entrants = []
    for name in names:
        model = saved if saved is not None else learners.make_learner(name, task, seed)
        found: dict[str, Any] = {}
        for spec in metric or learners.USUAL_METRICS[task]:
            made = learners.make_metric(spec, model)
            if rolling is None:
                found[spec] = made
            else:
                found[f"{spec}, last {rolling:,}"] = rolled(spec, made, rolling)
        entrants.append(enter(name, model, found))
    return entrants


def rolled(spec: str, metric: metrics.base.Metric, window_size: int) -> Any:
    """Return a metric, made from a specification, over the last so many samples."""
    _, parameters = learners.parse(spec)
    return utils.Rolling(type(metric), window_size=window_size, **parameters)


def skip(stream: Stream, n: int) -> None:
    """Skip the first n rows."""
    for batch in stream.batches:
        if len(batch) > n:
            stream.batches = itertools.chain([batch[n:]], stream.batches)
            return
        n -= len(batch)
    raise UserError(f"{stream.name} has no rows beyond those that the model has learned")


def watch(
    contest: Race, stream: Stream, save: Callable[[], None] | None = None, every: int = 0
) -> Ending:
    """Run the race, with live standings on a terminal, and print what was reached.

    `save` is called after each `every` samples.
    """
    console = outputs.console()
    ending = Ending(interrupted=False)
    with (
        Interruptible() as interruptible,
        Live(console=console, auto_refresh=False, transient=True) as live,
    ):
        next_view = 0.0
        try:
            for items in contest.run(interruptible.batches(stream.batches), every):
                if save is not None and items % every == 0:
                    save()
                if console.is_terminal and time.perf_counter() >= next_view:
                    live.update(report.table(contest, stream), refresh=True)
                    next_view = time.perf_counter() + SECONDS_BETWEEN_VIEWS
        except UserError as error:
            ending.error = error
    ending.interrupted = interruptible.interrupted
    if not contest.items:
        raise ending.error or UserError(f"{stream.name} has no rows")
    contest.finish()
    console.print(report.table(contest, stream))
    read = stream.reading() if ending.error is None else ()
    for note in (*read, *contest.notes(), *stream.notes()):
        typer.echo(f"note: {note}", err=True)
    return ending


def write_all(
    contest: Race,
    stream: Stream,
    ending: Ending,
    csv: Path | None,
    plot: Path | None,
    json: Path | None,
) -> None:
    """Write the results to the requested files, each whether or not another cannot be written."""
    results: list[tuple[Path | None, Callable[[Path], None]]] = [
        (csv, lambda path: report.write_csv(path, contest)),
        (plot, lambda path: report.draw(path, contest, stream)),
        (json, lambda path: report.write_json(path, contest, stream, **vars(ending))),
    ]
    for path, write in results:
        if path is not None:
            try:
                outputs.write(path, write)
            except UserError as error:
                ending.error = ending.error or error
