"""A predictive distribution along one feature."""

from __future__ import annotations

import typing
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from ._axes import AxesDisplay, is_number, mixed_with_white, of_class, written

if typing.TYPE_CHECKING:
    from matplotlib.axes import Axes

    from river_extra_trees.dynamic_tree import DynamicTreeRegressor

__all__ = ["PredictiveBandDisplay"]

MOST_HELD = 3  # other features whose values are written below the plot


class PredictiveBandDisplay(AxesDisplay):
    """Mean and intervals of the predictive distribution of a regressor along one feature.

    The mean is a line, and the intervals are bands. The narrowest band is the darkest.

    Parameters
    ----------
    feature
        Name of the feature.
    values
        Values of the feature, in ascending order.
    means
        Mean prediction at each value.
    intervals
        For each level, the lower and the upper ends of the intervals at the values.
    samples
        Values of the feature and of the target, to show as points.
    note
        Text about the other features below the plot.

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
        samples: Sequence[tuple[float, float]] = (),
        note: str = "",
    ) -> None:
        self.feature = feature
        self.values = values
        self.means = means
        self.intervals = dict(intervals)
        self.samples = list(samples)
        self.note = note

    @classmethod
    def from_estimator(
        cls,
        model: DynamicTreeRegressor,
        feature: Hashable,
        limits: tuple[float, float],
        *,
        at: Mapping[Hashable, typing.Any] | None = None,
        levels: Sequence[float] = (0.5, 0.9),
        samples: Iterable[tuple[Mapping[Hashable, typing.Any], float]] = (),
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
            Values of the other features; features without a value are missing.
        levels
            Probabilities of the intervals, between 0 and 1.
        samples
            Pairs of features and target to show as points, such as `model.active_samples()`.
            Samples without a number for the feature are not shown.
        n_points
            Number of values.

        Returns
        -------
        The display.
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
        means = np.array([answer.mean for answer in answers])
        points = [(x[feature], y) for x, y in samples if is_number(x.get(feature))]
        return cls(feature, values, means, intervals, points, _note(model, feature, at or {}))

    def _size(self) -> tuple[float, float]:
        return 7.0, 4.0

    def _draw(self, ax: Axes) -> None:
        colour = of_class(0)
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
        if self.samples:
            ax.plot(*zip(*self.samples, strict=True), "k.", label="samples")
        ax.set_xlim(self.values[0], self.values[-1])
        ax.set_xlabel("\n".join(filter(None, (written(self.feature), self.note))))
        ax.set_ylabel("target")
        # Room for the legend above the bands; axes that share their limits may have it already.
        bottom, top = self._range()
        ax.set_ylim(top=max(ax.get_ylim()[1], top + 0.22 * (top - bottom)))
        ax.legend(loc="upper center", ncols=4, fontsize="small")

    def _range(self) -> tuple[float, float]:
        """Return the least and the largest value of all that is drawn."""
        ends = [end for interval in self.intervals.values() for end in interval]
        values = np.concatenate([self.means, *ends, [y for _, y in self.samples]])
        return float(values.min()), float(values.max())


def _note(model: DynamicTreeRegressor, feature: Hashable, at: Mapping[Hashable, typing.Any]) -> str:
    """Return at which values the other features are held."""
    others = [name for name in dict.fromkeys(model._schema.names) if name != feature]
    held = [f"{written(name)} = {written(at[name])}" for name in others if name in at]
    if len(held) > MOST_HELD:
        held[MOST_HELD:] = [f"{len(held) - MOST_HELD} more held as given"]
    n_missing = sum(name not in at for name in others)
    if n_missing:
        held.append("all others are missing" if held else "all other features are missing")
    return ", ".join(held)
