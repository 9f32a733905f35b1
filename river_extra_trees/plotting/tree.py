"""One tree, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.text import Text

from river_extra_trees._estimator.inspection import Node, condition, is_leaf, shallow
from river_extra_trees._estimator.learner import TreeLearner

from ._axes import AxesDisplay, Colour, Colours, written

__all__ = ["Box", "TreeDisplay"]

FONT_SIZE = 9.0
WIDTH_OF_COLUMN, HEIGHT_OF_LEVEL = 1.35, 1.25  # inches
PADDING = 12.0  # pixels between two boxes, frames included
PLACE_OF_CONDITION = 0.6  # of the way from a node to its child
LARGEST_WIDTH = 24.0  # inches


@dataclass
class Box:
    """A node of the picture.

    `condition` holds for the samples that go from the parent to the node, `parent` is the index of
    the parent or -1, and `share` is the share of the weight of the whole tree.
    """

    text: str
    condition: str
    column: float
    level: int
    parent: int
    share: float
    colour: Colour


class TreeDisplay(AxesDisplay):
    """A tree as a picture: features in boxes, conditions beside lines, and predictions in leaves.

    Every box states the prediction of its leaves together. Its colour shows the class, paler where
    it is less certain, or the mean. If a leaf adds a linear model to its mean, the box says so. The
    width of a line shows the share of the samples. If nodes are left out, the title says so.

    Parameters
    ----------
    boxes
        The nodes, each after its parent.
    note
        The title: which part of which tree this is.

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
    exgreen-mean foliage (17%) weight 100
    foliage (20%) … weight 85
    grass (100%) weight 15
    >>> display.note
    '3 of 27 nodes; below “…” there are more'
    """

    texts_: list[Text]
    conditions_: list[Text]

    def __init__(self, boxes: Sequence[Box], note: str = "") -> None:
        self.boxes = list(boxes)
        self.note = note

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
            are left out. To zoom into a large tree, save it as PDF or SVG.
        """
        whole_tree = model._nodes(tree)
        shown = shallow(whole_tree, max_depth)
        nodes = [node for node, _ in shown]
        places = {node["node"]: i for i, node in enumerate(nodes)}
        is_tip = [node["left"] not in places for node in nodes]
        columns = _columns(nodes, places, is_tip)
        colours = Colours(model, nodes)
        whole = max([node["weight"] for node in nodes], default=0.0) or 1.0
        boxes = [
            Box(
                text=_text_of(model, node, is_tip[i]),
                condition=_condition_of(node, parent),
                column=columns[i],
                level=node["depth"],
                parent=places.get(node["parent"], -1),
                share=node["weight"] / whole,
                colour=colours.of(node),
            )
            for i, (node, parent) in enumerate(shown)
        ]
        return cls(boxes, _note(model, tree, len(nodes), len(whole_tree)))

    def _extent(self) -> tuple[float, int]:
        """Return the numbers of columns and levels."""
        n_columns = 1 + max((box.column for box in self.boxes), default=0.0)
        n_levels = 1 + max((box.level for box in self.boxes), default=0)
        return n_columns, n_levels

    def _size(self) -> tuple[float, float]:
        n_columns, n_levels = self._extent()
        width = min(LARGEST_WIDTH, max(4.2, WIDTH_OF_COLUMN * n_columns))
        return width, HEIGHT_OF_LEVEL * n_levels + (0.3 if self.note else 0.0)

    def _draw(self, ax: Axes) -> None:
        n_columns, n_levels = self._extent()
        ax.axis("off")
        ax.set_xlim(-0.5, n_columns - 0.5)
        ax.set_ylim(n_levels - 0.7, -0.3)
        if self.note:
            ax.set_title(self.note, fontsize=FONT_SIZE)
        self.texts_ = [self._draw_box(ax, box) for box in self.boxes]
        self.conditions_ = [self._draw_condition(ax, box) for box in self.boxes[1:]]
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

    def _draw_condition(self, ax: Axes, box: Box) -> Text:
        """Write the condition on the outer side of the line, which does not cross it there."""
        above = self.boxes[box.parent]
        way = box.column - above.column
        lines = box.condition.split("\n")
        return ax.text(
            above.column + PLACE_OF_CONDITION * way,
            above.level + PLACE_OF_CONDITION,
            "\n".join(f"{line}  " if way < 0 else f"  {line}" for line in lines),
            ha="right" if way < 0 else "left",
            multialignment="right" if way < 0 else "left",
            va="bottom",
            fontsize=FONT_SIZE,
            zorder=2,
        )

    def _fit(self) -> None:
        """Reduce the font size until no texts of a level overlap, and no conditions and boxes."""
        self.figure_.draw_without_rendering()
        rows: dict[tuple[int, bool], list[Text]] = {}  # boxes or conditions of a level
        for box, text in zip(self.boxes, self.texts_, strict=True):
            rows.setdefault((box.level, True), []).append(text)
        for box, text in zip(self.boxes[1:], self.conditions_, strict=True):
            rows.setdefault((box.level, False), []).append(text)
        scale = min([1.0, *map(self._scale_of, rows.values())])
        (_, first), (_, second) = self.ax_.transData.transform([(0, 0), (0, 1)])
        box_height, condition_height = (
            max([text.get_window_extent().height for text in texts], default=0.0)
            for texts in (self.texts_, self.conditions_)
        )
        needed = 0.5 * (box_height + PADDING) + condition_height
        scale = min(scale, PLACE_OF_CONDITION * abs(second - first) / max(needed, 1.0))
        for text in (*self.texts_, *self.conditions_):
            text.set_fontsize(FONT_SIZE * scale)

    def _scale_of(self, row: list[Text]) -> float:
        """Return the factor of the font size with which the texts of a row do not overlap."""
        row.sort(key=lambda text: text.get_position()[0])
        anchors = [float(self.ax_.transData.transform(text.get_position())[0]) for text in row]
        extents = [text.get_window_extent() for text in row]
        return min(
            (
                (anchors[i + 1] - anchors[i])
                / (extents[i].x1 - anchors[i] + anchors[i + 1] - extents[i + 1].x0 + PADDING)
                for i in range(len(row) - 1)
            ),
            default=1.0,
        )


