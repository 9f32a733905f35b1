"""Forests in parts, for more than one process; whatever engine carries the messages.

Each part holds some trees of a forest under their numbers in the whole, and sees every sample. As
random numbers depend on nothing but the seed, the number of the tree and the batch, the parts stay
bit for bit what they would be in one process, if they tell each other once per batch how their
trees did: a forest swaps, or discards, the worst trees of all.

    for each block of samples:
        while there are samples left in it:
            each part:  stop, report = part.learn(block, start)     up to the end of the batch
            one place:  combined = part.combine(reports)            if there are reports
            each part:  part.grow(combined)

`learn_together` is that loop in one process.
"""

from __future__ import annotations

import abc
import copy
import itertools
import typing
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from .._estimator.parameters import (check_parameter, check_whole)
from .._estimator.inspection import Sample, TreeLearner
from .blocks import Block

__all__ = ["ForestPart", "Part", "Splits", "SplitsIntoParts", "learn_together", "merge"]

Ballots = npt.NDArray[np.float64]  # [row, tree, class]
Votes = npt.NDArray[np.float64]  # [row, class]
NOTHING = Block([])


class Part(abc.ABC):
    """What one of several processes holds of an ensemble."""

    n_told = 0
    """Number of samples that `go_on` has learned, those of weight zero counted."""
    _model: typing.Any  # the learner
    _block = NOTHING  # that `go_on` is to learn the rest of

    @property
    @abc.abstractmethod
    def n_samples_seen(self) -> int:
        """Number of samples learned, those of weight zero not counted."""

    def validate(
        self, x: Sample, y: typing.Any, w: float = 1.0, coming: set[Hashable] | None = None
    ) -> None:
        """Raise what learning this sample would raise.

        Parameters
        ----------
        x
            Features.
        y
            The target.
        w
            Weight of the sample.
        coming
            Labels of samples that are to be learned before; that of this sample is added.

        Raises
        ------
        ValueError, TypeError
            As `learn_one` of the learner does.
        """
        self._model._check_next(x, y, w, set() if coming is None else coming)

    @abc.abstractmethod
    def learn(self, block: Block, start: int = 0) -> tuple[int, typing.Any]:
        """Learn samples of a block; say how far, and what the other parts need to know."""

    @abc.abstractmethod
    def combine(self, reports: Sequence[typing.Any]) -> typing.Any:
        """Make of the reports of all parts what `grow` wants to know."""

    @abc.abstractmethod
    def grow(self, combined: typing.Any) -> None:
        """Finish a batch."""

    @abc.abstractmethod
    def ballots(self, block: Block) -> Ballots:
        """What this part says of each sample."""

    @abc.abstractmethod
    def predict_labels(self, ballots: Sequence[Ballots]) -> list[typing.Any]:
        """The labels that the whole predicts, from the ballots of all parts."""

    @abc.abstractmethod
    def predict_probabilities(self, ballots: Sequence[Ballots]) -> list[dict[Hashable, float]]:
        """The probabilities that the whole predicts, from the ballots of all parts."""

    @abc.abstractmethod
    def predict_numbers(self, ballots: Sequence[Ballots]) -> list[float]:
        """The numbers that the whole predicts, from the ballots of all parts."""

    def copy(self) -> typing.Self:
        """The part itself, of which an engine makes a copy as it sends it to another process."""
        return self

    def go_on(
        self, combined: typing.Any, block: Block | None, start: int = 0
    ) -> tuple[int, typing.Any]:
        """Grow on the last batch if that is still to be done, then learn: two calls in one message.

        Parameters
        ----------
        combined
            What `grow` wants to know, or `None`.
        block
            Samples, all of them valid; `None` for the block of the call before, so that each block
            travels once.
        start
            Number of the first sample to learn.

        Returns
        -------
        What `learn` returns.
        """
        if combined is not None:
            self.grow(combined)
        block = self._block if block is None else block
        stop, report = self.learn(block, start)
        self.n_told += stop - start
        self._block = block if stop < len(block) else NOTHING
        return stop, report


class Splits(TreeLearner):
    """A learner that several processes can share."""

    @abc.abstractmethod
    def split(self, n: int) -> Sequence[Part]:
        """What each of n processes is to hold."""

    @abc.abstractmethod
    def _front(self) -> Part:
        """A small part for the process that asks the others."""


