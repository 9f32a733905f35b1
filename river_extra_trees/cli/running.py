"""How a race runs: resumed, watched, saved at intervals, and reported whatever happens."""

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

from river_extra_trees.cli import UserError, checkpoint, learners, outputs, report
from river_extra_trees.cli.race import Checksum, Entrant, Interruptible, Race, enter
from river_extra_trees.cli.streams import Stream, Task

SECONDS_BETWEEN_VIEWS = 0.25


@dataclass
class Ending:
    """How a race ended: at the end of the stream, by an interruption, or by an error."""

    interrupted: bool
    error: UserError | None = None


class Saver:
    """Writes checkpoints at intervals, or none if it has no path.

    Parameters
    ----------
    path
        The file to write.
    every
        Number of samples between two checkpoints.
    plan
        The arguments of the race that determine its results.
    """

    def __init__(self, path: Path | None, every: int, plan: checkpoint.Plan) -> None:
        self.path = path
        self.every = every if path is not None else 0
        self.plan = plan

    def resumed(self, wanted: bool) -> Race | None:
        """Return the race of the checkpoint, or None if there is no checkpoint yet."""
        if wanted and self.path is None:
            raise UserError("--resume needs a checkpoint to resume from: add --checkpoint FILE")
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


def skip(stream: Stream, contest: Race, *, unseen: bool = False) -> None:
    """Skip the rows that a resumed race has seen, unless all of them are unseen.

    A log file that was rotated holds only those since the last file began.
    """
    if unseen or not contest.shown_of_file.n_rows:
        return
    found = Checksum()
    ways = [contest.shown_of_file, contest.shown]  # the longer one last
    which = "row"
    while ways:
        seen = ways[0]
        batch = next(stream.batches, None)
        if batch is None:
            raise UserError(
                f"{stream.name} has fewer rows than the {contest.items:,} of the checkpoint"
            )
        part = batch[: seen.n_rows - found.n_rows]
        found.add(part)
        if len(part) < len(batch):
            stream.batches = itertools.chain([batch[len(part) :]], stream.batches)
        if found == seen:
            return
        # Other rows are told by the first one: the last one may be days away.
        ways = [way for way in ways if way.first == found.first]
        if found.n_rows == seen.n_rows and seen in ways:
            which = f"{found.n_rows:,} rows"
            ways.remove(seen)
    raise UserError(
        f"the first {which} of {stream.name} cannot be found in the checkpoint; if all its rows "
        "are new, for example after a log rotation, add --unseen"
    )


def watch(contest: Race, stream: Stream, saver: Saver) -> Ending:
    """Run the race, with live standings on a terminal, and print what was reached."""
    console = outputs.console()
    ending = Ending(interrupted=False)
    with (
        Interruptible() as interruptible,
        Live(console=console, auto_refresh=False, transient=True) as live,
    ):
        next_view = 0.0
        try:
            for _ in contest.run(interruptible.batches(stream.batches), saver.every):
                saver.save(contest)
                if console.is_terminal and time.perf_counter() >= next_view:
                    live.update(report.table(contest, stream), refresh=True)
                    next_view = time.perf_counter() + SECONDS_BETWEEN_VIEWS
            saver.save(contest, force=contest.items > 0)
        except UserError as error:
            ending.error = error
    ending.interrupted = interruptible.interrupted
    if not contest.items:
        raise ending.error or UserError(f"{stream.name} has no rows")
    contest.finish()
    console.print(report.table(contest, stream))
    for note in (*contest.notes(), *stream.notes()):
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
