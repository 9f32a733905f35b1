"""Pictures of the comparison; ours are blue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from examples.benchmarks.peers import contenders, ranking
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


def draw_ranks(standings: Standings, path: Path) -> None:
    """Draw a critical-difference diagram: a bar joins those that cannot be told apart."""
    means = standings.first_ranks
    n = len(means)
    difference = ranking.critical_difference(n, len(standings.streams))
    bars = ranking.cliques(means, difference)
    half = (n + 1) // 2
    figure, axis = plt.subplots(figsize=(9, 1.2 + 0.26 * half + 0.1 * len(bars)))
    draw_scale(axis, n, difference)
    for i, (learner, mean) in enumerate(means.items()):
        left = i < half
        depth = -1.2 - 0.22 * len(bars) - 0.75 * (i if left else n - 1 - i)
        edge = 0.7 if left else n + 0.3
        label = f"{short(learner)}  {mean:.2f}" if left else f"{mean:.2f}  {short(learner)}"
        style: dict[str, Any] = {"color": color(learner, standings)}
        axis.plot([mean, mean, edge], [0, depth, depth], linewidth=0.8, **style)
        style |= {"ha": "right" if left else "left", "va": "center", "fontsize": 8}
        axis.text(edge + (-0.1 if left else 0.1), depth, label, **style)
    for i, (first, last) in enumerate(bars):
        axis.plot([first - 0.05, last + 0.05], [-0.45 - 0.22 * i] * 2, color="tab:red", linewidth=2)
    axis.set_axis_off()
    figure.savefig(path, dpi=130, bbox_inches="tight")
    plt.close(figure)


def draw_scale(axis: Any, n: int, difference: float) -> None:
    """Draw the axis of ranks, and how much two must differ."""
    axis.plot([1, n], [0, 0], color="black", linewidth=1)
    for tick in range(1, n + 1):
        axis.plot([tick, tick], [0, 0.12], color="black", linewidth=1)
        axis.text(tick, 0.25, str(tick), ha="center", va="bottom", fontsize=8)
    axis.plot([1, 1 + difference], [1.3, 1.3], color="tab:red", linewidth=2)
    text = f"critical difference {difference:.2f}"
    axis.text(1.15 + difference, 1.3, text, va="center", fontsize=8)


def draw_speed(standings: Standings, path: Path) -> None:
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
