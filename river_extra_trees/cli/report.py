"""The report of a race: live standings, a table, a picture and CSV."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from river_extra_trees._estimator.inspection import in_bytes
from river_extra_trees.cli import UserError, outputs
from river_extra_trees.cli.alarms import Bell
from river_extra_trees.cli.outputs import say
from river_extra_trees.cli.progress import Progress
from river_extra_trees.cli.race import Interruptible, Race
from river_extra_trees.cli.scoring import notes_on
from river_extra_trees.cli.streams import Stream
from river_extra_trees.streams import TableError

SECONDS_BETWEEN_VIEWS = 0.25
SAMPLES_PER_LINE = 10_000  # of the progress in a log


@dataclass
class Ending:
    """How a race ended: at the end of the stream, by an interruption, an alarm or an error."""

    interrupted: bool = False
    alarmed: bool = False
    error: UserError | TableError | None = None

    def leave(self, contest: Race) -> None:
        """End the command with the status of the race."""
        if self.error is not None:
            raise self.error
        if self.interrupted:
            raise typer.Exit(outputs.INTERRUPTED)
        if self.alarmed:
            raise typer.Exit(outputs.ALARM)
        if len(contest.running) < len(contest.entrants):
            raise typer.Exit(outputs.FAILED)


def watch(
    contest: Race,
    stream: Stream,
    save: Callable[[], None] | None = None,
    every: int = SAMPLES_PER_LINE,
    bell: Bell | None = None,
) -> Ending:
    """Run the race, with live standings on a terminal, and print the results.

    After each `every` samples, `save` is called, and a log gets a line. The race ends if a bell
    that stops it has rung.
    """
    console = outputs.console()
    ending = Ending()
    progress = Progress(stream.reader, stream.n_items)
    with (
        Interruptible() as interruptible,
        Live(console=console, auto_refresh=False, transient=True) as live,
    ):
        next_view = 0.0
        try:
            for items in contest.run(interruptible.batches(stream.batches), every):
                if bell is not None and bell.stops and bell.rang:
                    ending.alarmed = True
                    break
                if items % every == 0:
                    if save is not None:
                        save()
                    if not console.is_terminal:
                        say([line(contest, progress)], "progress")
                if console.is_terminal and time.perf_counter() >= next_view:
                    progress.advance_to(items)
                    live.update(Group(table(contest, stream), progress.bar), refresh=True)
                    next_view = time.perf_counter() + SECONDS_BETWEEN_VIEWS
        except (UserError, TableError) as error:
            ending.error = error
    ending.interrupted = interruptible.interrupted
    if not contest.items:
        raise ending.error or UserError(f"{stream.name} has no rows")
    contest.finish()
    console.print(table(contest, stream))
    if ending.error is None:
        scores = {entrant.name: dict(entrant.metrics) for entrant in contest.running}
        say([*stream.notes(), *notes_on(contest.labels, scores)])
    return ending


def line(contest: Race, progress: Progress) -> str:
    """Return the state of a training, or of the best learner of a race, for a log."""
    best = contest.ranking()[0]
    scores = ", ".join(f"{name} {score:.4g}" for name, score in best.scores().items())
    who = f"{best.name} leads: " if len(contest.entrants) > 1 else ""
    return f"{progress.line(contest.items, 'samples')}, {who}{scores}, {best.speed:,.0f} samples/s"


def table(race: Race, stream: Stream) -> Table:
    """Return the standings, the best learner first."""
    of = f" of {stream.n_items:,}" if stream.n_items is not None else ""
    title = f"{stream.name}: {stream.task}, {race.items:,}{of} samples"
    standings = Table(title=title, min_width=len(title))
    standings.add_column("learner", overflow="fold")
    for column in (*race.entrants[0].metrics, "samples/s", "memory"):
        standings.add_column(column, justify="right", no_wrap=True)
    for entrant in race.ranking():
        scores = [f"{score:.4g}" for score in entrant.scores().values()]
        speed = f"{entrant.speed:,.0f}" if entrant.items else "-"
        standings.add_row(escape(entrant.name), *scores, speed, in_bytes(entrant.memory))
        if entrant.error is not None:
            standings.add_row(f"[red]{escape(entrant.error)}[/red]")
    return standings


def records(race: Race) -> Iterator[dict[str, Any]]:
    """Yield every point of every curve."""
    for entrant in race.entrants:
        for point in entrant.curve:
            yield {"learner": entrant.name, **point}


def write_csv(path: Path, race: Race) -> None:
    """Write every point of every curve, one per line."""
    columns = ["learner", "items", *race.entrants[0].metrics, "seconds", "memory_bytes"]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(records(race))


def draw(path: Path, race: Race, stream: Stream) -> None:
    """Draw scores and memory against the number of samples; river's learners are grey."""
    import matplotlib

    from river_extra_trees.plotting import PrequentialDisplay

    matplotlib.use("agg")  # writes a file and opens no window
    of_river = [
        entrant.name
        for entrant in race.entrants
        if type(entrant.model).__module__.startswith("river.")
    ]
    display = PrequentialDisplay.from_records(records(race), muted=of_river).plot()
    display.axes_[0].set_title(f"{stream.name}: prequential evaluation (test, then train)")
    display.figure_.savefig(path, dpi=120)


def write_all(
    contest: Race, stream: Stream, ending: Ending, csv: Path | None, plot: Path | None
) -> None:
    """Write the requested files, each even if the other one cannot be written."""
    results: list[tuple[Path | None, Callable[[Path], None]]] = [
        (csv, lambda path: write_csv(path, contest)),
        (plot, lambda path: draw(path, contest, stream)),
    ]
    for path, write in results:
        if path is not None:
            try:
                outputs.write(path, write)
            except UserError as error:
                ending.error = ending.error or error
