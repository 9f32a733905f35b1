"""The importance of each feature for the splits of a learner."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from river_extra_trees._estimator.learner import TreeLearner

from ._axes import AxesDisplay, draw_bars, written

__all__ = ["ImportancesDisplay"]


class ImportancesDisplay(AxesDisplay):
    """Importances of features as bars, the largest on top.

    The importance is the share of a feature in the impurity decrease of the present splits, on the
    samples on which the trees grew: features that say nothing have a share, too, and linear leaves
    do not count. A grey bar at the bottom stands for all other features.

    Parameters
    ----------
    importances
        Importance of each feature to show, between 0 and 1.
    n_others
        Number of the other features. Their importances are the remainder to 1.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees import plotting

    >>> model = ret.ExtraTreesClassifier(seed=1)
    >>> for x, y in datasets.ImageSegments():
    ...     model.learn_one(x, y)
    >>> display = plotting.ImportancesDisplay.from_estimator(model, n_features=3).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['hue-mean', 'region-centroid-row', 'rawred-mean', '15 other features']
    """

    def __init__(self, importances: Mapping[Hashable, float], n_others: int = 0) -> None:
        self.importances = dict(importances)
        self.n_others = n_others

    @classmethod
    def from_estimator(cls, model: TreeLearner, *, n_features: int = 15) -> ImportancesDisplay:
        """Plot the `feature_importances_` of a learner.

        Parameters
        ----------
        model
            A learner of this package.
        n_features
            Largest number of features to show. One bar stands for all others, including those that
            no split uses.

        Returns
        -------
        The display.
        """
        shown = dict(list(model.feature_importances_.items())[:n_features])
        return cls(shown, len({name for _, name in model._schema.features()} - shown.keys()))

    def _size(self) -> tuple[float, float]:
        return 6.0, 1.0 + 0.28 * max(1, len(self.importances) + (self.n_others > 0))

    def _draw(self, ax: Axes) -> None:
        shares = list(self.importances.values())
        rest = max(0.0, 1.0 - sum(shares)) if shares else 0.0
        names = [written(name) for name in self.importances]
        draw_bars(ax, names, shares, "{:.1%}", others=(self.n_others, rest))
        ax.margins(x=0.02)
        ax.xaxis.set_major_formatter(PercentFormatter(1.0))
        ax.set_xlabel("share of the impurity that the splits remove")
