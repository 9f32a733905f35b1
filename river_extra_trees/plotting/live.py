"""Figures that change while a stream runs."""

from __future__ import annotations

import sys
import time
import typing

from river_extra_trees._estimator.extras import import_extra

if typing.TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Live"]


class Live:
    """A figure that is shown at once and again whenever it is due.

    In a notebook the picture changes in its place; in a window of matplotlib, while interactive
    mode is on, it is drawn anew. Anywhere else nothing is shown, so that the same lines run as a
    script.

    Parameters
    ----------
    figure
        What is shown.
    seconds
        Least time between two pictures, in seconds.

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
        """Whether it is time for the next picture."""
        return time.perf_counter() >= self._next

    def show(self) -> None:
        """Show the figure as it is now."""
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
            # Else the notebook would show it a second time at the end of the cell.
            import_extra("matplotlib.pyplot", "plot").close(self.figure)
        else:
            self._place.update(self.figure)


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this, so that pictures can be replaced in their place."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")
