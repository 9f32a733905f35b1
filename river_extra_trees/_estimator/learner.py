"""The base class of all estimators.

An estimator holds its parameters, and a compiled core object that learns and predicts.
`TreeClassifier` and `TreeRegressor` add the predictions; `BatchForest` decides how trees grow when
a batch is full.
"""

from __future__ import annotations

import abc
import functools
import html
import inspect
import typing
from collections.abc import Hashable, Iterator

from river import base

from river_extra_trees._core.safe_repr import safe_repr
from river_extra_trees._core.state import FAINTEST_WEIGHT
from river_extra_trees._core.team import Team

from . import inspection
from .explaining import explain_row, explain_rows
from .frames import Sample, readable_frame
from .parameters import n_threads_of
from .snapshot import Snapshot
from .tables import labelled_table_of

if typing.TYPE_CHECKING:
    from .frames import Frame, Series, Weights

if typing.TYPE_CHECKING:
    import pandas as pd

    from river_extra_trees._core.learner import Learner
    from river_extra_trees._core.schema import Schema
    from river_extra_trees._core.state import State
    from river_extra_trees._core.table import RowReader, Table
    from river_extra_trees.explanation import Explanation
    from river_extra_trees.plotting import TreeDisplay

__all__ = ["TreeLearner", "reads_columns"]


def reads_columns(model: object) -> bool:
    """Return whether a model learns columns; a subclass of a user may override `learn_one`."""
    is_ours = type(model).__module__.startswith("river_extra_trees.")
    return is_ours and isinstance(model, TreeLearner)


@functools.cache
def parameters_of(kind: type) -> frozenset[str]:
    """Return the names of the parameters of a class."""
    return frozenset(inspect.signature(kind).parameters)


