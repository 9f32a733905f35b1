"""A predictive distribution along one feature."""

from __future__ import annotations

import typing
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from river_extra_trees._estimator.extras import import_extra

from ._axes import CLASS_COLOURS, AxesDisplay
from ._predictions import mixed_with_white

if typing.TYPE_CHECKING:
    from matplotlib.axes import Axes

    from river_extra_trees.dynamic_tree import DynamicTreeRegressor

__all__ = ["PredictiveBandDisplay"]


class PredictiveBandDisplay(AxesDisplay):
    """Mean and intervals of the predictive distribution of a regressor along one feature.

    The mean is a line. The intervals are bands; the narrowest is the darkest.

    Parameters
    ----------
    feature
        Name of the feature.
    values
        Values of the feature, in ascending order.
    means
        Mean prediction at each value.
    intervals
        By level: the lower and the upper end of the interval at each value.

    Attributes
    ----------
    ax_
        The axes drawn on.
    figure_
        The figure that holds them.

    Examples
    --------
    >>> import random
    >>> import river_extra_trees as ret
    >>> from river_extra_trees import plotting

    >>> rng = random.Random(1)
    >>> model = ret.DynamicTreeRegressor(seed=1)
    >>> for _ in range(500):
    ...     x = rng.uniform(-3, 2)
    ...     model.learn_one({"x": x}, x + x * x + rng.gauss(0, 1))
    >>> display = plotting.PredictiveBandDisplay.from_estimator(model, "x", (-3, 2))
    >>> low, high = display.intervals[0.9]
    >>> bool(abs((high - low).mean() - 2 * 1.645) < 0.6)  # two sides, noise with variance 1
    True
    >>> display.plot().ax_.get_xlabel()
    'x'
    """

    def __init__(
        self,
        feature: Hashable,
        values: np.ndarray,
        means: np.ndarray,
        intervals: Mapping[float, tuple[np.ndarray, np.ndarray]],
    ) -> None:
        self.feature = feature
        self.values = values
        self.means = means
        self.intervals = dict(intervals)

    @classmethod
    def from_estimator(
        cls,
        model: DynamicTreeRegressor,
        feature: Hashable,
        limits: tuple[float, float],
        *,
        at: Mapping[Hashable, typing.Any] | None = None,
        levels: Sequence[float] = (0.5, 0.9),
        n_points: int = 120,
    ) -> PredictiveBandDisplay:
        """Predict at evenly spaced values of a feature.

        Parameters
        ----------
        model
            A regressor whose `predict_one` takes `with_dist=True`.
        feature
            Name of the feature that varies.
        limits
            Its smallest and its largest value.
        at
            Values of the other features; a feature that is left out is missing.
        levels
            Probabilities of the intervals, between 0 and 1.
        n_points
            Number of values.
        """
        values = np.linspace(*limits, n_points)
        answers = [
            model.predict_one({**(at or {}), feature: float(value)}, with_dist=True)
            for value in values
        ]
        intervals = {}
        for level in levels:
            ends = np.array([answer.interval(level) for answer in answers])
            intervals[level] = ends[:, 0], ends[:, 1]
        return cls(feature, values, np.array([answer.mean for answer in answers]), intervals)

    def _size(self) -> tuple[float, float]:
        return 7.0, 4.0

    def _draw(self, ax: Axes) -> None:
        colors = import_extra("matplotlib.colors", "plot")
        colour = colors.to_rgb(CLASS_COLOURS[0])
        # The widest first. The colours are opaque, so that the legend shows them as the axes do.
        for i, level in enumerate(sorted(self.intervals, reverse=True)):
            low, high = self.intervals[level]
            ax.fill_between(
                *(self.values, low, high),
                color=mixed_with_white(colour, 1.0 - 0.78 ** (i + 1)),
                linewidth=0,
                label=f"{level:.0%} interval",
            )
        ax.plot(self.values, self.means, color=colour, label="predictive mean")
        ax.set_xlim(self.values[0], self.values[-1])
        ax.set_xlabel(str(self.feature))
        ax.set_ylabel("target")
