"""The results of a race: a table, a picture, CSV and JSON."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.table import Table

from river_extra_trees._estimator.inspection import in_bytes
from river_extra_trees.cli import UserError
from river_extra_trees.cli.race import Entrant, Race
from river_extra_trees.cli.streams import Stream
from river_extra_trees.plotting import PrequentialDisplay


def table(race: Race, stream: Stream) -> Table:
    """Return the standings, the best learner first."""
    names = list(race.entrants[0].metrics)
    of = f" of {stream.n_items:,}" if stream.n_items is not None else ""
    title = f"{stream.name}: {stream.task}, {race.items:,}{of} samples"
    share = stream.share_read
    if not of and share is not None and share < 1:
        title += f", {share:.0%} of the file"
    standings = Table(title=title, min_width=len(title))
    standings.add_column("learner", overflow="fold")
    for column in (*names, "samples/s", "memory"):
        standings.add_column(column, justify="right", no_wrap=True)
    for entrant in race.ranking():
        scores = [f"{score:.4g}" for score in entrant.scores().values()]
        speed = f"{entrant.speed:,.0f}" if entrant.items else "-"
        standings.add_row(entrant.name, *scores, speed, in_bytes(entrant.memory))
        if entrant.error is not None:
            standings.add_row(f"[red]{_plain(entrant.error)}[/red]")
    return standings


def _plain(text: str) -> str:
    """Escape brackets in a message, which rich would read as markup."""
    return text.replace("[", r"\[")


def records(race: Race) -> Iterator[dict[str, Any]]:
    """Yield every point of every curve."""
    for entrant in race.entrants:
        for point in entrant.curve:
            yield {
                "learner": entrant.name,
                "items": point.items,
                **point.scores,
                "seconds": f"{point.seconds:.6f}",
                "memory_bytes": point.memory,
            }


def write_csv(path: Path, race: Race) -> None:
    """Write every point of every curve, one per line."""
    columns = ["learner", "items", *race.entrants[0].metrics, "seconds", "memory_bytes"]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(records(race))


def write_json(
    path: Path, race: Race, stream: Stream, *, interrupted: bool, error: UserError | None
) -> None:
    """Write results and curves as one JSON object; numbers that are not finite become null."""
    document = {
        "stream": stream.name,
        "task": stream.task,
        "items": race.items,
        "interrupted": interrupted,
        "error": None if error is None else str(error),
        "skipped_rows": 0 if stream.bad_rows is None else stream.bad_rows.count,
        "learners": [_as_json(entrant) for entrant in race.ranking()],
    }
    path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _as_json(entrant: Entrant) -> dict[str, Any]:
    return {
        "learner": entrant.name,
        "items": entrant.items,
        "scores": _finite(entrant.scores()),
        "items_per_second": _finite({"": entrant.speed})[""],
        "memory_bytes": entrant.memory,
        "error": entrant.error,
        "curve": [
            {
                "items": point.items,
                "scores": _finite(point.scores),
                "seconds": point.seconds,
                "memory_bytes": point.memory,
            }
            for point in entrant.curve
        ],
    }


def _finite(values: dict[str, float]) -> dict[str, float | None]:
    return {key: value if math.isfinite(value) else None for key, value in values.items()}


def draw(path: Path, race: Race, stream: Stream) -> None:
    """Draw scores and memory against the number of samples; river's learners are grey."""
    import matplotlib

    matplotlib.use("agg")  # writes a file and opens no window
    of_river = [
        entrant.name
        for entrant in race.entrants
        if type(entrant.model).__module__.startswith("river.")
    ]
    display = PrequentialDisplay.from_records(records(race), muted=of_river).plot()
    display.axes_[0].set_title(f"{stream.name}: prequential evaluation (test, then train)")
    display.figure_.savefig(path, dpi=120)
