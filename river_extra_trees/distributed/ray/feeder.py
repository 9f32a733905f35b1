"""Feeders of distributed keyed models: they send the samples of a partition of the stream."""

from __future__ import annotations

import typing
from collections.abc import Hashable, Sequence

import numpy as np

from ..._estimator.frames import Sample
from ...keyed import Key, KeyedBlock
from ...keyed.answers import frame_of_probabilities, series_of_answers
from ...keyed.keys import plain_key
from ...keyed.turn import Turn
from ..blocks import check_sample
from ..parcels import sorted_by_group
from ..travel import check_block_travels, check_sample_travels
from .delivery import Delivery, FeederSettings, Numbers
from .links import Whole

__all__ = ["Feeder"]


class Feeder:
    """Sends the samples of one partition of a stream to the workers of keyed models.

    `DistributedKeyedModels.feeder` makes it. It can be pickled for another process that is
    connected to the same Ray. A stream may have any number of partitions, each with one feeder. All
    samples of a key should be in one partition, because the order of samples from different feeders
    is undefined.

    A feeder numbers its samples. Read the partition from `position` on. The feeder keeps samples
    until the workers have committed them, and sends them again when a worker has died. Workers skip
    samples that they have learned already, so that each is learned once.

    A call that comes while another one runs, from a second thread say, raises `RuntimeError` and
    changes nothing. Give each thread a feeder and a partition of its own, or hold a lock around
    every call.

    Parameters
    ----------
    settings
        Settings shared by all feeders.
    partition
        Name of the partition: a string or an integer.
    """

    def __init__(self, settings: FeederSettings, partition: Hashable) -> None:
        self.partition = partition
        self._settings = settings
        self._delivery = Delivery(settings, partition)
        self._turn = Turn("the feeder is")

    def __reduce__(self) -> typing.Any:
        if self._delivery.links:
            raise TypeError(
                "this feeder is at work and cannot be copied or pickled: make another one for the "
                "partition, which begins at the last commit"
            )
        return type(self), (self._settings, self.partition)

    # ------------------------------------------------------------------ learning

    @property
    def position(self) -> int:
        """Number of the next sample to send. Read the partition from here on."""
        with self._turn():
            return self._delivery.begin().position

    def learn_one(self, key: Key, x: Sample, y: typing.Any, w: float = 1.0) -> None:
        """Learn a sample. The samples of each worker are sent in blocks of `block_size`.

        Parameters
        ----------
        key
            Key of the sample: a string, bytes or an integer.
        x
            Features, as for the model.
        y
            The target.
        w
            Weight of the sample.

        Raises
        ------
        TypeError
            If the key has another type, if x is not a mapping, or if a value cannot be pickled.
        """
        with self._turn():
            delivery = self._delivery.begin()
            key = plain_key(key)
            check_sample(x)
            row = dict(x.items())
            check_sample_travels(row, y, w)
            delivery.gather(key, row, y, w)

    def learn_many(
        self,
        keys: typing.Any,
        X: typing.Any,
        y: typing.Any,
        w: typing.Any = 1.0,
        numbers: Sequence[int] | None = None,
    ) -> None:
        """Learn the rows of a data frame.

        A message takes about a millisecond of processor time, so that frames should have at least a
        thousand rows per worker.

        Parameters
        ----------
        keys
            A series or another sequence with the key of each row.
        X
            A data frame of any library that narwhals supports (pandas, polars, pyarrow, ...), or a
            two-dimensional array.
        y
            A series or another sequence with the target of each row.
        w
            One weight for all rows, or a series or another sequence with the weight of each row.
        numbers
            Ascending numbers of the samples in the partition, such as Kafka offsets; `None` numbers
            them consecutively.

        Raises
        ------
        TypeError, ValueError
            If a key is not a string, bytes or an integer, if the lengths differ, or if a value
            cannot be pickled. Then nothing is learned.
        """
        with self._turn():
            self._learn(keys, X, y, w, numbers, is_asked=False)

    def predict_learn_many(
        self,
        keys: typing.Any,
        X: typing.Any,
        y: typing.Any,
        w: typing.Any = 1.0,
        numbers: Sequence[int] | None = None,
    ) -> typing.Any:
        """Predict each row of a data frame, then learn it: test-then-train in one call.

        Parameters
        ----------
        keys
            A series or another sequence with the key of each row.
        X
            A data frame, as for `learn_many`.
        y
            A series or another sequence with the target of each row.
        w
            One weight for all rows, or a series or another sequence with the weight of each row.
        numbers
            Numbers of the samples in the partition, as for `learn_many`.

        Returns
        -------
        A series of the library of X, in the order of the rows. The prediction is missing for the
        first sample of a key, for a sample that is invalid for its model, and for a sample that has
        been learned already, if the partition is replayed.

        Raises
        ------
        TypeError, ValueError
            As `learn_many`.
        """
        with self._turn():
            wholes = self._learn(keys, X, y, w, numbers, is_asked=True)
            self._delivery.drain(0)
        answers: list[typing.Any] = []
        for whole in wholes:
            whole.is_asked = False
            answers += whole.answers.tolist()
        return series_of_answers(answers, X)

    def _learn(
        self,
        keys: typing.Any,
        X: typing.Any,
        y: typing.Any,
        w: typing.Any,
        numbers: Sequence[int] | None,
        is_asked: bool,
    ) -> list[Whole]:
        """Send the rows of a frame, in blocks that keep all workers busy."""
        delivery = self._delivery.begin()
        block = KeyedBlock.from_frame(self._settings.model, keys, X, y, w)
        block.check_learnable(self._settings.model)
        check_block_travels(block)
        given = self._numbered(numbers, len(block))
        delivery.send_gathered()
        size = self._settings.block_size * len(delivery.links)
        wholes = []
        for start in range(0, len(block), size):
            rows = np.arange(start, min(start + size, len(block)))
            delivery.count(len(rows))
            part = block if len(rows) == len(block) else block.take(rows)
            wholes.append(delivery.send(part, given[rows], is_asked))
        return wholes

    def _numbered(self, numbers: Sequence[int] | None, n: int) -> Numbers:
        """Numbers of the next n samples."""
        start = self._delivery.position
        if numbers is None:
            return np.arange(start, start + n)
        given = np.asarray(numbers)
        if given.dtype.kind not in "iu" and len(given):
            raise TypeError(f"the numbers of samples must be whole numbers, not {given.dtype}")
        given = given.astype(np.int64)
        if len(given) != n:
            raise ValueError(f"X has {n} rows, and there are {len(given)} numbers")
        if n and (given[0] < start or (given[1:] <= given[:-1]).any()):
            raise ValueError(
                f"the numbers of samples must ascend from the position, which is {start}: "
                f"read partition {self.partition!r} from there on"
            )
        return given

    # ------------------------------------------------------------------ answers

    def predict_one(self, key: Key, x: Sample) -> typing.Any:
        """Predict the label or target of a sample.

        The workers first learn all earlier samples of the key from this feeder.

        Parameters
        ----------
        key
            Key of the sample.
        x
            Features.

        Returns
        -------
        The prediction; `None` for an unknown key, unless there is a pooled model.
        """
        with self._turn():
            return self._ask_key(key, "predict_one", x)

    def predict_proba_one(self, key: Key, x: Sample) -> dict[Hashable, float]:
        """Predict the probability of each label.

        Parameters
        ----------
        key
            Key of the sample.
        x
            Features.

        Returns
        -------
        Probabilities by label; empty for an unknown key, unless there is a pooled model.
        """
        with self._turn():
            answer: dict[Hashable, float] = self._ask_key(key, "predict_proba_one", x)
        return answer

    def _ask_key(self, key: Key, method: str, *samples: Sample) -> typing.Any:
        """Call a method of the models of a key's group after all samples of the key are learned."""
        delivery = self._delivery.begin()
        key = plain_key(key)
        for x in samples:
            check_sample(x)
        delivery.send_gathered_of(key)

        def send() -> list[typing.Any]:
            question = delivery.group_of[key], method, key, *samples
            return [delivery.link_of(key).ask("ask_one", *question)]

        return delivery.answered(send)[0]

    def predict_many(self, keys: typing.Any, X: typing.Any) -> typing.Any:
        """Predict the rows of a data frame.

        Parameters
        ----------
        keys
            A series or another sequence with the key of each row.
        X
            A data frame, as for `learn_many`.

        Returns
        -------
        A series of the library of X with the prediction for each row; those for unknown keys are
        missing. If no type of the library holds all predictions, the series holds Python objects;
        pyarrow has no series of objects, so that a TypeError is raised.
        """
        with self._turn():
            answers = self._ask_many(keys, X, shares=False)
        return series_of_answers(answers, X)

    def predict_proba_many(self, keys: typing.Any, X: typing.Any) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame.

        Parameters
        ----------
        keys
            A series or another sequence with the key of each row.
        X
            A data frame, as for `learn_many`.

        Returns
        -------
        A data frame of the library of X, with one column for each label that a model of these rows
        has learned, in the order of their first row. The probability of a label that the model of a
        row does not know is NaN.
        """
        with self._turn():
            answers = self._ask_many(keys, X, shares=True)
        return frame_of_probabilities(answers, X)

    def _ask_many(self, keys: typing.Any, X: typing.Any, shares: bool) -> list[typing.Any]:
        delivery = self._delivery.begin()
        block = KeyedBlock.from_frame(self._settings.model, keys, X)
        delivery.send_gathered()
        numbers = np.arange(len(block))
        parcel, order = sorted_by_group(block, numbers, delivery.group_of, self._settings.n_groups)

        def send() -> list[typing.Any]:
            parts = [(link, parcel.part(link.groups)) for link in delivery.links]
            return [link.ask("predict", part, shares) for link, part in parts if len(part)]

        answers = np.empty(len(block), dtype=object)
        said = [answer for part in delivery.answered(send) for answer in part]
        answers[order] = np.fromiter(said, object, len(said))
        return list(answers)

    # ------------------------------------------------------------------ keys

    def model_of(self, key: Key) -> typing.Any:
        """Return a copy of the model of a key.

        Parameters
        ----------
        key
            The key.

        Returns
        -------
        The copy, or `None` for an unknown key.
        """
        with self._turn():
            return self._ask_key(key, "model_of")

    def forget(self, key: Key) -> bool:
        """Drop the model of a key, and commit.

        Parameters
        ----------
        key
            The key. Its next sample starts a new model.

        Returns
        -------
        Whether there was a model.
        """
        with self._turn():
            delivery = self._delivery.begin()
            key = plain_key(key)
            # Looked up before, because the message is repeated if the worker dies after it.
            was_known = bool(self._ask_key(key, "__contains__"))

            def send() -> list[typing.Any]:
                return [delivery.link_of(key).change("forget", delivery.group_of[key], key)]

            delivery.answered(send)
            return was_known

    # ------------------------------------------------------------------ the whole

    def wait(self) -> None:
        """Send all collected samples, and wait until the workers have learned them."""
        with self._turn():
            delivery = self._delivery.begin()
            delivery.send_gathered()
            delivery.drain(0)

    def save(self) -> None:
        """Commit all samples of this feeder, and wait until all workers have done so."""
        with self._turn():
            self._delivery.begin().commit()
