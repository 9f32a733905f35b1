"""Axes to draw on, and the colours, markers and hatches that all displays share."""

from __future__ import annotations

import abc
import math
import typing
from collections.abc import Hashable, Sequence

from river import base

from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._estimator.extras import import_extra

if typing.TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

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
    "figure_of",
    "is_dark",
    "is_number",
    "mark_drifts",
    "mixed_with_white",
    "new_axes",
    "of_class",
    "written",
]

Colour = tuple[float, float, float]
# The eight colours of Okabe and Ito's palette, which colour-blind readers can tell apart. Beyond
# eight classes they repeat. Markers and hatches differ for ten, and so tell classes apart in grey.
CLASS_COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"),
    *("#000000", "#F0E442"),
)
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
CLASS_HATCHES = ("", "//", "..", "\\\\", "xx", "--", "||", "++", "oo", "**")
MUTED = "#8A8A8A"
NUMBER_COLOURS = "viridis"
LONGEST_NAME = 28  # characters
# Share of its colour that a leaf shows, from the least to the most certain; the rest is white.
PALEST, FULLEST = 0.15, 0.7
HATCH_COLOUR = (1.0, 1.0, 1.0, 0.55)


def written(value: typing.Any) -> str:
    """Return a name or a label as the text of a picture: its end cut off if it is long."""
    text = safe_repr(value, str)
    if len(text) > LONGEST_NAME:
        text = text[: LONGEST_NAME - 1] + "…"
    return text.replace("$", r"\$")  # matplotlib reads what stands between two $ as a formula


def new_axes(
    width: float, heights: Sequence[float], legend: float = 0.0, figure: Figure | None = None
) -> list[Axes]:
    """Return panels in a column of a figure, with a common horizontal axis.

    All lengths are in inches. `legend` is the height of a legend below the panels. A new figure
    belongs to pyplot, so that `matplotlib.pyplot.show` and notebooks show it. A given one is
    emptied first.
    """
    size = width, sum(heights) + legend
    if figure is None:
        pyplot = import_extra("matplotlib.pyplot", "plot")
        figure = typing.cast("Figure", pyplot.figure(figsize=size, layout="constrained"))
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
    return typing.cast("Figure", ax.get_figure(root=True))


class Display(abc.ABC):
    """A picture that can be drawn in a new figure, or again in its old one."""

    figure_: Figure

    @abc.abstractmethod
    def _draw_in(self, figure: Figure | None) -> None:
        """Draw on new axes, in the figure or, without one, in a new figure."""


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
        """Return width and height of new axes, in inches."""

    @abc.abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw on the axes; `ax_` and `figure_` are set already."""


def mark_drifts(ax: Axes, drifts: Sequence[int]) -> tuple[list[typing.Any], list[str]]:
    """Mark the samples at which the stream is known to change; return their keys of a legend."""
    lines = [ax.axvline(item, color="black", linestyle=":", linewidth=1.2) for item in drifts]
    return lines[:1], ["the stream changes"][: len(lines)]


class Colours:
    """Colours for the leaves of a tree.

    Parameters
    ----------
    model
        The learner that the tree belongs to.
    leaves
        The nodes to colour; the scale of numbers spans their means.
    """

    def __init__(self, model: TreeLearner, leaves: Sequence[dict[str, typing.Any]]) -> None:
        self.labels: list[Hashable] | None = None
        self.low = self.high = 0.0
        if isinstance(model, base.Classifier):
            # Every prediction has all learned labels as keys, in the order of the leaves' values.
            self.labels = list(model.predict_proba_one({}))
        else:
            means = [leaf["values"][0] for leaf in leaves if leaf["weight"] > 0.0]
            self.low, self.high = min(means, default=0.0), max(means, default=0.0)

    def of(self, node: dict[str, typing.Any]) -> Colour:
        """Return the colour of a node: that of its class, paler if less certain, or of its mean."""
        if node["weight"] <= 0.0:
            return (1.0, 1.0, 1.0)
        if self.labels is None:
            return mixed_with_white(self.of_number(node["values"][0]), FULLEST - PALEST)
        best = heaviest(node)
        share = node["values"][best] / node["weight"]
        return mixed_with_white(of_class(best), PALEST + (FULLEST - PALEST) * share)

    def hatch_of(self, node: dict[str, typing.Any]) -> str:
        """Return the hatch of the class of a node; none for a number or an empty node."""
        is_label = self.labels is not None and node["weight"] > 0.0
        return CLASS_HATCHES[heaviest(node) % len(CLASS_HATCHES)] if is_label else ""

    def of_number(self, value: float) -> Colour:
        """Return the colour of a number."""
        place = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        red, green, blue, _ = self.scale.cmap(place)
        return red, green, blue

    @property
    def scale(self) -> ScalarMappable:
        """The scale of numbers, in the form that matplotlib takes for a colour bar."""
        cm = import_extra("matplotlib.cm", "plot")
        colors = import_extra("matplotlib.colors", "plot")
        return cm.ScalarMappable(colors.Normalize(self.low, self.high), NUMBER_COLOURS)


def of_class(number: int) -> Colour:
    """Return the colour of a class, given its index among the labels."""
    colors = import_extra("matplotlib.colors", "plot")
    return colors.to_rgb(CLASS_COLOURS[number % len(CLASS_COLOURS)])


def heaviest(node: dict[str, typing.Any]) -> int:
    """Return the index of the class that a node predicts."""
    return max(range(len(node["values"])), key=node["values"].__getitem__)


def is_number(value: typing.Any) -> bool:
    """Whether a value has a place on an axis."""
    return isinstance(value, int | float) and math.isfinite(value)


def is_dark(colour: Colour) -> bool:
    """Whether white text reads better on a colour than black text."""
    red, green, blue = colour
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.45  # perceived brightness, ITU-R BT.601


def mixed_with_white(colour: Colour, share: float) -> Colour:
    """Mix a colour with white: unlike a transparent one, it hides the lines below a box."""
    red, green, blue = (1.0 - share * (1.0 - part) for part in colour)
    return red, green, blue
