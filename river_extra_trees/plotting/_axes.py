"""Axes to draw on, and the colours, markers and hatches that all displays share."""

from __future__ import annotations

import abc
import typing
from collections.abc import Hashable, Sequence

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure

from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._estimator.classifier import TreeClassifier
from river_extra_trees._estimator.learner import TreeLearner

__all__ = [
    "CLASS_COLOURS",
    "CLASS_HATCHES",
    "CLASS_MARKERS",
    "FULLEST",
    "HATCH_COLOUR",
    "MUTED",
    "AxesDisplay",
    "Colour",
    "Colours",
    "Display",
    "colour_of_class",
    "draw_bars",
    "figure_of",
    "mark_drifts",
    "mixed_with_white",
    "new_axes",
    "written",
]

Colour = tuple[float, float, float]
# The eight colours of Okabe and Ito's palette, which colour-blind readers can tell apart. Beyond
# eight classes they repeat. Markers and hatches differ for ten classes, also in grey.
CLASS_COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"),
    *("#000000", "#F0E442"),
)
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
CLASS_HATCHES = ("", "//", "..", "\\\\", "xx", "--", "||", "++", "oo", "**")
MUTED = "#8A8A8A"
NUMBER_COLOURS = "viridis"
LONGEST_NAME = 28  # characters
# Share of the class colour in the colour of a leaf, from the least to the most certain leaf. The
# rest is white, so that black text is legible on every leaf.
PALEST, FULLEST = 0.15, 0.55
HATCH_COLOUR = (1.0, 1.0, 1.0, 0.55)


def written(value: typing.Any) -> str:
    """Return a name or a label as text for matplotlib; a long text is cut off."""
    text = safe_repr(value, str)
    if len(text) > LONGEST_NAME:
        text = text[: LONGEST_NAME - 1] + "…"
    return text.replace("$", r"\$")  # matplotlib reads text between two $ as a formula


