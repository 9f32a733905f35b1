"""The leaves of one tree in the plane of two features."""

from __future__ import annotations

import math
import typing
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from river_extra_trees._estimator.inspection import goes_left, is_leaf
from river_extra_trees._estimator.learner import TreeLearner

from ._axes import (
    CLASS_HATCHES,
    CLASS_MARKERS,
    FULLEST,
    HATCH_COLOUR,
    AxesDisplay,
    Colours,
    colour_of_class,
    mixed_with_white,
    written,
)

__all__ = ["LeafMapDisplay"]

Limits = tuple[float, float]
Features = tuple[Hashable, Hashable]
MARGIN = 0.03  # of the range of the samples, on all sides


@dataclass
class Region:
    """A rectangle in the plane that belongs to one leaf."""

    limits: tuple[Limits, Limits]
    node: dict[str, typing.Any]


class LeafMapDisplay(AxesDisplay):
    """The leaves of a tree as rectangles in the plane of two numeric features.

    A leaf has the colour and the hatch of its class, paler where it is less certain, or the colour
    of its mean. A linear model in the leaf does not change the colour. Samples are points with the
    colour and the marker of their class, or with the colour of their target. If the tree uses more
    than two features, the map shows the plane on which the other features have the given values.

    Parameters
    ----------
    features
        The two features.
    regions
        The rectangles.
    samples
        Samples to show as points.
    colours
        The colours of the leaves.
    note
        The title: how many other features the tree uses.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees import plotting

    >>> samples = list(datasets.Bananas().take(1000))
    >>> model = ret.ForgetfulDecisionTreeClassifier(max_depth=4, seed=1)
    >>> for x, y in samples:
    ...     model.learn_one(x, y)
    >>> display = plotting.LeafMapDisplay.from_estimator(model, samples[-200:])
    >>> len(display.regions) == model.n_leaves
    True
    >>> display.plot().ax_.get_xlabel()
    '1'
    """

    def __init__(
        self,
        features: Features,
        regions: Sequence[Region],
        samples: Sequence[tuple[Mapping[Hashable, typing.Any], typing.Any]],
        colours: Colours,
        note: str = "",
    ) -> None:
        self.features = features
        self.regions = list(regions)
        self.samples = list(samples)
        self.colours = colours
        self.note = note

    @classmethod
    def from_estimator(
        cls,
        model: TreeLearner,
        samples: Iterable[tuple[Mapping[Hashable, typing.Any], typing.Any]],
        *,
        features: Features | None = None,
        at: Mapping[Hashable, typing.Any] | None = None,
        tree: int = 0,
    ) -> LeafMapDisplay:
        """Take the leaves of one tree, in the area of the given samples.

        Parameters
        ----------
        model
            A learner of this package.
        samples
            Pairs of features and target. They are shown as points and determine the limits of the
            map. Samples without numbers for both features are left out.
        features
            The two numeric features; `None` takes the two most important ones.
        at
            Values of the other features; a feature that is left out is missing.
        tree
            Number of the tree.

        Raises
        ------
        ValueError
            If no sample has numbers for both features, or `features` are not two.
        """
        if features is None:
            features = typing.cast(Features, tuple(model.feature_importances_)[:2])
        if len(features) != 2:
            raise ValueError(f"a map needs two features, not {list(features)!r}")
        shown = [(x, y) for x, y in samples if all(_is_number(x.get(name)) for name in features)]
        if not shown:
            raise ValueError(f"no sample has numbers for both {features[0]!r} and {features[1]!r}")
        limits = tuple(_limits([x[name] for x, _ in shown]) for name in features)
        regions = _regions(model, tree, features, typing.cast(typing.Any, limits), at or {})
        colours = Colours(model, [region.node for region in regions])
        return cls(features, regions, shown, colours, _note(model, tree, features, at or {}))

    def _size(self) -> tuple[float, float]:
        return 6.4, 4.6

    def _draw(self, ax: Axes) -> None:
        for region in self.regions:
            (left, right), (bottom, top) = region.limits
            box = (left, bottom), right - left, top - bottom
            hatch, colour = self.colours.hatch_of(region.node), self.colours.of(region.node)
            ax.add_patch(
                Rectangle(*box, facecolor=colour, edgecolor=HATCH_COLOUR, hatch=hatch, linewidth=0)
            )
            ax.add_patch(Rectangle(*box, fill=False, edgecolor="#555555", linewidth=0.8))
        self._draw_samples(ax)
        limits = [
            [end for region in self.regions for end in region.limits[axis]] for axis in (0, 1)
        ]
        ax.set_xlim(min(limits[0]), max(limits[0]))
        ax.set_ylim(min(limits[1]), max(limits[1]))
        ax.set_xlabel(written(self.features[0]))
        ax.set_ylabel(written(self.features[1]))
        if self.note:
            ax.set_title(self.note, fontsize="small", loc="left")

    def _draw_samples(self, ax: Axes) -> None:
        """Draw points in the colours of their targets."""
        first, second = self.features
        labels = self.colours.labels
        style: dict[str, typing.Any] = {"s": 14, "edgecolor": "white", "linewidth": 0.4}
        if labels is None:
            ax.scatter(
                [x[first] for x, _ in self.samples],
                [x[second] for x, _ in self.samples],
                c=[self.colours.of_number(y) for _, y in self.samples],
                **style,
            )
            self.figure_.colorbar(self.colours.scale, ax=ax, label="target")
            return
        keys: list[typing.Any] = []  # of the legend: a marker on the leaf of its class
        for number, label in enumerate(labels):
            points = [x for x, y in self.samples if y == label]
            colour = colour_of_class(number)
            marks = ax.scatter(
                [x[first] for x in points],
                [x[second] for x in points],
                color=colour,
                marker=CLASS_MARKERS[number % len(CLASS_MARKERS)],
                **style,
            )
            leaf = Patch(
                facecolor=mixed_with_white(colour, FULLEST),
                edgecolor=HATCH_COLOUR,
                linewidth=0,
                hatch=CLASS_HATCHES[number % len(CLASS_HATCHES)],
            )
            keys.append((leaf, marks))
        self.figure_.legend(
            keys,
            list(map(written, labels)),
            handlelength=3.0,
            title="leaf, sample",
            loc="outside right upper",
        )


