"""Independent particle filters of dynamic trees, averaged by their evidence."""

from __future__ import annotations

import copy
import math
import typing
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt
from scipy import special

from .._estimator.parameters import check_whole
from .blocks import Block
from .parts import Part, Votes

__all__ = ["FilterPart"]

# Forgetting factor of the evidence per sample, as in Raftery, Karny and Ettler (2010).
FORGETTING_FACTOR = 0.99
SEED_STEP = 0x9E3779B97F4A7C15  # between the seeds of two filters


class FilterPart(Part):
    """One of several filters.

    Parameters
    ----------
    model
        Dynamic trees to start from, which stay as they are.
    number
        Number of the part. Filter 0 continues as the model would.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees.distributed import Block, learn_together, split

    >>> model = ret.DynamicTreeRegressor(n_particles=20, seed=42)
    >>> rows, targets = zip(*datasets.TrumpApproval().take(200), strict=True)
    >>> filters = split(model, 3)
    >>> learn_together(filters, Block(rows, targets))
    >>> votes = [part.votes(Block(rows[-1:])) for part in filters]
    >>> round(filters[0].predict_numbers(votes)[0], 1), targets[-1]
    (38.7, 38.79293)
    """

    def __init__(self, model: typing.Any, number: int) -> None:
        self._model = copy.deepcopy(model)
        state = self._model._core.state()
        seed = (state["seed"] + number * SEED_STEP) % 2**64
        self._model._core = type(model._core).restored({**state, "seed": seed})
        self.recent_evidence = 0.0
        self._n_before = 0  # of a coordinator: samples that only the model has learned

    @classmethod
    def split(cls, model: typing.Any, n: int) -> list[typing.Self]:
        """Make n independent filters of a model.

        Parameters
        ----------
        model
            Dynamic trees, which stay as they are.
        n
            Number of filters.
        """
        check_whole("n", n, 1)
        return [cls(model, number) for number in range(n)]

    @classmethod
    def coordinator(cls, model: typing.Any) -> typing.Self:
        """Make a part with one particle, which validates samples and knows the labels.

        Parameters
        ----------
        model
            Dynamic trees, which stay as they are.
        """
        labels = model._core.labels.labels
        small = model.clone({"n_particles": 1})
        for label in labels:
            small.learn_one({}, label)
        part = cls(small, 0)
        part._n_before = model.n_samples_seen - len(labels)
        return part

    @property
    def n_samples_seen(self) -> int:
        """Number of samples learned, without those of weight zero."""
        return int(self._model.n_samples_seen) + self._n_before

    def learn(self, block: Block, start: int = 0) -> tuple[int, None]:
        """Learn the samples of a block.

        Parameters
        ----------
        block
            Valid samples.
        start
            Number of the first sample to learn.

        Returns
        -------
        The length of the block, and `None`: filters do not report to each other.
        """
        core = self._model._core
        reader = core.reader(block.batch(core.regression), True, start)
        while reader.row < reader.n:
            seen = self._model.n_samples_seen
            self._model._rejuvenate_after(core.go_on(reader, self._model.discard, 1))
            if self._model.n_samples_seen > seen and math.isfinite(self._model.log_predictive):
                self.recent_evidence = (
                    FORGETTING_FACTOR * self.recent_evidence + self._model.log_predictive
                )
        return len(block), None

    def votes(self, block: Block) -> Votes:
        """Predict each sample with this part; return an array [sample, 0, value].

        The values are the logarithm of the weight of the part, and then its mean or the
        probability of each label.

        Parameters
        ----------
        block
            Samples; their targets are ignored.
        """
        regression = self._model._core.regression
        reader = self._model._answered(block.batch(), not regression)
        answers = reader.numbers[:, np.newaxis] if regression else reader.shares
        evidence = np.full((len(block), 1), self.recent_evidence)
        return np.concatenate([evidence, answers], axis=1)[:, np.newaxis, :]

    def predict_labels(self, votes: Sequence[Votes]) -> list[typing.Any]:
        """Return the labels with the highest average probability.

        Parameters
        ----------
        votes
            The votes of all filters, in order.
        """
        return [
            max(each, key=each.__getitem__) if each else None
            for each in self.predict_probabilities(votes)
        ]

    def predict_probabilities(self, votes: Sequence[Votes]) -> list[dict[Hashable, float]]:
        """Return the average probabilities.

        Parameters
        ----------
        votes
            The votes of all filters, in order.
        """
        labels = self._model._core.labels.labels
        return [dict(zip(labels, row, strict=True)) for row in average(votes).tolist()]

    def predict_numbers(self, votes: Sequence[Votes]) -> list[float]:
        """Return the average means.

        Parameters
        ----------
        votes
            The votes of all filters, in order.
        """
        return average(votes)[:, 0].tolist()


def average(votes: Sequence[Votes]) -> npt.NDArray[np.float64]:
    """Average the predictions of the filters, weighted by their evidence."""
    filters = np.concatenate(votes, axis=1)
    weights = special.softmax(filters[:, :, 0], axis=1)
    mean: npt.NDArray[np.float64] = (weights[:, :, np.newaxis] * filters[:, :, 1:]).sum(axis=1)
    return mean
