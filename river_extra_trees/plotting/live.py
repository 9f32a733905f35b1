"""Figures that are updated while a stream runs."""

from __future__ import annotations

import sys
import time
import typing

from river_extra_trees._estimator.extras import import_extra

if typing.TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Live"]


class Live:
    """A figure that is updated at most once per interval.

    In a notebook the picture is replaced in place. In interactive mode, a window of matplotlib is
    redrawn. Anywhere else nothing is shown, so that the same code runs as a script.

    Parameters
    ----------
    figure
        The figure to show.
    seconds
        Shortest time between two updates, in seconds.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from river_extra_trees import plotting

    >>> figure, ax = plt.subplots()
    >>> live = plotting.Live(figure, seconds=0.2)
    >>> for item in range(1000):
    ...     if live.due:
    ...         line = ax.plot([0, item], color="black")
    ...         live.show()
    >>> live.show()
    """

    def __init__(self, figure: Figure, seconds: float = 0.5) -> None:
        self.figure = figure
        self.seconds = seconds
        self._next = 0.0
        self._place: typing.Any = None

    @property
    def due(self) -> bool:
        """Whether it is time for the next update."""
        return time.perf_counter() >= self._next

    def show(self) -> None:
        """Show the present state of the figure."""
        if in_notebook():
            self._show_in_notebook()
        elif import_extra("matplotlib", "plot").is_interactive():
            self.figure.canvas.draw_idle()
            self.figure.canvas.flush_events()
        self._next = time.perf_counter() + self.seconds

    def _show_in_notebook(self) -> None:
        from IPython.display import display

        if self._place is None:
            self._place = display(self.figure, display_id=True)
            # Otherwise the notebook would show it again at the end of the cell.
            import_extra("matplotlib.pyplot", "plot").close(self.figure)
        else:
            self._place.update(self.figure)


def in_notebook() -> bool:
    """Whether this runs in a Jupyter kernel, where pictures can be replaced in place."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")