class SplitsIntoParts(Splits):
    """A forest that can be split into parts."""

    n_models: int

    @abc.abstractmethod
    def _report(self) -> typing.Any:
        """What the other parts need to know of a batch that is full."""

    @abc.abstractmethod
    def _combine(self, reports: Sequence[typing.Any]) -> typing.Any:
        """What all parts need to know, from the reports of all of them in order."""

    @abc.abstractmethod
    def _grow_part(self, combined: typing.Any) -> None:
        """Let the trees of this part grow on the batch."""

    def _keep(self, first: int, stop: int) -> None:
        """Become the part with the trees from `first` to before `stop`."""
        self._core.keep(first, stop)

    def _join(self, others: Sequence[typing.Self]) -> None:
        """Become the whole forest, of which this is the first part."""
        self._core.join([model._core for model in others])

    def split(self, n: int) -> list[ForestPart]:
        """Split the forest into parts, for as many processes.

        The forest itself stays as it is. `river_extra_trees.distributed.parts.merge` makes one of the parts.

        Parameters
        ----------
        n
            Number of parts, at most that of the trees.

        Raises
        ------
        ValueError
            If there are less trees than parts.
        """
        check_whole("n", n, 1)
        check_parameter(n <= self.n_models, "n", n, f"at most n_models, {self.n_models}")
        n = int(n)  # a number of numpy would wrap around
        bounds = [i * self.n_models // n for i in range(n + 1)]
        return [ForestPart(self, *pair) for pair in itertools.pairwise(bounds)]

    def _front(self) -> ForestPart:
        return ForestPart(self, 0, 0)


class ForestPart(Part):
    """Some of the trees of a forest.

    Parameters
    ----------
    forest
        The whole forest, which stays as it is.
    first
        Number of the first tree of the part.
    stop
        Number of the first tree after it. A part without trees is of use, too: it knows which
        samples are valid, which labels there are, and how to count the votes of the others.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees.distributed.blocks import Block
    >>> from river_extra_trees.distributed.parts import learn_together, merge

    >>> rows, targets = zip(*datasets.Phishing(), strict=True)
    >>> forest = ret.StreamDecisionForestClassifier(n_models=5, seed=42)
    >>> parts = forest.split(2)
    >>> [part.n_trees for part in parts]
    [2, 3]
    >>> learn_together(parts, Block(rows, targets))
    >>> merged = merge(parts)

    The merged forest is what the forest would be:

    >>> for x, y in zip(rows, targets, strict=True):
    ...     forest.learn_one(x, y)
    >>> all(merged.predict_proba_one(x) == forest.predict_proba_one(x) for x in rows)
    True
    """

    def __init__(self, forest: SplitsIntoParts, first: int, stop: int) -> None:
        check_parameter(
            0 <= first <= stop <= forest.n_models and not forest._core.is_part,
            "first, stop",
            (first, stop),
            f"an interval of the {forest.n_models} trees of a whole forest",
        )
        self._model = copy.deepcopy(forest)
        self._model._keep(first, stop)
        self._is_full = False

    @property
    def first(self) -> int:
        """Number of the first tree."""
        return int(self._model._core.first_tree)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self._model._n_trees

    @property
    def n_samples_seen(self) -> int:
        """Number of samples learned, those of weight zero not counted."""
        return self._model.n_samples_seen

    # ------------------------------------------------------------------ learning

    def learn(self, block: Block, start: int = 0) -> tuple[int, typing.Any]:
        """Learn the samples of a block until the batch is full.

        Parameters
        ----------
        block
            Samples, all of them valid.
        start
            Number of the first sample to learn.

        Returns
        -------
        The number of the first sample that is yet to be learned; and what the other parts need to
        know of the batch if it is full, else `None`. If it is full, `grow` comes next.

        Raises
        ------
        RuntimeError
            If the last batch has yet to be grown.
        """
        if self._is_full:
            raise RuntimeError("the batch is full: call grow with the combined reports first")
        forest = self._model._core
        for number, (x, y, w) in enumerate(block.samples(start), start + 1):
            if forest.learn(x, y, w):
                self._is_full = True
                return number, self._model._report()
        return len(block), None

    def combine(self, reports: Sequence[typing.Any]) -> typing.Any:
        """Make of the reports of all parts, in order of their trees, what `grow` wants to know.

        Parameters
        ----------
        reports
            What `learn` of each part reported.
        """
        return self._model._combine(reports)

    def grow(self, combined: typing.Any) -> None:
        """Let the trees grow on the batch that is full.

        Parameters
        ----------
        combined
            What `combine` returned, of this or any other part.

        Raises
        ------
        RuntimeError
            If the batch is not full.
        """
        if not self._is_full:
            raise RuntimeError("the batch is not full yet")
        self._model._grow_part(combined)
        self._is_full = False

    # ------------------------------------------------------------------ answers

    def ballots(self, block: Block) -> Ballots:
        """What each tree says of each sample, as an array [sample, tree, class].

        Parameters
        ----------
        block
            Samples; their targets are not looked at.
        """
        ballots: Ballots = self._model._core.ballots(list(block.rows()))
        return ballots

    def predict_labels(self, ballots: Sequence[Ballots]) -> list[typing.Any]:
        """The labels that a whole forest predicts.

        Parameters
        ----------
        ballots
            Those of all parts, in order of their trees.
        """
        labels = self._model._core.labels.labels
        return [
            labels[row.argmax()] if row.any() else self._model._core.predict_label({})
            for row in count_votes(np.concatenate(ballots, axis=1))
        ]

    def predict_probabilities(self, ballots: Sequence[Ballots]) -> list[dict[Hashable, float]]:
        """The probabilities that a whole forest predicts.

        Parameters
        ----------
        ballots
            Those of all parts, in order of their trees.
        """
        labels = self._model._core.labels.labels
        return [
            shares(labels, row.tolist()) if row.any() else self._model._core.predict_proba({})
            for row in count_votes(np.concatenate(ballots, axis=1))
        ]

    def predict_numbers(self, ballots: Sequence[Ballots]) -> list[float]:
        """The numbers that a whole forest predicts.

        Parameters
        ----------
        ballots
            Those of all parts, in order of their trees.
        """
        said = np.concatenate(ballots, axis=1)
        known = ~np.isnan(said)
        sums = count_votes(np.where(known, said, 0.0))[:, 0]
        return [
            float(total / n) if n else self._model._core.predict_number({})
            for total, n in zip(sums, known.sum(axis=(1, 2)), strict=True)
        ]


def count_votes(ballots: Ballots) -> Votes:
    """The sum over the trees, added up in their order as a forest in one process does."""
    votes = np.zeros((ballots.shape[0], ballots.shape[2]))
    for tree in range(ballots.shape[1]):
        votes += ballots[:, tree]
    return votes


def shares(labels: list[Hashable], votes: list[float]) -> dict[Hashable, float]:
    """The share of each label in the votes."""
    total = sum(votes)
    return {label: vote / total for label, vote in zip(labels, votes, strict=True)}


def learn_together(parts: Sequence[ForestPart], block: Block) -> None:
    """Let the parts of a forest learn a block of samples, in this process.

    Parameters
    ----------
    parts
        All parts, in order of their trees.
    block
        Samples, all of them valid.
    """
    start = 0
    while start < len(block):
        stops, reports = zip(*(part.learn(block, start) for part in parts), strict=True)
        start = stops[0]
        if reports[0] is not None:
            combined = parts[0].combine(reports)
            for part in parts:
                part.grow(combined)


def merge(parts: Sequence[ForestPart]) -> typing.Any:
    """Make one forest of its parts, which stay as they are.

    It answers and goes on bit for bit as if it had never been split.

    Parameters
    ----------
    parts
        All parts of a forest, in any order.

    Raises
    ------
    ValueError
        If they are not all parts of one forest, or have not learned the same samples.
    TypeError
        If they are no parts of forests.
    """
    if not all(isinstance(part, ForestPart) for part in parts):
        raise TypeError("only parts of forests are merged; clouds stay apart")
    parts = sorted((part for part in parts if part.n_trees), key=lambda part: part.first)
    check_are_one(parts)
    first, *others = (copy.deepcopy(part._model) for part in parts)
    first._join(others)
    return first


def check_are_one(parts: Sequence[ForestPart]) -> None:
    """Raise a ValueError that says what keeps the parts from being one forest."""
    if not parts:
        raise ValueError("there are no parts with trees to be merged")
    whole, n_trees = parts[0]._model, 0
    for part in parts:
        if part._is_full:
            raise ValueError(f"the part from tree {part.first} on has yet to grow on its batch")
        if part.first != n_trees:
            raise ValueError(f"tree {min(n_trees, part.first)} is missing, or there twice")
        n_trees += part.n_trees
        other = part._model
        if type(other) is not type(whole) or other._get_params() != whole._get_params():
            raise ValueError(f"the part from tree {part.first} on is of another forest")
        if history(other) != history(whole):
            raise ValueError(
                f"the part from tree {part.first} on has learned other samples: "
                f"{part.n_samples_seen} in place of {parts[0].n_samples_seen}"
            )
    if n_trees != whole.n_models:
        raise ValueError(f"tree {n_trees} is missing")


def history(model: SplitsIntoParts) -> tuple[typing.Any, ...]:
    """What parts of one forest that have learned the same samples have in common."""
    forest = model._core
    names, prior = forest.schema.names, forest.prior.node(0)
    return forest.n_seen, forest.n_batches, forest.seed, names, forest.labels.labels, prior
