"""A picture of the comparison: mean rank and speed; ours are blue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from examples.benchmarks.peers import contenders
from examples.benchmarks.peers.standings import RANKED, Standings, speed

# Where a label may stand beside its point, in points, and how it is aligned.
PLACES = [(6, 4, "left"), (6, -11, "left"), (-6, 4, "right"), (-6, -11, "right")]


def short(learner: str) -> str:
    """Return a name without what all names of a task have."""
    return learner.removesuffix("Classifier").removesuffix("Regressor")


def color(learner: str, standings: Standings) -> str:
    """Return the colour of a learner."""
    ours = contenders.library(learner, standings.task) == "river-extra-trees"
    return "tab:blue" if ours else "black"


def draw(standings: Standings, path: Path) -> None:
    """Draw the mean rank against the samples per second."""
    figure, axis = plt.subplots(figsize=(9, 5.5), constrained_layout=True)
    points = {}
    for learner, mean in standings.first_ranks.items():
        own = standings.results(learner)
        points[learner] = float(speed(own).replace(",", "")), mean
        axis.scatter(*points[learner], color=color(learner, standings), s=25)
    axis.set_xscale("log")
    axis.invert_yaxis()
    axis.margins(x=0.15, y=0.08)
    axis.set_xlabel("samples per second of user CPU, prediction and learning")
    axis.set_ylabel(f"mean rank by {RANKED[standings.task][0]}, 1 is best")
    figure.canvas.draw()
    taken = [axis.transData.transform(point) for point in points.values()]
    boxes: list[Any] = []
    for learner, point in points.items():
        boxes.append(label(axis, short(learner), point, color(learner, standings), boxes, taken))
    figure.savefig(path, dpi=130)
    plt.close(figure)


def label(axis: Any, text: str, point: Any, own: str, boxes: list[Any], taken: list[Any]) -> Any:
    """Write beside a point where nothing is written yet, if there is such a place."""
    for x, y, side in PLACES:
        note = axis.annotate(
            text, point, (x, y), textcoords="offset points", fontsize=8, color=own, ha=side
        )
        box = note.get_window_extent()
        free = not any(box.overlaps(other) for other in boxes)
        if (free and not any(box.contains(*dot) for dot in taken)) or (x, y, side) == PLACES[-1]:
            return box
        note.remove()
    raise AssertionError("the last place is always taken")