def _columns(nodes: Sequence[Node], places: dict[int, int], is_tip: Sequence[bool]) -> list[float]:
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


def _text_of(model: TreeLearner, node: Node, is_tip: bool) -> str:
    """Return what a box says: the feature of a split, the prediction, and the weight."""
    # Only the label is cut off, not the share behind it.
    label, bracket, share = model._describe(node).rpartition(" (")
    spread, plus, model_added = share.partition(" + ")
    lines = [written(label) + bracket + spread, _weight_of(node)]
    if plus:
        lines.insert(1, f"+ {model_added}")
    if not is_tip:
        lines.insert(0, written(node["feature"]))
    elif not is_leaf(node):
        lines[0] += " …"
    return "\n".join(lines)


def _weight_of(node: Node) -> str:
    weight = node["weight"]
    return f"weight {weight:,.0f}" if 100.0 <= weight < 1e9 else f"weight {weight:.3g}"


def _condition_of(node: Node, parent: Node | None) -> str:
    """Return the condition under which samples go from the parent to the node."""
    if parent is None:
        return ""
    text = condition(parent, parent["left"] == node["node"])
    rule, missing, _ = text.partition(" or missing")
    return f"{written(rule)}\nor missing" if missing else written(text)


def _note(model: TreeLearner, tree: int, n_shown: int, n_nodes: int) -> str:
    """Return which part of which tree is drawn; nothing for the whole of a single tree."""
    parts = [f"tree {tree} of {model._n_trees}"] * (model._n_trees > 1)
    if n_shown < n_nodes:
        parts.append(f"{n_shown} of {n_nodes:,} nodes; below “…” there are more")
    return ": ".join(parts)