class TreeLearner(base.Estimator):
    """Base class of all estimators of this package."""

    # The compiled object that learns and predicts; each family declares its class.
    _core: Learner

    # Columns of `to_dataframe` that only this family has.
    _more_columns: typing.ClassVar[tuple[str, ...]] = ()

    # Parameters that determine how much memory the core object allocates at once, with their
    # names in its settings.
    _sizes: typing.ClassVar[dict[str, str]]

    # Parameters that are read again for every sample or batch, so that `mutate` can change them.
    _mutable: typing.ClassVar[frozenset[str]] = frozenset()

    # ------------------------------------------------------------------ parameters

    def __setattr__(self, name: str, value: typing.Any) -> None:
        if self._is_fixed(name):
            self._refuse_change(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if self._is_fixed(name):
            self._refuse_change(name)
        super().__delattr__(name)

    def _is_fixed(self, name: str) -> bool:
        """Return whether an attribute is a parameter, and the core object exists already."""
        # Reading `self.__dict__` here would slow down every later access to an attribute.
        return name in parameters_of(type(self)) and hasattr(self, "_core")

    def _refuse_change(self, name: str) -> None:
        way = (
            f"use mutate({{{name!r}: ...}})"
            if name in self._mutable_attributes
            else f"make a new model by clone({{{name!r}: ...}})"
        )
        raise AttributeError(
            f"the parameter {name} of a {type(self).__name__} cannot be changed like this; {way}"
        )

    @property
    def _mutable_attributes(self) -> set[str]:
        return set(self._mutable)

    def mutate(self, new_attrs: dict[str, typing.Any]) -> None:
        """Change parameters after training has started.

        Only parameters whose description says so can be changed; for others, make a new model with
        `clone`. After an error, no parameter is changed.

        Parameters
        ----------
        new_attrs
            New values by parameter name.

        Raises
        ------
        ValueError
            If there is no such parameter, it cannot be changed, or a value is invalid.
        """
        for name in new_attrs:
            if name not in self._mutable_attributes:
                can = ", ".join(sorted(self._mutable_attributes)) or "none"
                raise ValueError(
                    f"{name!r} is not a mutable attribute of {type(self).__name__}; mutable are: "
                    f"{can}. Make a new model by clone({{{name!r}: ...}})"
                )
        checked = self.clone(new_attrs)  # raises if a value is invalid
        for name in new_attrs:
            super().__setattr__(name, getattr(checked, name))

    # ------------------------------------------------------------------ copies and files

    @property
    def _schema(self) -> Schema:
        """The features that the model has seen, in the order of their columns."""
        return self._core.schema

    @property
    def n_samples_seen(self) -> int:
        """Number of samples learned, without those of weight zero."""
        return self._core.n_seen

    def snapshot(self) -> Snapshot:
        """Take a read-only copy for serving, which keeps predicting as the model does now.

        It is smaller than the model, because it lacks the samples and other data that only learning
        needs.

        Returns
        -------
        The copy.
        """
        copy = self.clone()
        copy._core = self._core.for_serving()
        return Snapshot(copy, self.n_samples_seen)

    def _state(self) -> dict[str, typing.Any]:
        """Return the part of a model file beside the parameters; `core` is the core object."""
        return {"core": self._core}

    def _restore(self, state: State) -> None:
        """Take over a state, whose core object fits the settings of this model."""
        self._core = state.part("core", type(self._core))

    # ------------------------------------------------------------------ learning

    def learn_one(self, x: Sample, y: typing.Any, w: float = 1.0) -> None:
        """Learn a sample.

        Parameters
        ----------
        x
            Features by name. Numbers are numeric, other hashable values nominal. A feature is
            missing if it is absent, `None`, NaN or NaT.
        y
            The label or target.
        w
            Weight of the sample; a sample of weight 0 is not learned.

        Raises
        ------
        ValueError, TypeError
            If a feature is infinite, or neither a number nor hashable; if the target is missing,
            not finite or not hashable; or if the weight is negative or not finite. The message
            names the value, and the sample is not learned.
        """
        self._core.learn(x, y, w)

    def _check_label(self, y: typing.Any, coming: set[Hashable]) -> None:
        """Raise if y and the labels in `coming` would be too many; add y to `coming`."""

    def _check_next(self, x: Sample, y: typing.Any, w: typing.Any, coming: set[Hashable]) -> None:
        """Raise the error that `learn_one` would raise after others; add the label to `coming`."""
        self._core.validate(x, y, w)
        is_learned = float(w) >= FAINTEST_WEIGHT
        self._check_label(y, coming if is_learned else set(coming))

    def learn_many(self, X: Frame, y: Series, w: Weights = 1.0) -> None:
        """Learn the rows of a data frame, one after the other.

        The model is the same, bit for bit, as after `learn_one` of each row. If a row is invalid,
        nothing is learned. Only a label for which the model finds no place, because its stored
        samples have 1,024 others, is met in its row: those before it are learned.

        Parameters
        ----------
        X
            A data frame of any library that narwhals supports (pandas, polars, pyarrow, ...), or a
            two-dimensional array, whose columns are named 0, 1, ...
        y
            A series or another sequence with the target of each row. It is aligned with the rows by
            position; the index of a pandas series is ignored.
        w
            One weight for all rows, or a series or another sequence with the weight of each row.

        Raises
        ------
        ValueError, TypeError
            If the lengths differ, if y or w is not a sequence (frames, mappings, sets and strings
            are not), or if a row is invalid. The message names the row.
        """
        table = self._table_of(readable_frame(X), y, w)
        self._read_rows(self._core.reader(table, learns=True))

    def _table_of(self, frame: typing.Any, y: typing.Any, w: typing.Any) -> Table:
        """Convert a frame, targets and weights to a table for this model."""
        return labelled_table_of(frame, y, w, self._core.regression)

    def _read_rows(self, reader: RowReader) -> None:
        """Predict the rows of a table if predictions are requested, and learn them if it learns."""
        with self._team() as team:
            while reader.row < reader.n:
                self._core.read_stretch(reader, team)

    def _team(self) -> Team:
        """Make the threads for a call that reads a table or explains predictions."""
        return Team(n_threads_of(getattr(self, "n_jobs", 1), self._n_trees))

    def _predicted(self, table: Table, shares: bool = False) -> RowReader:
        """Predict the rows of a table."""
        reader = self._core.reader(table)
        self._core.ask(reader, shares)
        self._read_rows(reader)
        return reader

    def _check_predictions(self, frame: typing.Any, table: Table, shares: bool) -> None:
        """Raise a TypeError if no series of the library of the frame can hold the predictions."""

    def _predicted_and_learned(
        self, frame: typing.Any, y: typing.Any, w: typing.Any, shares: bool = False
    ) -> RowReader:
        """Predict each row of a frame, then learn it."""
        table = self._table_of(frame, y, w)
        reader = self._core.reader(table, learns=True)
        self._check_predictions(frame, table, shares)
        self._core.ask(reader, shares)
        self._read_rows(reader)
        return reader

    # ------------------------------------------------------------------ size

    @property
    def _n_trees(self) -> int:
        """Number of trees."""
        return self._core.n_trees

    def _nodes(self, tree: int) -> list[inspection.Node]:
        """Return the nodes of a tree as dicts; see `Learner.nodes` of the core."""
        return self._core.nodes(tree)

    def _trees(self) -> Iterator[list[inspection.Node]]:
        """Yield the nodes of every tree. Another thread may remove trees during the iteration."""
        tree = 0
        while tree < self._n_trees:
            yield self._nodes(tree)
            tree += 1

    @abc.abstractmethod
    def _describe(self, node: inspection.Node) -> str:
        """Describe the prediction of a node in a few words."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return self._core.sizes()[0]

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return (self.n_nodes + self._n_trees) // 2

    @property
    def height(self) -> int:
        """Number of splits on the longest path from a root to a leaf."""
        return self._core.sizes()[1]

    @property
    def summary(self) -> dict[str, typing.Any]:
        """Numbers of trees, nodes and leaves, the height, and the memory with its unit.

        Forests with several window sizes add `window_weights`. If more features live than the
        model can hold, `crowded` names the last one that took the place of another, or found none;
        if trees had to forget labels, `crowded_label` names the last one for which they did.
        """
        return {
            "n_trees": self._n_trees,
            "n_nodes": self.n_nodes,
            "n_leaves": self.n_leaves,
            "height": self.height,
            "memory": inspection.in_bytes(self._raw_memory_usage),
            **self._more_summary(),
        }

    def _more_summary(self) -> dict[str, str]:
        """Return the entries of the summary that not all models have."""
        crowded = {"crowded": self._schema.crowded, "crowded_label": self._core.labels.crowded}
        return {name: safe_repr(each[0]) for name, each in crowded.items() if each}

    @property
    def feature_importances_(self) -> dict[Hashable, float]:
        """Share of each feature in the impurity decrease of the present splits, largest first.

        The shares sum to one, and all trees have the same weight. Without a split the dict is
        empty.

        The decrease is that of the samples on which the trees grew. It favours features with many
        values, by which a tree can separate samples without learning anything: on a stream with a
        weak signal, a nominal feature of 300 random values can have a larger share than the signal.
        The slopes of linear leaves do not count. Where a wrong order would mislead, compare with
        the loss of accuracy on later samples when the values of a feature are shuffled; the page
        "Pictures" shows how.
        """
        return inspection.importances(self._trees())

    # ------------------------------------------------------------------ explanations

    def _explain_one(self, x: Sample, label: typing.Any, method: str) -> Explanation:
        """Explain the prediction for a sample; `label` is None in a regression."""
        if method == "path" or getattr(self, "n_jobs", 1) == 1:  # a path takes few rows per thread
            return explain_row(self._core, None, x, label, method)
        with self._team() as team:
            return explain_row(self._core, team, x, label, method)

    def _explain_many(self, X: Frame, label: typing.Any, method: str) -> Explanation:
        """Explain the prediction for each row of a frame; `label` is None in a regression."""
        with self._team() as team:
            return explain_rows(self._core, team, readable_frame(X), label, method)

    def debug_one(self, x: Sample, tree: int | None = None) -> str:
        """Explain a prediction as text.

        Parameters
        ----------
        x
            Features.
        tree
            Number of a tree, from 0: describe its path for the sample. `None`: the path of a single
            tree; of several trees that have learned, the contributions of the features, as from
            `explain_one`.

        Returns
        -------
        A text with one line per split, and the leaf in the last line; or a table of contributions.
        A model that has learned nothing says so.

        Raises
        ------
        IndexError
            If there is no such tree.
        """
        if tree is None and self.n_samples_seen == 0:
            return "no sample has been learned"
        if tree is None and self._n_trees > 1:
            return str(self._explain_one(x, None, "shapley"))
        tree = 0 if tree is None else tree
        nodes = self._nodes(tree)
        row = self._core.row_of(x)
        return inspection.explained(nodes, row, lambda leaf: self._describe_answer(leaf, tree, x))

    def _describe_answer(self, leaf: inspection.Node, tree: int, x: Sample) -> str:
        """Describe the prediction of a tree for a sample in this leaf in a few words."""
        return self._describe(leaf)

    def to_text(self, tree: int = 0, max_depth: int | None = None) -> str:
        """Write one tree as indented text.

        Parameters
        ----------
        tree
            Number of the tree, from 0.
        max_depth
            Depth of the deepest nodes to show; `None` sets no limit.

        Returns
        -------
        The text, with one line per node.

        Raises
        ------
        IndexError
            If there is no such tree.
        """
        return inspection.indented(self._nodes(tree), max_depth, self._describe)

    def to_dataframe(self) -> pd.DataFrame:
        """Make a table of the nodes of all trees, with one row per node (needs pandas).

        Columns: `tree`, `node`, `parent`, `is_leaf`, `depth`, `feature`, `threshold`, `left`,
        `right`, `missing_left`, `weight`, `gain`, `values` and `prediction`. Dynamic trees add
        `active`, the number of active samples, and `retired`, the weight of the retired ones. For
        regression they also add `degrees_of_freedom` and `residual_variance` of the Student-t
        distribution of a node, its `intercept`, and its `coefficients` by feature, in the units of
        target and features. `ExtraTreesRegressor` adds the `coefficients` of the linear
        models; there, `values` and `prediction` describe the residuals of these models.

        Returns
        -------
        A pandas data frame.
        """
        return inspection.table_of(self._trees(), self._more_columns, self._describe)

    def draw(self, tree: int = 0, max_depth: int | None = 3) -> TreeDisplay:
        """Draw one tree (needs matplotlib; `to_text` needs nothing).

        Parameters
        ----------
        tree
            Number of the tree, from 0.
        max_depth
            Depth of the deepest nodes to draw; `None` sets no limit. The drawing states how many
            nodes are left out.

        Returns
        -------
        The drawing; `model.draw().figure_.savefig("tree.png")` writes it to a file.

        Raises
        ------
        IndexError
            If there is no such tree.
        """
        from river_extra_trees.plotting import TreeDisplay

        return TreeDisplay.from_estimator(self, tree=tree, max_depth=max_depth).plot()

    def _repr_html_(self) -> str:
        parameters = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(safe_repr(value))}</td></tr>"
            for name, value in self._get_params().items()
        )
        size = (
            f"{self._n_trees:,} trees, {self.n_nodes:,} nodes, {self.n_leaves:,} leaves, "
            f"height {self.height:,}, {self.summary['memory']}"
        )
        more = "".join(
            f"<p>{html.escape(name.replace('_', ' '))}: {html.escape(text)}</p>"
            for name, text in self._more_summary().items()
        )
        return (
            f"<details open><summary><b>{html.escape(type(self).__name__)}</b> "
            f"({html.escape(size)})</summary>{more}<table>{parameters}</table></details>"
        )
