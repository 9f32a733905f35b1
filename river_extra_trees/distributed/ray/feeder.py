"""The side of keyed models that reads a partition of the stream and sends its samples."""

from __future__ import annotations

import collections
import operator
import time
import typing
from collections.abc import Callable, Hashable, Sequence

import numpy as np
import numpy.typing as npt

from ..._estimator.frames import Sample
from ...keyed import Key, KeyedBlock
from ...keyed.answers import frame_of_probabilities, series_of_answers
from ...keyed.keys import plain_key
from ..blocks import check_sample
from ..parcels import GroupOf, Parcel, range_of, sorted_by_group, worker_of
from .group_worker import Greeting, Stale, actor_named
from .workers import connected

__all__ = ["Feeder", "FeederSettings"]

IN_FLIGHT = 4  # messages that may be on their way to a worker
ATTEMPTS = 4  # at what is on its way, of which workers may die
PATIENCE = 120.0  # seconds in which workers have to answer that move or begin anew

Numbers = npt.NDArray[np.int64]


class FeederSettings(typing.NamedTuple):
    """What all feeders of keyed models have in common.

    Attributes
    ----------
    run
        Name of the keyed models, which begins the names of the workers.
    model
        The model that is cloned for each key.
    n_groups
        Number of key groups.
    block_size
        Number of samples in a message to a worker, at most.
    checkpoint_every
        Number of samples after which the workers commit.
    is_stored
        Whether there is a folder.
    """

    run: str
    model: typing.Any
    n_groups: int
    block_size: int
    checkpoint_every: int
    is_stored: bool


Entry = tuple[int, Key, Sample, typing.Any, float]  # number, key, features, target, weight


class LostError(Exception):
    """A worker has died, or began anew, or owns other groups."""


class Whole:
    """A block of samples for all workers.

    Parameters
    ----------
    parcel
        The samples, sorted by group.
    order
        The row that each of them had in the caller's block.
    is_asked
        Whether the caller waits for predictions.
    """

    def __init__(self, parcel: Parcel, order: npt.NDArray[np.intp], is_asked: bool) -> None:
        self.parcel, self.order, self.is_asked = parcel, order, is_asked
        self.end = int(parcel.numbers.max()) + 1
        self.answers = np.full(len(parcel) if is_asked else 0, None, dtype=object)

    def note(self, groups: range, answers: list[typing.Any]) -> None:
        """Note the answers of the worker that has these groups.

        One that is missing replaces none: it may be that of a sample which was learned and answered
        before, and repeated when the worker died.
        """
        rows = self.order[self.parcel.rows_of(groups)]
        found = np.fromiter(answers, object, len(answers))
        is_known = np.array([answer is not None for answer in answers], dtype=bool)
        self.answers[rows[is_known]] = found[is_known]


class Link:
    """What a feeder knows of a worker.

    Parameters
    ----------
    partition
        The feeder's partition.
    actor
        The worker.
    groups
        Its key groups.
    greeting
        What it has said.
    """

    def __init__(
        self, partition: Hashable, actor: typing.Any, groups: range, greeting: Greeting
    ) -> None:
        self.partition, self.actor, self.groups = partition, actor, groups
        self.session, self.committed = greeting.session, greeting.committed
        self._n_sent = 0  # messages of the session that change something
        # References to results, with what they are results of: a block, or a position to commit
        self.in_flight: collections.deque[tuple[typing.Any, Whole | int]] = collections.deque()
        self.gathered: list[Entry] = []
        self.gathered_keys: set[Key] = set()

    def change(self, method: str, *arguments: typing.Any) -> typing.Any:
        """Let the worker call a method that changes its groups; return the result's reference."""
        self._n_sent += 1
        head = self.partition, self.session, self._n_sent
        return self.actor.change.remote(*head, method, *arguments)

    def ask(self, method: str, *arguments: typing.Any) -> typing.Any:
        """Let the worker call a method that changes nothing; return the result's reference."""
        return self.actor.ask.remote(self.partition, self.session, method, *arguments)

    def gather(self, entry: Entry) -> None:
        """Put a sample aside, to be sent with others."""
        self.gathered.append(entry)
        self.gathered_keys.add(entry[1])

    def take_gathered(self) -> list[Entry]:
        """What is gathered, which is now to be sent."""
        gathered, self.gathered, self.gathered_keys = self.gathered, [], set()
        return gathered


