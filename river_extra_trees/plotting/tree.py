"""One tree, drawn with matplotlib."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from dataclasses import dataclass

from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._estimator.inspection import condition, is_leaf, shallow

from ._axes import AxesDisplay
from ._predictions import Colours

if typing.TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

    from river_extra_trees._estimator.learner import TreeLearner

__all__ = ["Box", "TreeDisplay"]

FONT_SIZE = 9.0
WIDTH_OF_COLUMN, HEIGHT_OF_LEVEL = 1.35, 0.95  # inches
LARGEST_WIDTH = 24.0  # inches


@dataclass
class Box:
    """A node of the picture: its text, column and level."""

    text: str
    column: float
    level: int
    parent: int
    share: float
    colour: str | tuple[float, float, float]


class TreeDisplay(AxesDisplay):
    """A tree as a picture: boxes with rules, and leaves with predictions.

    A sample that satisfies the rule goes left ("yes"). Leaves have the colour of their prediction,
    paler where it is less certain. The width of a line shows the share of the samples.

    Parameters
    ----------
    boxes
        The nodes, each after its parent.

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

    >>> model = ret.StreamDecisionTreeClassifier(seed=1)
    >>> for x, y in datasets.ImageSegments().take(100):
    ...     model.learn_one(x, y)
    >>> display = plotting.TreeDisplay.from_estimator(model, max_depth=1).plot()
    >>> for text in display.texts_:
    ...     print(text.get_text().replace(chr(10), " "))
    exgreen-mean ≤ 2.83333 or missing
    foliage (20%) … weight 85
    grass (100%) weight 15
    """

    texts_: list[Text]

    def __init__(self, boxes: Sequence[Box]) -> None:
        self.boxes = list(boxes)

    @classmethod
    def from_estimator(
        cls, model: TreeLearner, *, tree: int = 0, max_depth: int | None = 3
    ) -> TreeDisplay:
        """Take one tree of a learner.

        Parameters
        ----------
        model
            A learner of this package.
        tree
            Number of the tree.
        max_depth
            Depth of the deepest nodes to draw; `None` sets no limit. Dots mark nodes whose children
            are left out.
        """
        nodes = [node for node, _ in shallow(model._nodes(tree), max_depth)]
        places = {node["node"]: i for i, node in enumerate(nodes)}
        is_tip = [node["left"] not in places for node in nodes]
        columns = _columns(nodes, places, is_tip)
        colours = Colours(model, [node for node, tip in zip(nodes, is_tip, strict=True) if tip])
        whole = max([node["weight"] for node in nodes], default=0.0) or 1.0
        return cls(
            [
                Box(
                    _tip_text(model, node) if tip else _rule_text(node),
                    column,
                    node["depth"],
                    places.get(node["parent"], -1),
                    node["weight"] / whole,
                    colours.of(node) if tip else "white",
                )
                for node, tip, column in zip(nodes, is_tip, columns, strict=True)
            ]
        )

    def _extent(self) -> tuple[float, int]:
        """Return the numbers of columns and levels."""
        n_columns = 1 + max((box.column for box in self.boxes), default=0.0)
        n_levels = 1 + max((box.level for box in self.boxes), default=0)
        return n_columns, n_levels

    def _size(self) -> tuple[float, float]:
        n_columns, n_levels = self._extent()
        width = min(LARGEST_WIDTH, max(3.0, WIDTH_OF_COLUMN * n_columns))
        return width, HEIGHT_OF_LEVEL * n_levels

    def _draw(self, ax: Axes) -> None:
        n_columns, n_levels = self._extent()
        ax.axis("off")
        ax.set_xlim(-0.5, n_columns - 0.5)
        ax.set_ylim(n_levels - 0.6, -0.4)
        self.texts_ = [self._draw_box(ax, box) for box in self.boxes]
        self._draw_answers(ax)
        self._fit()

    def _draw_box(self, ax: Axes, box: Box) -> Text:
        if box.parent >= 0:
            above = self.boxes[box.parent]
            ax.plot(
                *([above.column, box.column], [above.level, box.level]),
                color="#555555",
                linewidth=0.6 + 4.0 * box.share,
                solid_capstyle="round",
                zorder=1,
            )
        return ax.text(
            *(box.column, box.level, box.text),
            ha="center",
            va="center",
            fontsize=FONT_SIZE,
            bbox={"boxstyle": "round,pad=0.35", "facecolor": box.colour, "edgecolor": "#555555"},
            zorder=2,
        )

    def _draw_answers(self, ax: Axes) -> None:
        """Label the two sides below the root."""
        for box, answer in zip(
            sorted((box for box in self.boxes if box.parent == 0), key=lambda box: box.column),
            ("yes ", " no"),
            strict=False,
        ):
            ax.text(
                *(0.6 * self.boxes[0].column + 0.4 * box.column, 0.4, answer),
                ha="right" if answer == "yes " else "left",
                va="bottom",
                fontsize=FONT_SIZE,
                style="italic",
            )

    def _fit(self) -> None:
        """Reduce the font size until no two boxes of a level overlap."""
        self.figure_.draw_without_rendering()
        scale = 1.0
        rightmost: dict[int, tuple[float, float]] = {}  # by level: centre and half width, pixels
        for box, text in sorted(
            zip(self.boxes, self.texts_, strict=True), key=lambda pair: pair[0].column
        ):
            centre = float(self.ax_.transData.transform((box.column, box.level))[0])
            half = 0.5 * text.get_window_extent().width + 0.6 * FONT_SIZE
            if box.level in rightmost:
                before, half_before = rightmost[box.level]
                scale = min(scale, (centre - before) / (half + half_before))
            rightmost[box.level] = centre, half
        for text in self.texts_:
            text.set_fontsize(FONT_SIZE * scale)


def _columns(
    nodes: Sequence[dict[str, typing.Any]], places: dict[int, int], is_tip: Sequence[bool]
) -> list[float]:
    """Return the columns: one for each tip; other nodes stand above their two children."""
    columns = [0.0] * len(nodes)
    next_column = 0
    for i, tip in enumerate(is_tip):
        if tip:
            columns[i] = next_column
            next_column += 1
    for i in reversed(range(len(nodes))):  # children come after their parents
        if not is_tip[i]:
            left, right = places[nodes[i]["left"]], places[nodes[i]["right"]]
            columns[i] = 0.5 * (columns[left] + columns[right])
    return columns


def _rule_text(node: dict[str, typing.Any]) -> str:
    """Return the rule on two lines: the feature, and the condition for going left."""
    return f"{safe_repr(node['feature'], str)}\n{condition(node, True)}"


def _tip_text(model: TreeLearner, node: dict[str, typing.Any]) -> str:
    dots = "" if is_leaf(node) else " …"
    return f"{model._describe(node)}{dots}\nweight {node['weight']:.3g}"
