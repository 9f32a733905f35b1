"""Forests in parts: each process has some of the trees.

Random numbers depend only on the seed, the number of the tree and the batch. So the trees of a part
are the same, bit for bit, as in one forest, if the parts exchange the data on which the decisions
of the forest depend: the losses of all trees, and for a forgetful forest its predictions. See
`memories.py` for stream forests with rotation.
"""

from __future__ import annotations

import abc
import copy
import functools
import itertools
import operator
import typing
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from .._estimator.parameters import check_parameter, check_whole
from .blocks import Block
from .parts import Part, Votes

__all__ = ["ForestPart", "ForgetfulForestPart", "StreamForestPart", "merge_forests"]

Losses = npt.NDArray[np.float64]


class ForestPart(Part):
    """Some of the trees of a forest.

    A part without trees validates samples and counts the votes of the other parts.

    Parameters
    ----------
    forest
        The whole forest. It is not changed.
    first
        Number of the first tree of the part.
    stop
        Number of the last tree of the part, plus one.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees.distributed import Block, learn_together, merge, split

    >>> rows, targets = zip(*datasets.Phishing(), strict=True)
    >>> forest = ret.StreamDecisionForestClassifier(n_models=5, seed=42)
    >>> parts = split(forest, 2)
    >>> [part.n_trees for part in parts]
    [2, 3]
    >>> learn_together(parts, Block(rows, targets))
    >>> merged = merge(parts)

    The merged forest predicts the same as a forest that was not split:

    >>> for x, y in zip(rows, targets, strict=True):
    ...     forest.learn_one(x, y)
    >>> all(merged.predict_proba_one(x) == forest.predict_proba_one(x) for x in rows)
    True
    """

    def __init__(self, forest: typing.Any, first: int, stop: int) -> None:
        check_parameter(
            0 <= first <= stop <= forest.n_models and not forest._core.is_part,
            "first, stop",
            (first, stop),
            f"an interval of the {forest.n_models} trees of a whole forest",
        )
        self._model = copy.deepcopy(forest)
        self._keep(first, stop)
        self._is_full = False

    def _keep(self, first: int, stop: int) -> None:
        """Keep the trees from `first` to before `stop`."""
        self._model._core.keep(first, stop)

    @classmethod
    def _join(cls, models: list[typing.Any]) -> typing.Any:
        """Make one forest of the models of all parts, in order of their trees."""
        whole, *others = models
        whole._core.join([model._core for model in others])
        return whole

    @classmethod
    def split(cls, model: typing.Any, n: int) -> list[typing.Self]:
        """Split a forest into n parts with almost equal numbers of trees.

        Parameters
        ----------
        model
            The forest. It is not changed.
        n
            Number of parts, at most the number of trees.

        Returns
        -------
        The parts.
        """
        n_models = model.n_models
        check_whole("n", n, 1)
        check_parameter(n <= n_models, "n", n, f"at most n_models, {n_models}")
        n = int(n)  # a numpy integer could overflow
        bounds = [i * n_models // n for i in range(n + 1)]
        return [cls(model, *pair) for pair in itertools.pairwise(bounds)]

    @classmethod
    def coordinator(cls, model: typing.Any) -> typing.Self:
        """Make a part without trees.

        Parameters
        ----------
        model
            The forest. It is not changed.

        Returns
        -------
        The part.
        """
        return cls(model, 0, 0)

    def _history(self) -> tuple[typing.Any, ...]:
        """Return values that are equal in all parts that have learned the same samples."""
        forest = self._model._core
        prior = forest.root_statistics.node(0)
        return *common_history(forest), forest.n_batches, prior

    @property
    def first(self) -> int:
        """Number of the first tree."""
        return int(self._model._core.first_tree)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return int(self._model._n_trees)

    @property
    def n_samples_seen(self) -> int:
        """Number of samples learned, without those of weight zero."""
        return int(self._model.n_samples_seen)

    # ------------------------------------------------------------------ learning

    @abc.abstractmethod
    def _learn(self, block: Block, start: int) -> tuple[int, typing.Any]:
        """Return the data of a full batch that all parts need."""

    @abc.abstractmethod
    def _grow(self, combined: typing.Any) -> None:
        """Grow the trees on the full batch."""

    def learn(self, block: Block, start: int = 0) -> tuple[int, typing.Any]:
        """Learn the samples of a block until a batch is full.

        A forest that weighs its memories has batches of a thousand samples of a block at most.

        Parameters
        ----------
        block
            Valid samples.
        start
            Number of the first sample to learn.

        Returns
        -------
        The number of the first sample that is not learned yet; and the report for the other parts
        if the batch is full, otherwise `None`. Call `grow` after a report.

        Raises
        ------
        RuntimeError
            If the last batch is full and `grow` has not been called yet.
        """
        if self._is_full:
            raise RuntimeError("the batch is full: call grow with the combined reports first")
        stop, report = self._learn(block, start)
        self._is_full = report is not None
        return stop, report

    def grow(self, combined: typing.Any) -> None:
        """Grow the trees on the full batch.

        Parameters
        ----------
        combined
            The result of `combine` of any part.

        Raises
        ------
        RuntimeError
            If the batch is not full.
        """
        if not self._is_full:
            raise RuntimeError("the batch is not full yet")
        self._grow(combined)
        self._is_full = False

    # ------------------------------------------------------------------ answers

    def votes(self, block: Block) -> Votes:
        """Return the votes of each tree on each sample, as an array [sample, tree, class].

        Parameters
        ----------
        block
            Samples; their targets are ignored.
        """
        votes: Votes = self._model._core.votes(block.batch())
        return votes

    def _combined(self, votes: Sequence[Votes]) -> npt.NDArray[np.float64]:
        """The answers of the whole forest, as an array [sample, class]; zeros: none."""
        return add_up(votes)

    def predict_labels(self, votes: Sequence[Votes]) -> list[typing.Any]:
        """Return the labels that the whole forest predicts.

        Parameters
        ----------
        votes
            The votes of all parts, in order of their trees.
        """
        labels = self._model._core.labels.labels
        return [
            labels[row.argmax()] if row.any() else self._model._core.predict_label({})
            for row in self._combined(votes)
        ]

    def predict_probabilities(self, votes: Sequence[Votes]) -> list[dict[Hashable, float]]:
        """Return the probabilities that the whole forest predicts.

        Parameters
        ----------
        votes
            The votes of all parts, in order of their trees.
        """
        labels = self._model._core.labels.labels
        return [
            shares(labels, row.tolist()) if row.any() else self._model._core.predict_proba({})
            for row in self._combined(votes)
        ]

    def predict_numbers(self, votes: Sequence[Votes]) -> list[float]:
        """Return the numbers that the whole forest predicts.

        Parameters
        ----------
        votes
            The votes of all parts, in order of their trees.
        """
        known = [~np.isnan(each) for each in votes]
        sums = add_up(
            [np.where(is_known, each, 0.0) for is_known, each in zip(known, votes, strict=True)]
        )[:, 0]
        counts = sum(is_known.sum(axis=(1, 2)) for is_known in known)
        return [
            float(total / n) if n else self._model._core.predict_number({})
            for total, n in zip(sums, counts, strict=True)
        ]


class BatchForestPart(ForestPart):
    """Some of the trees of a forest that learns in batches."""

    @abc.abstractmethod
    def _report(self) -> typing.Any:
        """What the other parts need to know about a full batch."""

    def _learn(self, block: Block, start: int) -> tuple[int, typing.Any]:
        forest = self._model._core
        reader = forest.reader(block.batch(forest.regression), True, start)
        while reader.row < reader.n:
            if forest.go_on(reader):
                return reader.row, self._report()
        return len(block), None


class StreamForestPart(BatchForestPart):
    """Some of the trees of a stream decision forest, which swaps the worst trees of all."""

    def _report(self) -> Losses:
        losses: Losses = self._model._core.tree_losses()
        return losses

    def combine(self, reports: Sequence[Losses]) -> Losses:
        """Return the losses of all trees.

        Parameters
        ----------
        reports
            The losses of the trees of each part, in order of the trees.
        """
        return np.concatenate(reports)

    def _grow(self, combined: Losses) -> None:
        self._model._grow(combined)


class ForgetfulForestPart(BatchForestPart):
    """Some of the trees of a forgetful forest, which discards trees when its predictions worsen."""

    @classmethod
    def _join(cls, models: list[typing.Any]) -> typing.Any:
        answers = answers_of(models[0], [model._core.votes_so_far() for model in models])
        whole = super()._join(models)
        whole._core.set_answers(answers)
        return whole

    def _report(self) -> tuple[Losses, Votes]:
        return self._model._core.tree_losses(), self._model._core.votes_so_far()

    def combine(self, reports: Sequence[tuple[Losses, Votes]]) -> tuple[Losses, Losses]:
        """Return the losses of all trees, and the predictions of the whole forest for the batch.

        Parameters
        ----------
        reports
            The losses and votes of the trees of each part, in order of the trees.
        """
        losses, votes = zip(*reports, strict=True)
        return np.concatenate(losses), answers_of(self._model, votes)

    def _grow(self, combined: tuple[Losses, Losses]) -> None:
        losses, answers = combined
        self._model._core.set_answers(answers)
        self._model._grow(losses)


def answers_of(forest: typing.Any, votes: Sequence[Votes]) -> Losses:
    """Predictions of a whole forgetful forest, from the votes of all parts on its batch."""
    sums = add_up(votes)
    if forest._core.regression:
        return sums[:, 0] / forest.n_models
    return sums.argmax(axis=1).astype(float)


def add_up(votes: Sequence[Votes]) -> npt.NDArray[np.float64]:
    """Sum the votes over the trees, in the same order as one forest; return [sample, class]."""
    trees = np.concatenate(votes, axis=1)
    sums = np.zeros((trees.shape[0], trees.shape[2]))
    for tree in range(trees.shape[1]):
        sums += trees[:, tree]
    return sums


def shares(labels: list[Hashable], votes: list[float]) -> dict[Hashable, float]:
    """Return the share of each label in the votes."""
    # Added up without compensation, as in the core; the builtin `sum` compensates.
    total = functools.reduce(operator.add, votes, 0.0)
    return {label: vote / total for label, vote in zip(labels, votes, strict=True)}


def merge_forests(parts: Sequence[ForestPart]) -> typing.Any:
    """Make one forest of its parts. The parts are not changed."""
    parts = sorted((part for part in parts if part.n_trees), key=lambda part: part.first)
    check_are_one(parts)
    return parts[0]._join([copy.deepcopy(part._model) for part in parts])


def check_are_one(parts: Sequence[ForestPart]) -> None:
    """Raise a ValueError unless the parts make up one forest."""
    if not parts:
        raise ValueError("there are no parts with trees to merge")
    whole, n_trees = parts[0]._model, 0
    for part in parts:
        name = f"the part that begins with tree {part.first}"
        if part._is_full:
            raise ValueError(f"{name} has a full batch: call its method grow first")
        if part.first > n_trees:
            raise ValueError(f"tree {n_trees} is missing")
        if part.first < n_trees:
            raise ValueError(f"tree {part.first} is in two parts")
        n_trees += part.n_trees
        other = part._model
        if type(other) is not type(whole) or other._get_params() != whole._get_params():
            raise ValueError(f"{name} belongs to another forest")
        if part._history() != parts[0]._history():
            raise ValueError(
                f"{name} has learned other samples: {part.n_samples_seen} instead of "
                f"{parts[0].n_samples_seen}"
            )
    if n_trees != whole.n_models:
        raise ValueError(f"tree {n_trees} is missing")


def common_history(forest: typing.Any) -> tuple[typing.Any, ...]:
    """Return values of any forest that are equal in parts that have learned the same samples."""
    return forest.n_seen, forest.seed, forest.schema.names, forest.labels.labels