def _is_number(value: typing.Any) -> bool:
    """Return whether a value has a place on an axis."""
    return isinstance(value, int | float) and math.isfinite(value)


def _note(
    model: TreeLearner,
    tree: int,
    features: Features,
    at: Mapping[Hashable, typing.Any],
) -> str:
    """Return how many other features the tree uses, and whether their values are given."""
    used = {node["feature"] for node in model._nodes(tree) if not is_leaf(node)} - {*features}
    if not used:
        return ""
    n_given = sum(name in at for name in used)
    kinds = [f"{n_given} as given"] * (n_given > 0)
    kinds += [f"{len(used) - n_given} missing"] * (n_given < len(used))
    return f"other features of the tree: {', '.join(kinds)}"


def _regions(
    model: TreeLearner,
    tree: int,
    features: Features,
    limits: tuple[Limits, Limits],
    at: Mapping[Hashable, typing.Any],
) -> list[Region]:
    """Cut the plane along the splits; `at` holds the values of the other features."""
    nodes = {node["node"]: node for node in model._nodes(tree)}
    roots = [node for node in nodes.values() if node["parent"] == -1]
    row = model._core.row_of(at)
    open_regions = [Region(limits, root) for root in roots]
    closed: list[Region] = []
    while open_regions:
        region = open_regions.pop()
        node = region.node
        if is_leaf(node):
            closed.append(region)
        elif node["feature"] not in features or node["nominal"] or math.isinf(node["cut"]):
            # A nominal split sends numbers where it sends missing values. A split on missing values
            # sends every present value to the left.
            left = node["missing_left"] or not node["nominal"]
            if node["feature"] not in features:
                left = goes_left(node, row)
            open_regions.append(Region(region.limits, nodes[node["left" if left else "right"]]))
        else:
            open_regions += _halves(region, features.index(node["feature"]), nodes)
    return closed


def _halves(region: Region, axis: int, nodes: dict[int, dict[str, typing.Any]]) -> list[Region]:
    """Split a region into two, or one if the cut lies outside."""
    node = region.node
    low, high = region.limits[axis]
    halves = []
    for side, (start, end) in (
        ("right", (max(low, node["cut"]), high)),
        ("left", (low, min(high, node["cut"]))),
    ):
        if start < end:
            limits = list(region.limits)
            limits[axis] = start, end
            halves.append(Region((limits[0], limits[1]), nodes[node[side]]))
    return halves


def _limits(values: Sequence[float]) -> Limits:
    """Return the range of values, a little wider on both sides."""
    low, high = min(values), max(values)
    margin = MARGIN * (high - low) or 0.5
    return low - margin, high + margin
