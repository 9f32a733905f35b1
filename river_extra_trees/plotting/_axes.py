"""Axes to draw on, and the colours that all pictures share."""

from __future__ import annotations

import abc
import typing
from collections.abc import Sequence

from river_extra_trees._estimator.extras import import_extra

if typing.TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CLASS_COLOURS", "MUTED", "NUMBER_COLOURS", "AxesDisplay", "figure_of", "new_axes"]

# Okabe and Ito's palette for colour-blind readers, without its yellow and black, and four more.
CLASS_COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"),
    *("#6A51A3", "#8C6D31", "#637939", "#AD494A"),
)
MUTED = "#8A8A8A"
NUMBER_COLOURS = "viridis"


def new_axes(width: float, heights: Sequence[float], legend: float = 0.0) -> list[Axes]:
    """Return panels in a column of a new figure, with a common horizontal axis.

    All lengths are in inches. `legend` is the height of a legend below the panels. The figure
    belongs to pyplot, so that `matplotlib.pyplot.show` and notebooks show it.
    """
    pyplot = import_extra("matplotlib.pyplot", "plot")
    figure = pyplot.figure(figsize=(width, sum(heights) + legend), layout="constrained")
    axes = figure.subplots(
        len(heights), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    return list(axes[:, 0])


def figure_of(ax: Axes) -> Figure:
    """Return the figure of the axes, also if they lie in a subfigure."""
    return typing.cast("Figure", ax.get_figure(root=True))


class AxesDisplay(abc.ABC):
    """A picture on one pair of axes, new or given."""

    ax_: Axes
    figure_: Figure

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
            width, height = self._size()
            (ax,) = new_axes(width, [height])
        self.ax_, self.figure_ = ax, figure_of(ax)
        self._draw(ax)
        return self

    @abc.abstractmethod
    def _size(self) -> tuple[float, float]:
        """Return width and height of new axes, in inches."""

    @abc.abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw on the axes; `ax_` and `figure_` are set already."""
