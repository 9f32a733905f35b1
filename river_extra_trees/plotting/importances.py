"""How much each feature contributes to the splits of a learner."""

from __future__ import annotations

import typing
from collections.abc import Hashable, Mapping

from river_extra_trees._core.safe_repr import safe_repr

from ._axes import CLASS_COLOURS, AxesDisplay

if typing.TYPE_CHECKING:
    from matplotlib.axes import Axes

    from river_extra_trees._estimator.learner import TreeLearner

__all__ = ["ImportancesDisplay"]


class ImportancesDisplay(AxesDisplay):
    """Importances of features as bars, the longest on top.

    An importance is the share of a feature in the impurity that the present splits remove.

    Parameters
    ----------
    importances
        Importance of each feature, between 0 and 1.

    Attributes
    ----------
    ax_
        The axes drawn on.
    figure_
        The figure that holds them.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees import plotting

    >>> model = ret.StreamDecisionForestClassifier(seed=1)
    >>> for x, y in datasets.ImageSegments():
    ...     model.learn_one(x, y)
    >>> display = plotting.ImportancesDisplay.from_estimator(model, n_features=3).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['hue-mean', 'region-centroid-row', 'rawred-mean']
    """

    def __init__(self, importances: Mapping[Hashable, float]) -> None:
        self.importances = dict(importances)

    @classmethod
    def from_estimator(cls, model: TreeLearner, *, n_features: int = 15) -> ImportancesDisplay:
        """Take the `feature_importances_` of a learner.

        Parameters
        ----------
        model
            A learner of this package.
        n_features
            Largest number of features to show; the less important ones are left out.
        """
        ranking = sorted(model.feature_importances_.items(), key=lambda item: -item[1])
        return cls(dict(ranking[:n_features]))

    def _size(self) -> tuple[float, float]:
        return 6.0, 1.0 + 0.28 * max(1, len(self.importances))

    def _draw(self, ax: Axes) -> None:
        places = range(len(self.importances))
        ax.barh(places, list(self.importances.values()), color=CLASS_COLOURS[0], height=0.7)
        ax.set_yticks(places, [safe_repr(name, str) for name in self.importances])
        ax.invert_yaxis()
        ax.xaxis.set_major_formatter("{x:.0%}")
        ax.set_xlabel("share of the impurity that the splits remove")
        ax.grid(axis="x", alpha=0.3)
        ax.set_axisbelow(True)
