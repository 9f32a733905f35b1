"""Colours of what leaves predict: one per class, or a scale of numbers."""

from __future__ import annotations

import typing
from collections.abc import Hashable, Sequence

from river import base

from river_extra_trees._estimator.extras import import_extra

from ._axes import CLASS_COLOURS, NUMBER_COLOURS

if typing.TYPE_CHECKING:
    from matplotlib.cm import ScalarMappable

    from river_extra_trees._estimator.learner import TreeLearner

__all__ = ["Colours"]

Colour = tuple[float, float, float]
# How much of its colour a leaf shows, from knowing nothing to being sure; the rest is white.
PALEST, FULLEST = 0.15, 0.7


class Colours:
    """Colours for the leaves of a tree.

    Parameters
    ----------
    model
        The learner that the tree belongs to.
    leaves
        The nodes to be coloured; a scale of numbers spans their means.
    """

    def __init__(self, model: TreeLearner, leaves: Sequence[dict[str, typing.Any]]) -> None:
        self.labels: list[Hashable] | None = None
        self.low = self.high = 0.0
        if isinstance(model, base.Classifier):
            # Every label ever learned is a key of any answer, in the order of the leaves' values.
            self.labels = list(model.predict_proba_one({}))
        else:
            means = [leaf["values"][0] for leaf in leaves if leaf["weight"] > 0.0]
            self.low, self.high = min(means, default=0.0), max(means, default=0.0)

    def of(self, node: dict[str, typing.Any]) -> Colour:
        """The colour of a node: its class, paler where it is less sure, or its mean."""
        if node["weight"] <= 0.0:
            return (1.0, 1.0, 1.0)
        if self.labels is None:
            return mixed_with_white(self.of_number(node["values"][0]), FULLEST - PALEST)
        best = max(range(len(self.labels)), key=node["values"].__getitem__)
        share = node["values"][best] / node["weight"]
        return mixed_with_white(self.of_class(best), PALEST + (FULLEST - PALEST) * share)

    def of_class(self, number: int) -> Colour:
        """The colour of a class, by its place among the labels."""
        colors = import_extra("matplotlib.colors", "plot")
        return colors.to_rgb(CLASS_COLOURS[number % len(CLASS_COLOURS)])

    def of_number(self, value: float) -> Colour:
        """The colour of a number."""
        place = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        red, green, blue, _ = self.scale.cmap(place)
        return red, green, blue

    @property
    def scale(self) -> ScalarMappable:
        """The scale of numbers, as matplotlib takes it for a colour bar."""
        cm = import_extra("matplotlib.cm", "plot")
        colors = import_extra("matplotlib.colors", "plot")
        return cm.ScalarMappable(colors.Normalize(self.low, self.high), NUMBER_COLOURS)


def mixed_with_white(colour: Colour, share: float) -> Colour:
    """An opaque colour as it looks through a veil, so that no line shines through a box."""
    red, green, blue = (1.0 - share * (1.0 - part) for part in colour)
    return red, green, blue