class Feeder:
    """A partition of a stream, whose samples it sends to the workers of keyed models.

    Make it with `DistributedKeyedModels.feeder`, in any process that is connected to the same Ray,
    or make it in one process and pickle it for another one. A stream may have any number of
    partitions with a feeder each; a key should belong to one partition, because the order of
    samples of different feeders is open.

    A feeder numbers its samples. Read the partition from `position` on. Samples that the workers
    have not yet committed are kept here, and are sent again when a worker has died; those that have
    been learned are skipped, so that each counts once.

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
        self._group_of = GroupOf(settings.n_groups)
        self._links: list[Link] = []
        self._kept: collections.deque[Whole] = collections.deque()  # sent, but not committed
        self._next = 0  # number of the next sample
        self._n_since = 0  # samples since the last commit was ordered
        self._n_failures = 0  # since the last message that was answered

    def __reduce__(self) -> typing.Any:
        if self._links:
            raise TypeError(
                "this feeder is at work and cannot be copied or pickled: make another one for the "
                "partition, which begins at the last commit"
            )
        return type(self), (self._settings, self.partition)

    # ------------------------------------------------------------------ meeting the workers

    def _begin(self) -> None:
        if not self._links:
            self._links = self._meet()
            self._next = min(link.committed for link in self._links)

    def _meet(self) -> list[Link]:
        """Greet all workers, until they agree on their number."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._greet_all()
            except (LostError, ValueError) as error:  # ValueError: Ray knows no such actor
                if not self._settings.is_stored:
                    raise RuntimeError(
                        "a worker died, and there is no folder for checkpoints to restart it from"
                    ) from error
                if time.monotonic() > deadline:
                    raise RuntimeError(
                        f"no answer from the workers for {PATIENCE:.0f} s"
                    ) from error
                time.sleep(0.05)

    def _greet_all(self) -> list[Link]:
        run, n_groups = self._settings.run, self._settings.n_groups
        first = actor_named(run, 0)
        sessions = [link.session for link in self._links]
        (greeting,) = results([first.greet.remote(self.partition, *(sessions[:1] or [b""]))])
        n_workers = greeting.n_workers
        actors = [first, *(actor_named(run, number) for number in range(1, n_workers))]
        known = [greeting.session, *sessions[1:], *[b""] * n_workers]
        greetings = results(
            [
                actor.greet.remote(self.partition, session)
                for actor, session in zip(actors, known, strict=False)
            ]
        )
        if any(greeting.n_workers != n_workers for greeting in greetings):
            raise LostError
        ranges = [range_of(number, n_workers, n_groups) for number in range(n_workers)]
        return [Link(self.partition, *each) for each in zip(actors, ranges, greetings, strict=True)]

    def _recover(self) -> None:
        """Meet the workers again; send what those whose session is new have not committed."""
        self._n_failures += 1
        if self._n_failures > ATTEMPTS:
            raise RuntimeError(f"workers died {ATTEMPTS} times in a row")
        before = {link.session: link for link in self._links}
        gathered = [entry for link in self._links for entry in link.take_gathered()]
        self._links = [before.get(link.session, link) for link in self._meet()]
        for link in self._links:
            if link.session not in before:
                for whole in self._kept:
                    self._send_to(link, whole)
        self._n_since = self._settings.checkpoint_every  # an order to commit may be lost
        for entry in sorted(gathered, key=operator.itemgetter(0)):
            self._link_of(entry[1]).gather(entry)

    def _link_of(self, key: Key) -> Link:
        """The worker of a key."""
        return self._links[
            worker_of(self._group_of[key], len(self._links), self._settings.n_groups)
        ]

    # ------------------------------------------------------------------ messages

    def _send(self, block: KeyedBlock, numbers: Numbers, is_asked: bool = False) -> Whole:
        """Send each worker its samples; then wait where too many messages are on their way.

        Everything is sent before the first wait, because waiting may raise.
        """
        parcel, order = sorted_by_group(block, numbers, self._group_of, self._settings.n_groups)
        whole = Whole(parcel, order, is_asked)
        if self._settings.is_stored:
            self._kept.append(whole)
        for link in self._links:
            self._send_to(link, whole)
        self._drain(IN_FLIGHT)
        return whole

    def _send_to(self, link: Link, whole: Whole) -> None:
        """Send a worker its part of a block, unless it is empty or committed."""
        part = whole.parcel.part(link.groups)
        if len(part) and whole.end > link.committed:
            link.in_flight.append((link.change("learn", part, whole.is_asked), whole))

    def _drain(self, n: int) -> None:
        """Wait until at most n messages are on their way to each worker."""
        while True:  # the workers may be others after each wait
            link = next((link for link in self._links if len(link.in_flight) > n), None)
            if link is None:
                return
            self._wait_for_oldest(link)

    def _wait_for_oldest(self, link: Link) -> None:
        reference, what = link.in_flight[0]
        try:
            (answers,) = results([reference])
        except LostError:
            self._recover()
            return
        link.in_flight.popleft()
        self._n_failures = 0
        if isinstance(what, Whole):
            if answers is not None:
                what.note(link.groups, answers)
            return
        link.committed = max(link.committed, what)
        committed = min(link.committed for link in self._links)
        while self._kept and self._kept[0].end <= committed:
            self._kept.popleft()

    def _order_commit(self) -> None:
        """Let all workers commit what this feeder has sent them."""
        self._n_since = 0
        self._send_gathered()
        for link in self._links:
            link.in_flight.append((link.change("commit", self._next), self._next))

    def _count(self, n: int) -> None:
        """Order a commit if it is due; then count the next samples.

        So a commit comes after the answers to what it covers, where these are waited for.
        """
        if self._n_since >= self._settings.checkpoint_every:
            self._order_commit()
        self._n_since += n

    def _answered(self, send: Callable[[], list[typing.Any]]) -> list[typing.Any]:
        """The results of messages that change nothing, which are sent again if need be."""
        while True:
            try:
                found = results(send())
            except LostError:
                self._recover()
            else:
                self._n_failures = 0
                return found

    # ------------------------------------------------------------------ learning

    @property
    def position(self) -> int:
        """Number of the next sample to send: the one from which to read the partition."""
        self._begin()
        return self._next

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
            If the key has another type, or the sample is not a mapping.
        """
        self._begin()
        key = plain_key(key)
        check_sample(x)
        link = self._link_of(key)
        self._count(1)
        link.gather((self._next, key, dict(x.items()), y, w))
        self._next += 1
        if len(link.gathered) >= self._settings.block_size:
            self._send_gathered(link)

    def _send_gathered(self, *links: Link) -> None:
        """Send what is gathered for some workers; for all, if none is named."""
        for link in links or list(self._links):
            gathered = link.take_gathered()
            if gathered:
                numbers, keys, *rest = zip(*gathered, strict=True)
                block = KeyedBlock.from_samples(keys, list(zip(*rest, strict=True)))
                self._send(block, np.array(numbers, dtype=np.int64))

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
            If a key is not a string, bytes or a whole number, or the lengths differ. Nothing of the
            frame is learned then.
        """
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
        wholes = self._learn(keys, X, y, w, numbers, is_asked=True)
        self._drain(0)
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
        self._begin()
        block = KeyedBlock.from_frame(self._settings.model, keys, X, y, w)
        given = self._numbered(numbers, len(block))
        self._send_gathered()
        size = self._settings.block_size * len(self._links)
        wholes = []
        for start in range(0, len(block), size):
            rows = np.arange(start, min(start + size, len(block)))
            self._count(len(rows))
            part = block if len(rows) == len(block) else block.take(rows)
            self._next = int(given[rows[-1]]) + 1
            wholes.append(self._send(part, given[rows], is_asked))
        return wholes

    def _numbered(self, numbers: Sequence[int] | None, n: int) -> Numbers:
        """The numbers of the next n samples."""
        if numbers is None:
            return np.arange(self._next, self._next + n)
        given = np.asarray(numbers, dtype=np.int64)
        if len(given) != n:
            raise ValueError(f"X has {n} rows, and there are {len(given)} numbers")
        if n and (given[0] < self._next or (given[1:] <= given[:-1]).any()):
            raise ValueError(
                f"the numbers of samples must ascend from the position, which is {self._next}: "
                f"read partition {self.partition!r} from there on"
            )
        return given

    # ------------------------------------------------------------------ answers

    def predict_one(self, key: Key, x: Sample) -> typing.Any:
        """Predict the target of a sample: `None` for an unknown key.

        What this feeder has sent or gathered for the key is learned before.

        Parameters
        ----------
        key
            Whose sample it is.
        x
            Features.
        """
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
        answer: dict[Hashable, float] = self._ask_key(key, "predict_proba_one", x)
        return answer

    def _ask_key(self, key: Key, method: str, *samples: Sample) -> typing.Any:
        """Ask the models of the group of a key, when the samples of the key have been learned."""
        self._begin()
        key = plain_key(key)
        for x in samples:
            check_sample(x)
        self._send_gathered_of(key)

        def send() -> list[typing.Any]:
            question = self._group_of[key], method, key, *samples
            return [self._link_of(key).ask("ask_one", *question)]

        return self._answered(send)[0]

    def _send_gathered_of(self, key: Key) -> None:
        """Send what is gathered for the worker of a key, if there is a sample of the key."""
        link = self._link_of(key)
        if key in link.gathered_keys:
            self._send_gathered(link)

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
        return series_of_answers(self._ask_many(keys, X, shares=False), X)

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
        return frame_of_probabilities(self._ask_many(keys, X, shares=True), X)

    def _ask_many(self, keys: typing.Any, X: typing.Any, shares: bool) -> list[typing.Any]:
        self._begin()
        block = KeyedBlock.from_frame(self._settings.model, keys, X)
        self._send_gathered()
        numbers = np.arange(len(block))
        parcel, order = sorted_by_group(block, numbers, self._group_of, self._settings.n_groups)

        def send() -> list[typing.Any]:
            parts = [(link, parcel.part(link.groups)) for link in self._links]
            return [link.ask("predict", part, shares) for link, part in parts if len(part)]

        answers = np.empty(len(block), dtype=object)
        said = [answer for part in self._answered(send) for answer in part]
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
        return self._ask_key(key, "model_of")

    def forget(self, key: Key) -> bool:
        """Drop the model of a key, at once; return whether there was one.

        Parameters
        ----------
        key
            The key. Its next sample begins a new model.
        """
        self._begin()
        key = plain_key(key)
        self._send_gathered_of(key)

        def send() -> list[typing.Any]:
            return [self._link_of(key).change("forget", self._group_of[key], key)]

        return bool(self._answered(send)[0])

    # ------------------------------------------------------------------ the whole

    def wait(self) -> None:
        """Send what is gathered, and wait until the workers have learned everything."""
        self._begin()
        self._send_gathered()
        self._drain(0)

    def save(self) -> None:
        """Let the workers commit everything that this feeder was given, and wait for them."""
        self._begin()
        while any(link.committed < self._next for link in self._links):
            self._order_commit()
            self._drain(0)


def results(references: list[typing.Any]) -> list[typing.Any]:
    """Wait for the results of messages.

    Raises
    ------
    LostError
        If a worker has died, or began anew.
    Exception
        What a worker has raised.
    """
    ray = connected()
    try:
        found: list[typing.Any] = ray.get(references)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError) as error:
        raise LostError from error
    if any(isinstance(each, Stale) for each in found):
        raise LostError
    return found
