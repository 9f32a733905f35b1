"""Figures that are updated while a stream runs."""

from __future__ import annotations

import sys
import time
import typing

import matplotlib
from matplotlib import pyplot
from matplotlib.figure import Figure

from ._axes import Display

__all__ = ["Live"]


class Live:
    """A figure that is updated at most once per interval.

    In a notebook the figure is replaced in place. In interactive mode, a window of matplotlib is
    redrawn. Otherwise nothing is shown, so that the same code runs as a script.

    Parameters
    ----------
    figure
        A figure to show. Without one, `draw` makes a figure for its display.
    seconds
        Shortest time between two updates, in seconds.

    Examples
    --------
    Draw a display whenever an update is due, and once more at the end:

    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees import plotting

    >>> model = ret.StreamDecisionTreeClassifier(seed=1)
    >>> live = plotting.Live(seconds=0.2)
    >>> for x, y in datasets.Phishing():
    ...     model.learn_one(x, y)
    ...     if live.due:
    ...         live.draw(plotting.TreeDisplay.from_estimator(model))
    >>> live.draw(plotting.TreeDisplay.from_estimator(model))

    `show` updates a figure that you draw yourself:

    >>> import matplotlib.pyplot as plt
    >>> figure, ax = plt.subplots()
    >>> live = plotting.Live(figure)
    >>> line = ax.plot([0, 1], color="black")
    >>> live.show()
    """

    def __init__(self, figure: Figure | None = None, seconds: float = 0.5) -> None:
        self.figure = figure
        self.seconds = seconds
        self._next = 0.0
        self._place: typing.Any = None

    @property
    def due(self) -> bool:
        """Whether it is time for the next update."""
        return time.perf_counter() >= self._next

    def draw(self, display: Display, title: str = "") -> None:
        """Draw a display in place of the last one, and show it.

        Parameters
        ----------
        display
            A display of this module.
        title
            Title of the figure.
        """
        display._draw_in(self.figure)
        self.figure = display.figure_
        if title:
            self.figure.suptitle(title)
        self.show()

    def show(self) -> None:
        """Show the present state of the figure."""
        if self.figure is None:
            raise ValueError("there is no figure to show: call draw, or pass a figure to Live")
        if in_notebook():
            self._show_in_notebook()
        elif matplotlib.is_interactive():
            self.figure.canvas.draw_idle()
            self.figure.canvas.flush_events()
        self._next = time.perf_counter() + self.seconds

    def _show_in_notebook(self) -> None:
        from IPython.display import display

        if self._place is None:
            self._place = display(self.figure, display_id=True)
            # Otherwise the notebook would show it again at the end of the cell.
            pyplot.close(self.figure)
        else:
            self._place.update(self.figure)


def in_notebook() -> bool:
    """Whether this process is a Jupyter kernel, which can replace a picture."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")
