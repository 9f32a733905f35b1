"""The weights of the window sizes of extra trees over the stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from river_extra_trees.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor

from ._axes import (
    CLASS_HATCHES,
    FULLEST,
    HATCH_COLOUR,
    AxesDisplay,
    colour_of_class,
    mark_drifts,
    mixed_with_white,
)

__all__ = ["WindowWeightsDisplay"]


class WindowWeightsDisplay(AxesDisplay):
    """Weights of the window sizes of extra trees, as areas that sum to one.

    `update` adds the present weights of a model. The smallest window is at the bottom. After an
    abrupt change, weight moves to small windows. It stays there while the stream keeps changing,
    and moves to larger windows when the stream is stable again.

    Parameters
    ----------
    items
        Numbers of learned samples, ascending.
    weights
        For each window size, its weight after each of these numbers of samples.
    drifts
        Numbers of learned samples at which the stream is known to change.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees import plotting

    >>> model = ret.ExtraTreesClassifier(seed=1)
    >>> display = plotting.WindowWeightsDisplay()
    >>> for x, y in datasets.Phishing():
    ...     if model.n_samples_seen % 500 == 0:
    ...         display.update(model)
    ...     model.learn_one(x, y)
    >>> display.items
    [0, 500, 1000]
    >>> for size, weights in display.weights.items():
    ...     print(size, *(f"{weight:.2f}" for weight in weights))
    30 0.20 0.03 0.03
    200 0.20 0.46 0.03
    1200 0.20 0.29 0.25
    5000 0.20 0.12 0.35
    16000 0.20 0.10 0.34
    >>> display.plot().ax_.get_ylabel()
    'weight of the window size'
    """

    def __init__(
        self,
        items: Sequence[int] = (),
        weights: Mapping[int, Sequence[float]] | None = None,
        drifts: Sequence[int] = (),
    ) -> None:
        self.items = list(items)
        self.weights = {size: list(values) for size, values in (weights or {}).items()}
        self.drifts = list(drifts)

    def update(self, model: ExtraTreesClassifier | ExtraTreesRegressor) -> None:
        """Record the present weights of a forest, if it has learned samples since the last update.

        Parameters
        ----------
        model
            Extra trees, always the same model.

        Raises
        ------
        ValueError
            If the model has no `window_weights`, or is another model than before.
        """
        if not isinstance(model, ExtraTreesClassifier | ExtraTreesRegressor):
            raise ValueError(
                f"a {type(model).__name__} has no window_weights: only ExtraTreesClassifier and "
                "ExtraTreesRegressor have them"
            )
        present = model.window_weights
        n_seen = model.n_samples_seen
        if self.items and (present.keys() != self.weights.keys() or n_seen < self.items[-1]):
            raise ValueError("this is another model than before: create a new display for it")
        if not self.items or n_seen > self.items[-1]:
            self.items.append(n_seen)
            for size, weight in present.items():
                self.weights.setdefault(size, []).append(weight)

    def _size(self) -> tuple[float, float]:
        return 8.0, 3.2

    def _draw(self, ax: Axes) -> None:
        if not self.items:
            raise ValueError("there is nothing to draw: update has recorded no weights")
        sizes = sorted(self.weights)
        areas = ax.stackplot(
            self.items,
            [self.weights[size] for size in sizes],
            labels=[f"{size:,} samples" for size in sizes],
            linewidth=0,
        )
        for i, area in enumerate(areas):
            area.set_facecolor(mixed_with_white(colour_of_class(i), FULLEST))
            area.set_hatch(CLASS_HATCHES[i % len(CLASS_HATCHES)])
            area.set_edgecolor(HATCH_COLOUR)
        handles, labels = ax.get_legend_handles_labels()
        lines, texts = mark_drifts(ax, self.drifts)
        ax.legend(
            # From top to bottom, as the areas lie.
            *(handles[::-1] + lines, labels[::-1] + texts),
            title="window",
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            handlelength=3.0,
        )
        if len(self.items) > 1:
            ax.set_xlim(self.items[0], self.items[-1])
        ax.set_ylim(0.0, 1.0)
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        ax.set_xlabel("learned samples")
        ax.set_ylabel("weight of the window size")
