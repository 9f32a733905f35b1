"""The base of all estimators: a core object that does the work, and what river expects of it.

An estimator keeps its parameters as they were given, and a core object that learns and answers.
`TreeClassifier` and `TreeRegressor` add the answers of either kind, and `BatchForest` what is
decided when a batch is full.
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

from . import inspection
from .columns import labelled_batch_of
from .frames import Sample, readable_frame

if typing.TYPE_CHECKING:
    import pandas as pd

    from river_extra_trees._core.batch import Batch, Reader
    from river_extra_trees._core.schema import Schema
    from river_extra_trees._core.state import State
    from river_extra_trees.plotting import TreeDisplay

__all__ = ["TreeLearner", "reads_columns"]


def reads_columns(model: object) -> bool:
    """Whether a model learns from columns; a class derived elsewhere may do more per sample."""
    is_ours = type(model).__module__.startswith("river_extra_trees.")
    return is_ours and isinstance(model, TreeLearner)


@functools.cache
def parameters_of(kind: type) -> frozenset[str]:
    """The names of the parameters of a class."""
    return frozenset(inspect.signature(kind).parameters)


class TreeLearner(base.Estimator):
    """A learner made of trees."""

    # The compiled object that does the work; each family says of which class it is.
    _core: typing.Any

    # Columns of `to_dataframe` that only this family has.
    _more_columns: typing.ClassVar[tuple[str, ...]] = ()

    # Parameters that decide how much memory the core object takes from the start, and the names
    # that they have among its settings.
    _sizes: typing.ClassVar[dict[str, str]]

    # Parameters that are read anew for every sample or batch, so that `mutate` can change them.
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
        """Whether a name is that of a parameter, and the core object was made already."""
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
        """Change parameters after training has started: all that are named, or none.

        The description of a parameter says so if it can be changed. All others decide how the model
        was made; `clone` makes a new one.

        Parameters
        ----------
        new_attrs
            The new values by the names of the parameters.

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
        checked = self.clone(new_attrs)  # raises what is wrong with the values
        for name in new_attrs:
            super().__setattr__(name, getattr(checked, name))

    # ------------------------------------------------------------------ copies and files

    @property
    def _schema(self) -> Schema:
        """The columns of the features."""
        return self._core.schema

    @property
    def n_samples_seen(self) -> int:
        """Number of samples learned, those of weight zero not counted."""
        return self._core.n_seen

    def _for_serving(self) -> typing.Self:
        """A copy that answers alike, without what only learning needs."""
        copy: typing.Self = self.clone()
        copy._core = self._core.for_serving()
        return copy

    def _state(self) -> dict[str, typing.Any]:
        """What a model file holds beside the parameters; `core` is the core object."""
        return {"core": self._core}

    def _restore(self, state: State) -> None:
        """Take over a state whose core object has the settings of this model's own."""
        self._core = state.part("core", type(self._core))

    # ------------------------------------------------------------------ learning

    def _check_one(self, x: Sample, y: typing.Any, w: typing.Any) -> None:
        """Raise what `learn_one` would raise, and learn nothing."""
        self._core.validate(x, y, w)

    def learn_one(self, x: Sample, y: typing.Any, w: float = 1.0) -> None:
        """Learn a sample.

        Parameters
        ----------
        x
            Features. Numbers are numeric, other hashable values nominal; absent, `None` and NaN
            values are missing.
        y
            The target.
        w
            Weight of the sample; 0 learns nothing.

        Raises
        ------
        ValueError, TypeError
            If a feature is infinite or neither a number nor hashable, the target is missing, not
            finite or not hashable, or the weight is negative or not finite. The message names it,
            and nothing is learned.
        """
        self._core.learn(x, y, w)

    def _check_label(self, y: typing.Any, coming: set[Hashable]) -> None:
        """Raise if a label, learned after those that are coming, were one too many; note it."""

    def _check_next(self, x: Sample, y: typing.Any, w: typing.Any, coming: set[Hashable]) -> None:
        """Raise what learning a sample after others would raise; note its label as coming, too."""
        self._check_one(x, y, w)
        is_learned = float(w) >= FAINTEST_WEIGHT
        self._check_label(y, coming if is_learned else set(coming))

    def learn_many(self, X: typing.Any, y: typing.Any, w: typing.Any = 1.0) -> None:
        """Learn the rows of a data frame, one after the other.

        The model is afterwards the same, bit for bit, as after `learn_one` of each row. If a row is
        refused, nothing of the frame is learned.

        Parameters
        ----------
        X
            A data frame of any kind that narwhals knows (pandas, polars, pyarrow, ...), or an array
            of two dimensions, whose columns are numbered from 0.
        y
            A series of targets, or another sequence of them, as long as the frame. They belong to
            the rows by their position: an index, as pandas has it, is not looked at.
        w
            One weight for all rows, or a series of weights, likewise by their position.

        Raises
        ------
        ValueError, TypeError
            If the lengths differ, y or w is no sequence (a frame, a mapping, a set or a text has
            no values by position), or a row is refused; the message names the row.
        """
        batch = labelled_batch_of(readable_frame(X), y, w, self._core.regression)
        self._learn_rows(self._core.reader(batch, learns=True))

    def _learn_rows(self, reader: Reader) -> None:
        """Learn the rows of a batch, each after its answer if that was asked for."""
        while reader.row < reader.n:
            self._core.go_on(reader)

    def _answered(self, batch: Batch, shares: bool = False) -> Reader:
        """Answer the rows of a batch."""
        reader = self._core.reader(batch)
        self._core.ask(reader, shares)
        while reader.row < reader.n:
            self._core.go_on(reader)
        return reader

    def _check_answers(self, frame: typing.Any, batch: Batch, shares: bool) -> None:
        """Refuse a frame whose kind cannot hold the answers."""

    def _answered_and_learned(
        self, frame: typing.Any, y: typing.Any, w: typing.Any, shares: bool = False
    ) -> Reader:
        """Answer each row of a frame, then learn it."""
        batch = labelled_batch_of(frame, y, w, self._core.regression)
        reader = self._core.reader(batch, learns=True)
        self._check_answers(frame, batch, shares)
        self._answer_and_learn(reader, shares)
        return reader

    def _answer_and_learn(self, reader: Reader, shares: bool = False) -> None:
        """Answer each row of a batch, then learn it; the reader has the answers."""
        self._core.ask(reader, shares)
        self._learn_rows(reader)

    # ------------------------------------------------------------------ size

    @property
    def _n_trees(self) -> int:
        """Number of trees."""
        return self._core.n_trees

    def _nodes(self, tree: int) -> list[inspection.Node]:
        """Nodes of a tree as plain values, see `Learner.nodes` of the core."""
        return self._core.nodes(tree)

    def _trees(self) -> Iterator[list[inspection.Node]]:
        """The nodes of every tree, as far as no other thread removes trees meanwhile."""
        tree = 0
        while tree < self._n_trees:
            yield self._nodes(tree)
            tree += 1

    @abc.abstractmethod
    def _describe(self, node: inspection.Node) -> str:
        """The prediction of a node, in a few words."""

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
        """Number of splits on the longest way from a root to a leaf."""
        return self._core.sizes()[1]

    @property
    def summary(self) -> dict[str, typing.Any]:
        """Numbers of trees, nodes and leaves, height, and memory with its unit.

        Forests with several memories add their weights.
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
        """What the summary tells of this family only."""
        return {}

    @property
    def feature_importances_(self) -> dict[Hashable, float]:
        """Share of each feature in the impurity that the present splits have removed.

        The shares sum to one; a model without a split has none. Trees weigh alike.
        """
        return inspection.importances(self._trees())

    # ------------------------------------------------------------------ explanations

    def debug_one(self, x: Sample, tree: int = 0) -> str:
        """Explain the answer of one tree for a sample: the rules it follows and the leaf it meets.

        Parameters
        ----------
        x
            Features.
        tree
            Number of the tree, from 0.

        Raises
        ------
        IndexError
            If there is no such tree.
        """
        nodes = self._nodes(tree)
        row = self._core.row_of(x)
        return inspection.explained(nodes, row, lambda leaf: self._describe_answer(leaf, tree, x))

    def _describe_answer(self, leaf: inspection.Node, tree: int, x: Sample) -> str:
        """The answer of a tree to a sample that its leaf has met, in a few words."""
        return self._describe(leaf)

    def to_text(self, tree: int = 0, max_depth: int | None = None) -> str:
        """One tree as indented text.

        Parameters
        ----------
        tree
            Number of the tree, from 0.
        max_depth
            Depth below which nothing is shown.

        Raises
        ------
        IndexError
            If there is no such tree.
        """
        return inspection.indented(self._nodes(tree), max_depth, self._describe)

    def to_dataframe(self) -> pd.DataFrame:
        """A table of the nodes of all trees, one row each (needs pandas).

        Columns: `tree`, `node`, `parent`, `is_leaf`, `depth`, `feature`, `threshold`, `left`,
        `right`, `missing_left`, `weight`, `gain`, `values` and `prediction`. Dynamic trees add
        `active`, the number of active samples, and `retired`, the weight of the retired ones; those
        for regression also `degrees_of_freedom` and `residual_variance` of the Student-t at a node,
        and its `intercept` and `coefficients` by feature, in the units of target and features.
        `StreamDecisionForestRegressor` adds the `coefficients` of the linear models; `values` and
        `prediction` have the means and variances of what the models leave of the targets.
        """
        return inspection.table_of(self._trees(), self._more_columns, self._describe)

    def draw(self, tree: int = 0, max_depth: int | None = 3) -> TreeDisplay:
        """Draw one tree (needs matplotlib; `to_text` needs nothing).

        Parameters
        ----------
        tree
            Number of the tree, from 0.
        max_depth
            Depth of the deepest nodes to draw; `None` sets no limit. The picture tells how many
            nodes are left out.

        Returns
        -------
        The picture; `model.draw().figure_.savefig("tree.png")` writes it to a file.

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
