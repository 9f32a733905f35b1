"""Axes to draw on, and the colours that all pictures share."""

from __future__ import annotations

import abc
import typing
from collections.abc import Sequence

from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._estimator.extras import import_extra

if typing.TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "CLASS_COLOURS",
    "CLASS_HATCHES",
    "CLASS_MARKERS",
    "MUTED",
    "NUMBER_COLOURS",
    "AxesDisplay",
    "Display",
    "figure_of",
    "new_axes",
    "written",
]

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
        This display.
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
