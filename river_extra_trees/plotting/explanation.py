"""Contributions of the features: to one prediction, to several, and along a stream."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from matplotlib.axes import Axes

from river_extra_trees._core.safe_repr import brief
from river_extra_trees.explanation import Explanation

from ._axes import (
    CLASS_COLOURS,
    MUTED,
    AxesDisplay,
    colour_of_class,
    draw_bars,
    mark_drifts,
    written,
)

__all__ = ["ContributionsDisplay", "ExplanationDisplay"]

UP, DOWN = CLASS_COLOURS[0], CLASS_COLOURS[1]
LINES = ("-", "--", "-.", ":")


class ExplanationDisplay(AxesDisplay):
    """An explanation as bars, the largest contribution on top.

    The bars of one prediction lead from the base value at the bottom to the prediction at the top.
    Those of several rows show the mean size of the contributions of each feature. A grey bar stands
    for all other features.

    Parameters
    ----------
    explanation
        From `explain_one` or `explain_many`.
    n_features
        Largest number of features to show.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees import plotting

    >>> model = ret.ExtraTreesRegressor(seed=1)
    >>> for x, y in datasets.TrumpApproval():
    ...     model.learn_one(x, y)
    >>> display = plotting.ExplanationDisplay(model.explain_one(x), n_features=3).plot()
    >>> len(display.ax_.get_yticklabels())
    4
    """

    def __init__(self, explanation: Explanation, n_features: int = 10) -> None:
        self.explanation = explanation
        self.n_features = n_features

    @property
    def _n_bars(self) -> int:
        return min(len(self.explanation.feature_names), self.n_features + 1)

    def _size(self) -> tuple[float, float]:
        return 6.5, 1.2 + 0.3 * max(1, self._n_bars)

    def _draw(self, ax: Axes) -> None:
        if self.explanation.values.ndim == 1:
            self._draw_one(ax)
        else:
            self._draw_means(ax)
        ax.margins(x=0.16)

    def _draw_one(self, ax: Axes) -> None:
        found = self.explanation
        largest = found.largest(self._shown())
        names = [f"{written(name)} = {written(brief(value))}" for name, value, _ in largest]
        parts = [part for *_, part in largest]
        rest = len(found.values) - len(parts), found.output - found.base_value - sum(parts)
        colours = [UP if part >= 0.0 else DOWN for part in parts]
        ends = draw_bars(ax, names, parts, "{:+.3g}", colours, rest, found.output)
        ax.use_sticky_edges = False  # no bar begins at the axis: there is a number beside it
        for place, end in enumerate(ends[1:-1]):
            ax.plot([end, end], [place, place + 1], color=MUTED, linewidth=0.8)
        ax.axvline(float(found.base_value), color=MUTED, linestyle=":", linewidth=1.2)
        ax.axvline(found.output, color="black", linestyle=":", linewidth=1.2)
        what = "prediction" if found.label is None else f"log odds of {written(found.label)}"
        ax.set_xlabel(f"{what} {found.output:.4g}, without any feature {found.base_value:.4g}")

    def _draw_means(self, ax: Axes) -> None:
        sizes = list(self.explanation.importances().items())
        shown, more = sizes[: self._shown()], [size for _, size in sizes[self._shown() :]]
        names, means = [written(name) for name, _ in shown], [size for _, size in shown]
        draw_bars(ax, names, means, "{:.3g}", others=(len(more), sum(more)))
        ax.set_xlabel(f"mean size of the contributions to {len(self.explanation):,} predictions")

    def _shown(self) -> int:
        """Return the number of features with a bar of their own; no bar stands for one other."""
        n = len(self.explanation.feature_names)
        return n if n <= self.n_features + 1 else self.n_features


class ContributionsDisplay(AxesDisplay):
    """What a model uses along a stream: the mean size of the contributions of each feature.

    `update` adds a point to the curves, from an explanation of the latest samples.

    Parameters
    ----------
    items
        Numbers of learned samples, ascending.
    importances
        At each of these, the mean size of the contributions by feature.
    drifts
        Numbers of learned samples at which the stream is known to change.
    n_features
        Largest number of features with a curve: those with the largest mean.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees import plotting
    >>> import pandas as pd

    >>> model = ret.StreamDecisionForestClassifier(n_models=10, seed=1)
    >>> display = plotting.ContributionsDisplay(n_features=3)
    >>> latest = []
    >>> for x, y in datasets.Phishing():
    ...     model.learn_one(x, y)
    ...     latest = [*latest[-49:], x]
    ...     if model.n_samples_seen % 500 == 0:
    ...         display.update(model.n_samples_seen, model.explain_many(pd.DataFrame(latest)))
    >>> display.items
    [500, 1000]
    >>> len(display.plot().ax_.lines)
    3
    """

    def __init__(
        self,
        items: Sequence[int] = (),
        importances: Sequence[Mapping[Hashable, float]] = (),
        drifts: Sequence[int] = (),
        n_features: int = 6,
    ) -> None:
        self.items = list(items)
        self.importances = [dict(each) for each in importances]
        self.drifts = list(drifts)
        self.n_features = n_features

    def update(self, n_samples_seen: int, explanation: Explanation) -> None:
        """Add a point to the curves.

        Parameters
        ----------
        n_samples_seen
            Number of samples that the model has learned.
        explanation
            From `explain_many`, of the latest samples.
        """
        self.items.append(n_samples_seen)
        self.importances.append(explanation.importances())

    def _size(self) -> tuple[float, float]:
        return 8.0, 3.2

    def _draw(self, ax: Axes) -> None:
        if not self.items:
            raise ValueError("there is nothing to draw: update has recorded no explanations")
        totals: dict[Hashable, float] = {}
        for each in self.importances:
            for name, size in each.items():
                totals[name] = totals.get(name, 0.0) + size
        for i, name in enumerate(sorted(totals, key=lambda name: -totals[name])[: self.n_features]):
            ax.plot(
                self.items,
                [each.get(name, 0.0) for each in self.importances],
                color=colour_of_class(i),
                linestyle=LINES[i % len(LINES)],
                label=written(name),
            )
        handles, labels = ax.get_legend_handles_labels()
        lines, texts = mark_drifts(ax, self.drifts)
        ax.legend(handles + lines, labels + texts, loc="center left", bbox_to_anchor=(1.0, 0.5))
        ax.set_ylim(bottom=0.0)
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.set_xlabel("learned samples")
        ax.set_ylabel("mean size of contributions")
        ax.grid(alpha=0.3)
