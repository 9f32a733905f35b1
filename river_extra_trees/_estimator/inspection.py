"""Looking at a learner that is made of trees: sizes, importances, tables, texts and pictures.

A family tells this module about its trees through three hooks, `_n_trees`, `_nodes(tree)` and
`_describe(node)`; everything here is made from those.
"""

from __future__ import annotations

import abc
import html
import importlib
import math
import typing
from collections.abc import Hashable, Iterator, Mapping

from river import base

from .._core.safe_repr import safe_repr

if typing.TYPE_CHECKING:
    import graphviz
    import pandas as pd

    from .._core.schema import Schema
    from .._core.state import State
    from .._core.trees import Trees

__all__ = [
    "Sample",
    "TreeLearner",
    "describe_classes",
    "describe_number",
    "import_extra",
    "name_node",
    "named_nodes",
]

Sample = Mapping[Hashable, typing.Any]


def named_nodes(trees: Trees, schema: Schema, tree: int = 0) -> list[dict[str, typing.Any]]:
    """The nodes of a tree in preorder, with feature names and nominal values in place of codes."""
    nodes = []
    for number in trees.preorder(tree):
        node = trees.node(number)
        nodes.append(name_node(node, schema))
    return nodes


def name_node(node: dict[str, typing.Any], schema: Schema) -> dict[str, typing.Any]:
    """Replace the column and the code of a node by a name and a value; keep them beside."""
    column, cut = node["feature"], node["threshold"]
    node["column"], node["cut"] = column, cut
    node["feature"] = None if column < 0 else schema.names[column]
    if node["nominal"]:
        node["threshold"] = schema.value_of(column, cut)
    return node


def describe_classes(node: dict[str, typing.Any], labels: list[typing.Any]) -> str:
    """The heaviest class of a node and its share."""
    if node["weight"] <= 0.0:
        return "empty"
    best = max(range(len(labels)), key=node["values"].__getitem__)
    return f"{safe_repr(labels[best], str)} ({node['values'][best] / node['weight']:.0%})"


def describe_number(node: dict[str, typing.Any]) -> str:
    """The mean of the targets in a node and their standard deviation."""
    if node["weight"] <= 0.0:
        return "empty"
    mean, squares = node["values"]
    return f"{mean:.6g} (sd {(max(0.0, squares) / node['weight']) ** 0.5:.3g})"


