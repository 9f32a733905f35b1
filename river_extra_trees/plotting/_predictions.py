"""Colours, markers and hatches of predictions: one per class, or a scale of numbers."""

from __future__ import annotations

import math
import typing
from collections.abc import Hashable, Sequence

from river import base

from river_extra_trees._estimator.extras import import_extra

from ._axes import CLASS_COLOURS, CLASS_HATCHES, CLASS_MARKERS, NUMBER_COLOURS

if typing.TYPE_CHECKING:
    from matplotlib.cm import ScalarMappable

    from river_extra_trees._estimator.learner import TreeLearner

__all__ = [
    "FULLEST",
    "HATCH_COLOUR",
    "Colour",
    "Colours",
    "is_dark",
    "is_number",
    "mixed_with_white",
]

Colour = tuple[float, float, float]
# Share of its colour that a leaf shows, from the least to the most certain; the rest is white.
PALEST, FULLEST = 0.15, 0.7
HATCH_COLOUR = (1.0, 1.0, 1.0, 0.55)


class Colours:
    """Colours for the leaves of a tree.

    Parameters
    ----------
    model
        The learner that the tree belongs to.
    leaves
        The nodes to colour; the scale of numbers spans their means.
    numbers
        Other numbers that the scale spans.
    """

    def __init__(
        self,
        model: TreeLearner,
        leaves: Sequence[dict[str, typing.Any]],
        numbers: Sequence[float] = (),
    ) -> None:
        self.labels: list[Hashable] | None = None
        self.low = self.high = 0.0
        if isinstance(model, base.Classifier):
            # Every prediction has all learned labels as keys, in the order of the leaves' values.
            self.labels = list(model.predict_proba_one({}))
        else:
            means = [leaf["values"][0] for leaf in leaves if leaf["weight"] > 0.0]
            means += numbers
            self.low, self.high = min(means, default=0.0), max(means, default=0.0)

    def of(self, node: dict[str, typing.Any]) -> Colour:
        """Return the colour of a node: that of its class, paler if less certain, or of its mean."""
        if node["weight"] <= 0.0:
            return (1.0, 1.0, 1.0)
        if self.labels is None:
            return self.pale(node["values"][0])
        best = heaviest(node)
        share = node["values"][best] / node["weight"]
        return mixed_with_white(self.of_class(best), PALEST + (FULLEST - PALEST) * share)

    def hatch_of(self, node: dict[str, typing.Any]) -> str:
        """Return the hatch of the class of a node; none for a number or an empty node."""
        if self.labels is None or node["weight"] <= 0.0:
            return ""
        return self.hatch_of_class(heaviest(node))

    def hatch_of_class(self, number: int) -> str:
        """Return the hatch of a class, given its index among the labels."""
        return CLASS_HATCHES[number % len(CLASS_HATCHES)]

    def marker_of_class(self, number: int) -> str:
        """Return the marker of a class, given its index among the labels."""
        return CLASS_MARKERS[number % len(CLASS_MARKERS)]

    def of_class(self, number: int) -> Colour:
        """Return the colour of a class, given its index among the labels."""
        colors = import_extra("matplotlib.colors", "plot")
        return colors.to_rgb(CLASS_COLOURS[number % len(CLASS_COLOURS)])

    def of_number(self, value: float) -> Colour:
        """Return the colour of a number."""
        place = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        red, green, blue, _ = self.scale.cmap(place)
        return red, green, blue

    def pale(self, value: float) -> Colour:
        """Return the colour of a leaf that predicts a number."""
        return mixed_with_white(self.of_number(value), FULLEST - PALEST)

    @property
    def scale(self) -> ScalarMappable:
        """The scale of numbers, in the form that matplotlib takes for a colour bar."""
        cm = import_extra("matplotlib.cm", "plot")
        colors = import_extra("matplotlib.colors", "plot")
        return cm.ScalarMappable(colors.Normalize(self.low, self.high), NUMBER_COLOURS)


def heaviest(node: dict[str, typing.Any]) -> int:
    """Return the index of the class that a node predicts."""
    return max(range(len(node["values"])), key=node["values"].__getitem__)


def is_number(value: typing.Any) -> bool:
    """Whether a value has a place on an axis."""
    return isinstance(value, int | float) and math.isfinite(value)


def is_dark(colour: Colour) -> bool:
    """Whether white text reads better on a colour than black text."""
    red, green, blue = colour
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.45  # perceived brightness, ITU-R BT.601


def mixed_with_white(colour: Colour, share: float) -> Colour:
    """Mix a colour with white: unlike a transparent one, it hides the lines below a box."""
    red, green, blue = (1.0 - share * (1.0 - part) for part in colour)
    return red, green, blue