def new_axes(
    width: float, heights: Sequence[float], legend: float = 0.0, figure: Figure | None = None
) -> list[Axes]:
    """Return panels in a column of a figure, with a common horizontal axis.

    All lengths are in inches. `legend` is the height of a legend below the panels. A new figure
    belongs to pyplot, so that `matplotlib.pyplot.show` and notebooks show it. A given figure is
    cleared first.
    """
    size = width, sum(heights) + legend
    if figure is None:
        figure = pyplot.figure(figsize=size, layout="constrained")
    else:
        figure.clear()
        figure.set_size_inches(*size)
        figure.set_layout_engine("constrained")
    axes = figure.subplots(
        len(heights), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    return list(axes[:, 0])


def figure_of(ax: Axes) -> Figure:
    """Return the figure of the axes, also if they lie in a subfigure."""
    return typing.cast(Figure, ax.get_figure(root=True))


class Display(abc.ABC):
    """A picture that can be drawn in a new figure or in an old one."""

    figure_: Figure

    @abc.abstractmethod
    def _draw_in(self, figure: Figure | None) -> None:
        """Draw on new axes in a figure; None creates a new figure."""


class AxesDisplay(Display):
    """A picture on one pair of axes, new or given."""

    ax_: Axes

    def plot(self, ax: Axes | None = None) -> typing.Self:
        """Draw the picture.

        Parameters
        ----------
        ax
            Axes to draw on. None creates new ones, large enough for the picture.

        Returns
        -------
        This display, with the axes in `ax_` and their figure in `figure_`.
        """
        if ax is None:
            self._draw_in(None)
        else:
            self.ax_, self.figure_ = ax, figure_of(ax)
            self._draw(ax)
        return self

    def _draw_in(self, figure: Figure | None) -> None:
        width, height = self._size()
        (ax,) = new_axes(width, [height], figure=figure)
        self.plot(ax)

    @abc.abstractmethod
    def _size(self) -> tuple[float, float]:
        """Return the width and the height of new axes, in inches."""

    @abc.abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw on the axes; `ax_` and `figure_` are set already."""


def draw_bars(
    ax: Axes,
    names: Sequence[str],
    sizes: Sequence[float],
    form: str,
    colours: Sequence[str] = (),
    others: tuple[int, float] = (0, 0.0),
    end: float | None = None,
) -> list[float]:
    """Draw a bar per feature from the top down, and a grey one for the others.

    `others` are their number and their size. Bars begin at 0, or each where the next one ends, from
    `end` at the top. Returns where they begin, after the end of the first one.
    """
    names, sizes = list(names), list(sizes)
    colours = list(colours) or [CLASS_COLOURS[0]] * len(sizes)
    if others[0]:
        names.append(f"{others[0]:,} other feature{'s' if others[0] > 1 else ''}")
        sizes.append(others[1])
        colours.append(MUTED)
    ends = [0.0] * (len(sizes) + 1) if end is None else list(end - np.cumsum([0.0, *sizes]))
    bars = ax.barh(range(len(sizes)), sizes, left=ends[1:], color=colours, height=0.7)
    ax.bar_label(bars, [form.format(size) for size in sizes], padding=3, fontsize="small")
    ax.set_yticks(range(len(sizes)), names)
    ax.invert_yaxis()
    # The number of the longest bar may need more room than there is beside the bar.
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x", alpha=0.3)
    ax.set_axisbelow(True)
    return ends


def mark_drifts(ax: Axes, drifts: Sequence[int]) -> tuple[list[typing.Any], list[str]]:
    """Mark the samples at which the stream is known to change; return their legend entries."""
    lines = [ax.axvline(item, color="black", linestyle=":", linewidth=1.2) for item in drifts]
    return lines[:1], ["the stream changes"][: len(lines)]


class Colours:
    """Colours for the leaves of a tree.

    Parameters
    ----------
    model
        The learner that the tree belongs to.
    leaves
        The nodes to colour; the colour scale for numbers spans their means.

    Attributes
    ----------
    labels
        The labels of a classifier; None for a regressor.
    scale
        The colour scale for numbers, as matplotlib takes it for a colour bar.
    """

    def __init__(self, model: TreeLearner, leaves: Sequence[dict[str, typing.Any]]) -> None:
        self.labels: list[Hashable] | None = None
        means = [leaf["values"][0] for leaf in leaves if leaf["weight"] > 0.0]
        if isinstance(model, TreeClassifier):
            self.labels = model._labels()
        self.scale = ScalarMappable(
            Normalize(min(means, default=0.0), max(means, default=0.0)), NUMBER_COLOURS
        )

    def of(self, node: dict[str, typing.Any]) -> Colour:
        """Return the colour of a node: that of its class, paler if less certain, or of its mean."""
        if node["weight"] <= 0.0:
            return (1.0, 1.0, 1.0)
        if self.labels is None:
            return mixed_with_white(self.of_number(node["values"][0]), FULLEST)
        best = majority_class(node)
        share = node["values"][best] / node["weight"]
        return mixed_with_white(colour_of_class(best), PALEST + (FULLEST - PALEST) * share)

    def hatch_of(self, node: dict[str, typing.Any]) -> str:
        """Return the hatch of the class of a node; empty for a number or an empty node."""
        has_class = self.labels is not None and node["weight"] > 0.0
        return CLASS_HATCHES[majority_class(node) % len(CLASS_HATCHES)] if has_class else ""

    def of_number(self, value: float) -> Colour:
        """Return the colour of a number."""
        red, green, blue, _ = self.scale.to_rgba(np.array(value))
        return red, green, blue


def colour_of_class(number: int) -> Colour:
    """Return the colour of a class, given its index among the labels."""
    return to_rgb(CLASS_COLOURS[number % len(CLASS_COLOURS)])


def majority_class(node: dict[str, typing.Any]) -> int:
    """Return the index of the most frequent class of a node."""
    return max(range(len(node["values"])), key=node["values"].__getitem__)


def mixed_with_white(colour: Colour, share: float) -> Colour:
    """Mix a colour with white. Unlike a transparent colour, the result hides lines below a box."""
    red, green, blue = (1.0 - share * (1.0 - part) for part in colour)
    return red, green, blue
