"""The side of keyed models that reads a partition of the stream and sends its samples."""

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
    """A partition of a stream, whose samples it sends to the workers of keyed models.

    Make it with `DistributedKeyedModels.feeder`, in any process that is connected to the same Ray,
    or make it in one process and pickle it for another one. A stream may have any number of
    partitions with a feeder each; a key should belong to one partition, because the order of
    samples of different feeders is open.

    A feeder numbers its samples. Read the partition from `position` on. Samples that the workers
    have not yet committed are kept here, and are sent again when a worker has died; those that have
    been learned are skipped, so that each counts once.

    A call that comes while another one runs, from a second thread say, raises `RuntimeError` and
    changes nothing. Give each thread a feeder and a partition of its own, or hold a lock around
    every call.

    Parameters
    ----------
    settings
        What all feeders have in common.
    partition
        Name of the partition: a string or a whole number.
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
        """Number of the next sample to send: the one from which to read the partition."""
        with self._turn():
            return self._delivery.begin().position

    def learn_one(self, key: Key, x: Sample, y: typing.Any, w: float = 1.0) -> None:
        """Learn a sample. They are gathered, and sent to a worker when it has `block_size`.

        Parameters
        ----------
        key
            Whose sample it is: a string, bytes or a whole number.
        x
            Features, as for the model.
        y
            The target.
        w
            Weight of the sample.

        Raises
        ------
        TypeError
            If the key has another type, the sample is not a mapping, or a value cannot be pickled.
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

        A message costs about a millisecond of processor time, so a frame should have a thousand
        rows or more per worker.

        Parameters
        ----------
        keys
            A series of keys, as long as the frame.
        X
            A data frame of any kind that narwhals knows (pandas, polars, pyarrow, ...), or an array
            of two dimensions.
        y
            A series of targets.
        w
            One weight for all rows, or a series of weights.
        numbers
            Ascending numbers of the samples in the partition, such as the offsets of Kafka;
            `None` numbers them one after the other.

        Raises
        ------
        TypeError, ValueError
            If a key is not a string, bytes or a whole number, the lengths differ, or a value cannot
            be pickled. Nothing of the frame is learned then.
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
            A series of keys, as long as the frame.
        X
            A data frame, as for `learn_many`.
        y
            A series of targets.
        w
            One weight for all rows, or a series of weights.
        numbers
            Numbers of the samples in the partition, as for `learn_many`.

        Returns
        -------
        A series of the same kind, in the order of the rows. The answer is missing for the first
        sample of a key, for one that its model refuses, and for one that was learned before, if the
        partition is repeated.

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
        """The numbers of the next n samples."""
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
        """Predict the target of a sample: `None` for an unknown key.

        The workers first learn all samples that this feeder has sent or buffered for the key.

        Parameters
        ----------
        key
            Whose sample it is.
        x
            Features.
        """
        with self._turn():
            return self._ask_key(key, "predict_one", x)

    def predict_proba_one(self, key: Key, x: Sample) -> dict[Hashable, float]:
        """Predict the probabilities of the labels: an empty dict for an unknown key.

        Parameters
        ----------
        key
            Whose sample it is.
        x
            Features.
        """
        with self._turn():
            answer: dict[Hashable, float] = self._ask_key(key, "predict_proba_one", x)
        return answer

    def _ask_key(self, key: Key, method: str, *samples: Sample) -> typing.Any:
        """Ask the models of the group of a key, when the samples of the key have been learned."""
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
            A series of keys, as long as the frame.
        X
            A data frame, as for `learn_many`.

        Returns
        -------
        A series of the same kind, in the order of the rows; the answers for unknown keys are
        missing. Answers for which that kind has no type stay Python objects; pyarrow, which has no
        series of objects, raises a TypeError.
        """
        with self._turn():
            answers = self._ask_many(keys, X, shares=False)
        return series_of_answers(answers, X)

    def predict_proba_many(self, keys: typing.Any, X: typing.Any) -> typing.Any:
        """Predict the class probabilities of the rows of a data frame.

        Parameters
        ----------
        keys
            A series of keys, as long as the frame.
        X
            A data frame, as for `learn_many`.

        Returns
        -------
        A data frame of the same kind with a column for each label that a model of these rows has
        learned, in the order of the rows in which they first appear. A probability is NaN where the
        row's model does not know the label.
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
        """A copy of the model of a key, or `None` for an unknown key.

        Parameters
        ----------
        key
            The key.
        """
        with self._turn():
            return self._ask_key(key, "model_of")

    def forget(self, key: Key) -> bool:
        """Drop the model of a key, at once; return whether there was one.

        Parameters
        ----------
        key
            The key. Its next sample begins a new model.
        """
        with self._turn():
            delivery = self._delivery.begin()
            key = plain_key(key)
            # Asked before: a worker that dies after it has forgotten the key is told to once more.
            was_known = bool(self._ask_key(key, "__contains__"))

            def send() -> list[typing.Any]:
                return [delivery.link_of(key).change("forget", delivery.group_of[key], key)]

            delivery.answered(send)
            return was_known

    # ------------------------------------------------------------------ the whole

    def wait(self) -> None:
        """Send what is gathered, and wait until the workers have learned everything."""
        with self._turn():
            delivery = self._delivery.begin()
            delivery.send_gathered()
            delivery.drain(0)

    def save(self) -> None:
        """Let the workers commit everything that this feeder was given, and wait for them."""
        with self._turn():
            self._delivery.begin().commit()
