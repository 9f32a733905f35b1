"""One model per key, for the keys of a range of hashes; whatever engine carries the messages."""

from __future__ import annotations

import copy
import hashlib
import numbers
import typing
from collections.abc import Hashable, Iterable, Sequence

from .blocks import Block

__all__ = ["Counts", "Shard", "description", "shard_of"]


def shard_of(key: Hashable, n: int) -> int:
    """The shard that a key belongs to, the same in every process and for ever.

    The hashes of the keys, numbers from 0 to 2**64 - 1, are cut into n ranges of one length.

    Parameters
    ----------
    key
        A string, bytes or a whole number.
    n
        Number of shards.

    Raises
    ------
    TypeError
        If the key is of another type.

    Examples
    --------
    >>> from river_extra_trees.distributed.shard import shard_of
    >>> [shard_of(key, 4) for key in ("sensor 1", "sensor 2", "sensor 3", 17)]
    [0, 2, 2, 3]
    """
    if isinstance(key, str):
        name = b"s" + key.encode()
    elif isinstance(key, bytes):
        name = b"b" + key
    elif isinstance(key, numbers.Integral) and not isinstance(key, bool):
        name = b"i%d" % int(key)
    else:
        raise TypeError(
            f"a key must be a string, bytes or a whole number, not {type(key).__name__!r}"
        )
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest()) * n >> 64


def description(model: typing.Any) -> str:
    """The type and the parameters of a model, in the same words in every process.

    Parameters
    ----------
    model
        Any estimator of river.

    Examples
    --------
    >>> from river import preprocessing
    >>> from river_extra_trees.distributed.shard import description
    >>> description(preprocessing.MinMaxScaler() | preprocessing.Normalizer(order=1))
    'Pipeline {MinMaxScaler: {window_size: None}, Normalizer: {order: 1}}'
    """
    return described((type(model), model._get_params()))


def described(value: typing.Any) -> str:
    """A parameter in words; of what is written differently in other processes, the type."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {described(each)}" for name, each in value.items()) + "}"
    if isinstance(value, tuple | list):
        return " ".join(map(described, value))
    if isinstance(value, type):
        return value.__name__
    is_plain = value is None or isinstance(value, numbers.Number | str | bytes)
    return repr(value) if is_plain else type(value).__name__


class Counts(typing.NamedTuple):
    """How far a shard is.

    Attributes
    ----------
    n_models
        Number of keys.
    n_samples_seen
        Samples that its models have learned.
    position
        Number in the stream before which it knows all samples.
    n_refused
        Samples that a model has refused.
    refusal
        The error of the latest of those.
    """

    n_models: int
    n_samples_seen: int
    position: int
    n_refused: int
    refusal: str


class Shard:
    """The models of some keys, each made when its key is learned first.

    Every sample has its number in the whole stream, of which this shard is told its own part. What
    lies before its position was learned and is passed over, so that a stream can be told again from
    any earlier place. A sample that its model refuses, with whatever error, is passed over, too,
    and counted.

    Parameters
    ----------
    model
        What the models of all keys begin as: any classifier or regressor of river.

    Examples
    --------
    >>> import river_extra_trees as ret
    >>> from river_extra_trees.distributed.blocks import Block
    >>> from river_extra_trees.distributed.shard import Shard
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
        self.position = 0  # in the stream: all samples before it are known
        self.n_refused = 0
        self.refusal = ""  # the latest

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
            The number in the stream before which this shard now knows all samples.
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
    def n_told(self) -> int:
        """Samples that this shard was told, those that a model refused counted."""
        return self.n_samples_seen + self.n_refused

    def description(self) -> str:
        """The type and the parameters of what all models begin as."""
        return description(self.model)

    def predict(self, keys: Sequence[Hashable], block: Block) -> list[typing.Any]:
        """Predict the target of each sample, `None` for a key that is new.

        Parameters
        ----------
        keys
            The key of each sample.
        block
            The samples; their targets are not looked at.
        """
        return [
            None if model is None else model.predict_one(x) for model, x in self._pairs(keys, block)
        ]

    def predict_proba(self, keys: Sequence[Hashable], block: Block) -> list[dict[Hashable, float]]:
        """Predict the probabilities of the labels of each sample, none for a key that is new.

        Parameters
        ----------
        keys
            The key of each sample.
        block
            The samples; their targets are not looked at.
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
        """How far this shard is."""
        return Counts(
            len(self.models), self.n_samples_seen, self.position, self.n_refused, self.refusal
        )