class TreeLearner(base.Estimator):
    """A learner made of trees that can be looked at."""

    # The compiled object that does the work; each family says of which class it is.
    _core: typing.Any

    # What a family's nodes have beyond the usual, as columns of `to_dataframe`.
    _more_columns: typing.ClassVar[tuple[str, ...]] = ()

    @property
    def _n_trees(self) -> int:
        """Number of trees."""
        return self._core.n_trees

    def _nodes(self, tree: int) -> list[dict[str, typing.Any]]:
        """Nodes of a tree as plain values, see `Learner.nodes` of the core."""
        return self._core.nodes(tree)

    @abc.abstractmethod
    def _describe(self, node: dict[str, typing.Any]) -> str:
        """What a node predicts, in a few words."""

    @property
    def _schema(self) -> Schema:
        """The columns that the features have."""
        return self._core.schema

    @property
    def n_samples_seen(self) -> int:
        """Number of samples learned, those of weight zero not counted."""
        return self._core.n_seen

    def _bare(self) -> typing.Self:
        """A copy that answers alike, without what only learning needs."""
        bare: typing.Self = self.clone()
        bare._core = self._core.bare()
        return bare

    # Parameters that decide how much memory the core object takes from the start, and the names
    # that they have among its settings.
    _sizes: typing.ClassVar[dict[str, str]]

    def _state(self) -> dict[str, typing.Any]:
        """What a model file holds beside the parameters; `core` is the core object."""
        return {"core": self._core}

    def _restore(self, state: State) -> None:
        """Take over a state whose core object has the settings of this model's own."""
        self._core = state.part("core", type(self._core))

    # ------------------------------------------------------------------ size

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return sum(len(self._nodes(tree)) for tree in range(self._n_trees))

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return (self.n_nodes + self._n_trees) // 2

    @property
    def height(self) -> int:
        """Number of splits on the longest way from a root to a leaf."""
        return max(
            (node["depth"] for tree in range(self._n_trees) for node in self._nodes(tree)),
            default=0,
        )

    @property
    def summary(self) -> dict[str, typing.Any]:
        """Numbers of trees, nodes and leaves, height, and memory in bytes."""
        return {
            "n_trees": self._n_trees,
            "n_nodes": self.n_nodes,
            "n_leaves": self.n_leaves,
            "height": self.height,
            "memory": self._raw_memory_usage,
        }

    @property
    def feature_importances_(self) -> dict[Hashable, float]:
        """Share of each feature in the impurity that the present splits have removed.

        The shares sum to one; a model without a split has none. Trees weigh alike.
        """
        gains: dict[Hashable, float] = {}
        for tree in range(self._n_trees):
            nodes = [node for node in self._nodes(tree) if node["feature"] is not None]
            total = sum(node["gain"] for node in nodes)
            for node in nodes:
                share = node["gain"] / total if total > 0 else 1.0 / len(nodes)
                gains[node["feature"]] = gains.get(node["feature"], 0.0) + share
        whole = sum(gains.values())
        return {
            name: gains[name] / whole
            for name in sorted(gains, key=lambda name: safe_repr(name, str))
        }

    # ------------------------------------------------------------------ explanations

    def _rule(self, node: dict[str, typing.Any], left: bool) -> str:
        """The condition under which a sample goes to one side of an inner node."""
        feature = safe_repr(node["feature"], str)
        if parts_missing(node):
            missing = node["missing_left"] == left
            return f"{feature} is {'missing' if missing else 'present'}"
        signs = ("=", "≠") if node["nominal"] else ("≤", ">")
        value = node["threshold"]
        text = f"{feature} {signs[0 if left else 1]} " + (
            f"{value:.6g}" if isinstance(value, float) else safe_repr(value, str)
        )
        return text + (" or missing" if node["missing_left"] == left else "")

    def _path(self, x: Sample, tree: int) -> Iterator[tuple[dict[str, typing.Any], bool | None]]:
        """The nodes that x passes and whether it goes left there; None at the leaf."""
        row = self._schema.row_of(x)
        nodes = {node["node"]: node for node in self._nodes(tree)}
        node = next((node for node in nodes.values() if node["parent"] == -1), None)
        while node is not None:
            left = goes_left(node, row) if node["feature"] is not None else None
            yield node, left
            node = None if left is None else nodes[node["left" if left else "right"]]

    def debug_one(self, x: Sample, tree: int = 0) -> str:
        """Explain the answer of one tree for a sample: the rules it follows and the leaf it meets.

        Parameters
        ----------
        x
            Features.
        tree
            Number of the tree.
        """
        lines = []
        for node, left in self._path(x, tree):
            if left is None:
                lines.append(f"leaf, weight {node['weight']:.6g}: {self._describe(node)}")
            else:
                lines.append(self._rule(node, left))
        return "\n".join(lines)

    def to_text(self, tree: int = 0, max_depth: int | None = None) -> str:
        """One tree as indented text.

        Parameters
        ----------
        tree
            Number of the tree.
        max_depth
            Depth below which nothing is shown.
        """
        lines = []
        nodes = self._nodes(tree)
        by_id = {node["node"]: node for node in nodes}
        for node in nodes:
            if max_depth is not None and node["depth"] > max_depth:
                continue
            rule = ""
            if node["parent"] != -1:
                parent = by_id[node["parent"]]
                rule = self._rule(parent, parent["left"] == node["node"])
            leaf = "" if node["feature"] is not None else self._describe(node)
            text = ": ".join(part for part in (rule, leaf) if part) or "all samples"
            lines.append("    " * node["depth"] + text)
        return "\n".join(lines)

    def to_dataframe(self) -> pd.DataFrame:
        """A table of the nodes of all trees, one row each (needs pandas).

        Columns: `tree`, `node`, `parent`, `is_leaf`, `depth`, `feature`, `threshold`, `left`,
        `right`, `missing_left`, `weight`, `gain`, `values` and `prediction`. Dynamic trees add
        `active`, the number of active samples, and `retired`, the weight of the retired ones; those
        for regression also `degrees_of_freedom` and `residual_variance` of the Student-t at a node,
        and its `intercept` and `coefficients` by feature, in the units of target and features.
        """
        pd = import_extra("pandas", "dataframe")
        rows = [
            {
                "tree": tree,
                "node": node["node"],
                "parent": node["parent"],
                "is_leaf": node["feature"] is None,
                "depth": node["depth"],
                "feature": node["feature"],
                "threshold": node["threshold"],
                "left": node["left"],
                "right": node["right"],
                "missing_left": node["missing_left"],
                "weight": node["weight"],
                "gain": node["gain"],
                "values": node["values"],
                "prediction": self._describe(node),
                **{name: node[name] for name in self._more_columns},
            }
            for tree in range(self._n_trees)
            for node in self._nodes(tree)
        ]
        names = rows[0] if rows else ()
        return pd.DataFrame({name: column_of([row[name] for row in rows]) for name in names})

    def draw(self, tree: int = 0, max_depth: int | None = None) -> graphviz.Digraph:
        """One tree as a graph (needs graphviz to be shown; `to_text` needs nothing).

        Parameters
        ----------
        tree
            Number of the tree.
        max_depth
            Depth below which nothing is drawn.
        """
        graphviz = import_extra("graphviz", "plot")
        graph = graphviz.Digraph(
            graph_attr={"splines": "ortho"},
            node_attr={"shape": "box", "fontname": "Helvetica", "fontsize": "10"},
            edge_attr={"fontname": "Helvetica", "fontsize": "9"},
        )
        nodes = self._nodes(tree)
        by_id = {node["node"]: node for node in nodes}
        for node in nodes:
            if max_depth is not None and node["depth"] > max_depth:
                continue
            name = str(node["node"])
            if node["feature"] is None:
                label = f"{self._describe(node)}\nweight {node['weight']:.6g}"
                graph.node(name, graphviz.escape(label), style="rounded")
            else:
                graph.node(name, graphviz.escape(safe_repr(node["feature"], str)))
            if node["parent"] != -1:
                parent = by_id[node["parent"]]
                rule = self._rule(parent, parent["left"] == node["node"])
                rule = rule.removeprefix(f"{safe_repr(parent['feature'], str)} ")
                graph.edge(str(node["parent"]), name, xlabel=graphviz.escape(rule))
        return graph

    def _repr_html_(self) -> str:
        parameters = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(safe_repr(value))}</td></tr>"
            for name, value in self._get_params().items()
        )
        size = ", ".join(f"{name} {value:,}" for name, value in self.summary.items())
        return (
            f"<details open><summary><b>{html.escape(type(self).__name__)}</b> "
            f"({html.escape(size)} bytes)</summary><table>{parameters}</table></details>"
        )


def goes_left(node: dict[str, typing.Any], row: list[float]) -> bool:
    """Whether an encoded sample goes left at an inner node."""
    value = row[node["column"]]
    if math.isnan(value):
        return bool(node["missing_left"])
    return value == node["cut"] if node["nominal"] else value <= node["cut"]


def parts_missing(node: dict[str, typing.Any]) -> bool:
    """Whether a split has the missing values on one side and all others on the other."""
    if node["nominal"]:
        return node["threshold"] is None
    return bool(node["cut"] == math.inf)


def column_of(values: list[typing.Any]) -> pd.Series:
    """Values as a column of the type that pandas gives them; as they are, where it has none.

    Its texts are in UTF-8, which not all of Python's can be written in.
    """
    pd = import_extra("pandas", "dataframe")
    try:
        return pd.Series(values)
    except UnicodeEncodeError:
        return pd.Series(values, dtype=object)


def import_extra(module: str, extra: str) -> typing.Any:
    """Import an optional package, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(
            f"this needs {package} (extra {extra!r}): pip install {package}"
        ) from None
