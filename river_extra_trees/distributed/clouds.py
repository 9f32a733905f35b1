"""Clouds of dynamic trees side by side, whose answers are averaged by their evidence."""

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
from .parts import Ballots, Part, Splits

__all__ = ["CloudPart", "SplitsIntoClouds"]

FADING = 0.99  # of the evidence, per sample: the choice of Raftery, Karny and Ettler (2010)
STEP = 0x9E3779B97F4A7C15  # between the seeds of two clouds


class SplitsIntoClouds(Splits):
    """Dynamic trees, of which several processes may hold a cloud each."""

    def split(self, n: int) -> list[CloudPart]:
        """Make n clouds that go apart from here, for as many processes.

        Each has all `n_particles` and learns every sample, with random numbers of its own. The
        model itself stays as it is. Particles compete by resampling in every step, so that one
        cloud cannot be spread over processes; independent ones can, and their answers are averaged
        by evidence: each cloud weighs as much as its predictions of the last hundred samples or so
        were likely (dynamic model averaging[^1]). So more processes mean more particles, not less
        time.

        Parameters
        ----------
        n
            Number of clouds.

        References
        ----------
        [^1]: Raftery, A.E., Karny, M. and Ettler, P., 2010. Online Prediction Under Model
            Uncertainty via Dynamic Model Averaging. Technometrics, 52(1), pp. 52-66.
        """
        check_whole("n", n, 1)
        return [CloudPart(self, number) for number in range(n)]

    def _front(self) -> CloudPart:
        """A cloud of one particle: enough to know which samples are valid, and the labels."""
        labels = self._core.labels.labels
        small = self.clone({"n_particles": 1})
        for label in labels:
            small.learn_one({}, label)  # type: ignore[attr-defined]
        front = CloudPart(small, 0)
        front._n_before = self.n_samples_seen - len(labels)
        return front


class CloudPart(Part):
    """One of several clouds.

    Parameters
    ----------
    model
        The dynamic trees that all clouds begin as; they stay as they are.
    number
        Number of the cloud. The first one goes on as the model would.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river import datasets
    >>> from river_extra_trees.distributed.blocks import Block
    >>> from river_extra_trees.distributed.parts import learn_together

    >>> model = ret.DynamicTreeRegressor(n_particles=20, seed=42)
    >>> rows, targets = zip(*datasets.TrumpApproval().take(200), strict=True)
    >>> clouds = model.split(3)
    >>> learn_together(clouds, Block(rows, targets))
    >>> ballots = [cloud.ballots(Block(rows[-1:])) for cloud in clouds]
    >>> round(clouds[0].predict_numbers(ballots)[0], 1), targets[-1]
    (38.5, 38.79293)
    """

    def __init__(self, model: typing.Any, number: int) -> None:
        self._model = copy.deepcopy(model)
        state = self._model._core.state()
        seed = (state["seed"] + number * STEP) % 2**64
        self._model._core = type(model._core).restored({**state, "seed": seed})
        self.recent_evidence = 0.0
        self._n_before = 0  # samples that are counted though this cloud has not seen them

    @property
    def n_samples_seen(self) -> int:
        """Number of samples learned, those of weight zero not counted."""
        return int(self._model.n_samples_seen) + self._n_before

    def learn(self, block: Block, start: int = 0) -> tuple[int, None]:
        """Learn the samples of a block.

        Parameters
        ----------
        block
            Samples, all of them valid.
        start
            Number of the first sample to learn.

        Returns
        -------
        The length of the block, and nothing to report.
        """
        for x, y, w in block.samples(start):
            seen = self._model.n_samples_seen
            self._model.learn_one(x, y, w)
            if self._model.n_samples_seen > seen and math.isfinite(self._model.log_predictive):
                self.recent_evidence = FADING * self.recent_evidence + self._model.log_predictive
        return len(block), None

    def combine(self, reports: Sequence[typing.Any]) -> None:
        """Nothing: clouds tell each other nothing.

        Parameters
        ----------
        reports
            Not there.
        """

    def grow(self, combined: typing.Any) -> None:
        """Nothing: clouds know no batches.

        Parameters
        ----------
        combined
            Not there.
        """

    def ballots(self, block: Block) -> Ballots:
        """What the cloud says of each sample: an array [sample, 0, answer].

        The answers are the logarithm of its weight, and then its mean or the probability of each
        label.

        Parameters
        ----------
        block
            Samples; their targets are not looked at.
        """
        rows = list(block.rows())
        if hasattr(self._model, "predict_proba_one"):
            said = [list(self._model.predict_proba_one(x).values()) for x in rows]
        else:
            said = [[self._model.predict_one(x)] for x in rows]
        answers = np.array([[self.recent_evidence, *each] for each in said])
        return answers.reshape(len(rows), 1, -1)

    def predict_labels(self, ballots: Sequence[Ballots]) -> list[typing.Any]:
        """The labels of the highest average probability.

        Parameters
        ----------
        ballots
            Those of all clouds, in order.
        """
        return [
            max(each, key=each.__getitem__) if each else None
            for each in self.predict_probabilities(ballots)
        ]

    def predict_probabilities(self, ballots: Sequence[Ballots]) -> list[dict[Hashable, float]]:
        """The average probabilities.

        Parameters
        ----------
        ballots
            Those of all clouds, in order.
        """
        labels = self._model._core.labels.labels
        return [dict(zip(labels, row, strict=True)) for row in average(ballots).tolist()]

    def predict_numbers(self, ballots: Sequence[Ballots]) -> list[float]:
        """The average means.

        Parameters
        ----------
        ballots
            Those of all clouds, in order.
        """
        return average(ballots)[:, 0].tolist()


def average(ballots: Sequence[Ballots]) -> npt.NDArray[np.float64]:
    """The average of the clouds' answers, each weighed by its evidence."""
    said = np.concatenate(ballots, axis=1)
    weights = special.softmax(said[:, :, 0], axis=1)
    mean: npt.NDArray[np.float64] = (weights[:, :, np.newaxis] * said[:, :, 1:]).sum(axis=1)
    return mean
