"""One model per key, for the keys of a range of hashes, with any engine for the messages."""

from __future__ import annotations

import copy
import typing
from collections.abc import Hashable, Iterable, Sequence

from ..keyed.description import description
from ..keyed.keys import shard_of
from .blocks import Block

__all__ = ["Counts", "Shard", "description", "shard_of"]


class Counts(typing.NamedTuple):
    """How much a shard has learned.

    Attributes
    ----------
    n_models
        Number of keys.
    n_samples_seen
        Number of samples that its models have learned.
    position
        Number in the stream of the first sample that it may not have received yet.
    n_refused
        Number of samples that a model has refused.
    refusal
        The error of the last refused sample.
    """

    n_models: int
    n_samples_seen: int
    position: int
    n_refused: int
    refusal: str


class Shard:
    """The models of some keys, each cloned when the first sample of its key arrives.

    Samples are numbered in the whole stream, of which a shard receives only its own. It skips the
    samples before its `position`, because it has learned them, so that a stream can be repeated
    from any earlier place. A sample that its model refuses, with any error, is skipped and counted.

    Parameters
    ----------
    model
        Model to clone for each key: any classifier or regressor of river.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river_extra_trees.distributed import Block, Shard
    >>> shard = Shard(ret.StreamDecisionTreeRegressor(leaf_memory=None, seed=42))
    >>> shard.learn(["a", "b", "a"], [0, 1, 2], Block([{"x": 0.0}] * 3, [1.0, 5.0, 2.0]), 3)
    >>> shard.predict(["a", "b", "c"], Block([{"x": 0.0}] * 3))
    [1.5, 5.0, None]
    >>> shard.n_samples_seen
    3
    """

    def __init__(self, model: typing.Any) -> None:
        self.model = model
        self.models: dict[Hashable, typing.Any] = {}
        self.n_samples_seen = 0
        self.position = 0  # in the stream: all samples before it have been received
        self.n_refused = 0
        self.refusal = ""  # the error of the last refused sample

    def learn(
        self, keys: Sequence[Hashable], numbers: Sequence[int], block: Block, position: int
    ) -> None:
        """Learn samples.

        Parameters
        ----------
        keys
            The key of each sample.
        numbers
            The number of each sample in the stream, ascending.
        block
            The samples.
        position
            Number in the stream of the first sample that this shard has not received by now.
        """
        for key, number, (x, y, w) in zip(keys, numbers, block.samples(), strict=True):
            if number < self.position:
                continue
            model = self.models.get(key)
            if model is None:
                model = self.models[key] = self.model.clone()
            try:
                model.learn_one(x, y) if w == 1.0 else model.learn_one(x, y, w=w)
                self.n_samples_seen += 1
            except Exception as error:  # whatever the model raises, the other keys go on
                self.n_refused += 1
                self.refusal = f"sample {number} of {key!r}: {type(error).__name__}: {error}"
        self.position = max(self.position, position)

    @property
    def n_sent(self) -> int:
        """Number of samples received, including those that a model has refused."""
        return self.n_samples_seen + self.n_refused

    def description(self) -> str:
        """The type and the parameters of the model that is cloned for each key."""
        return description(self.model)

    def predict(self, keys: Sequence[Hashable], block: Block) -> list[typing.Any]:
        """Predict the target of each sample: `None` for an unknown key.

        Parameters
        ----------
        keys
            The key of each sample.
        block
            The samples; their targets are ignored.
        """
        return [
            None if model is None else model.predict_one(x) for model, x in self._pairs(keys, block)
        ]

    def predict_proba(self, keys: Sequence[Hashable], block: Block) -> list[dict[Hashable, float]]:
        """Predict the probabilities of the labels of each sample: an empty dict for an unknown key.

        Parameters
        ----------
        keys
            The key of each sample.
        block
            The samples; their targets are ignored.
        """
        return [
            {} if model is None else model.predict_proba_one(x)
            for model, x in self._pairs(keys, block)
        ]

    def _pairs(
        self, keys: Iterable[Hashable], block: Block
    ) -> Iterable[tuple[typing.Any, dict[Hashable, typing.Any]]]:
        return zip(map(self.models.get, keys), block.rows(), strict=True)

    def model_of(self, key: Hashable) -> typing.Any:
        """A copy of the model of a key, or `None`.

        Parameters
        ----------
        key
            The key.
        """
        return copy.deepcopy(self.models.get(key))

    def counts(self) -> Counts:
        """How much this shard has learned."""
        return Counts(
            len(self.models), self.n_samples_seen, self.position, self.n_refused, self.refusal
        )
