"""Colours of predictions: one per class, or a scale of numbers."""

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
# Share of its colour that a leaf shows, from the least to the most certain; the rest is white.
PALEST, FULLEST = 0.15, 0.7


class Colours:
    """Colours for the leaves of a tree.

    Parameters
    ----------
    model
        The learner that the tree belongs to.
    leaves
        The nodes to colour; the scale of numbers spans their means.
    """

    def __init__(self, model: TreeLearner, leaves: Sequence[dict[str, typing.Any]]) -> None:
        self.labels: list[Hashable] | None = None
        self.low = self.high = 0.0
        if isinstance(model, base.Classifier):
            # Every prediction has all learned labels as keys, in the order of the leaves' values.
            self.labels = list(model.predict_proba_one({}))
        else:
            means = [leaf["values"][0] for leaf in leaves if leaf["weight"] > 0.0]
            self.low, self.high = min(means, default=0.0), max(means, default=0.0)

    def of(self, node: dict[str, typing.Any]) -> Colour:
        """Return the colour of a node: that of its class, paler if less certain, or of its mean."""
        if node["weight"] <= 0.0:
            return (1.0, 1.0, 1.0)
        if self.labels is None:
            return mixed_with_white(self.of_number(node["values"][0]), FULLEST - PALEST)
        best = max(range(len(self.labels)), key=node["values"].__getitem__)
        share = node["values"][best] / node["weight"]
        return mixed_with_white(self.of_class(best), PALEST + (FULLEST - PALEST) * share)

    def of_class(self, number: int) -> Colour:
        """Return the colour of a class, given its index among the labels."""
        colors = import_extra("matplotlib.colors", "plot")
        return colors.to_rgb(CLASS_COLOURS[number % len(CLASS_COLOURS)])

    def of_number(self, value: float) -> Colour:
        """Return the colour of a number."""
        place = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        red, green, blue, _ = self.scale.cmap(place)
        return red, green, blue

    @property
    def scale(self) -> ScalarMappable:
        """The scale of numbers, in the form that matplotlib takes for a colour bar."""
        cm = import_extra("matplotlib.cm", "plot")
        colors = import_extra("matplotlib.colors", "plot")
        return cm.ScalarMappable(colors.Normalize(self.low, self.high), NUMBER_COLOURS)


def mixed_with_white(colour: Colour, share: float) -> Colour:
    """Mix a colour with white: unlike a transparent one, it hides the lines below a box."""
    red, green, blue = (1.0 - share * (1.0 - part) for part in colour)
    return red, green, blue
