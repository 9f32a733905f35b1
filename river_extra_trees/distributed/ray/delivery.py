"""The delivery of samples to the workers of keyed models, whatever dies on the way."""

from __future__ import annotations

import collections
import operator
import time
import typing
from collections.abc import Callable, Hashable

import numpy as np
import numpy.typing as npt

from ..._estimator.frames import Sample
from ...keyed import Key, KeyedBlock
from ..parcels import GroupOf, range_of, sorted_by_group, worker_of
from .group_worker import actor_named
from .links import Link, LostError, Whole, results

__all__ = ["PATIENCE", "Delivery", "FeederSettings", "Numbers"]

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
    is_pooled
        Whether the answers for a key depend on the samples of its whole group.
    """

    run: str
    model: typing.Any
    n_groups: int
    block_size: int
    checkpoint_every: int
    is_stored: bool
    is_pooled: bool


class Delivery:
    """What brings the samples of a partition to the workers, so that each counts once.

    Blocks are kept until all workers have committed them, and are sent again to a worker that has
    died.

    Parameters
    ----------
    settings
        What all feeders have in common.
    partition
        Name of the partition.
    """

    def __init__(self, settings: FeederSettings, partition: Hashable) -> None:
        self.partition = partition
        self.links: list[Link] = []
        self.position = 0  # number of the next sample
        self.group_of = GroupOf(settings.n_groups)
        self._settings = settings
        self._kept: collections.deque[Whole] = collections.deque()  # sent, but not committed
        self._n_since = 0  # samples since the last commit was ordered
        self._n_failures = 0  # since the last message that was answered

    # ------------------------------------------------------------------ meeting the workers

    def begin(self) -> Delivery:
        """Meet the workers, unless they have been met; return this delivery."""
        if not self.links:
            self.links = self._meet()
            self.position = min(link.committed for link in self.links)
        return self

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
        sessions = [link.session for link in self.links]
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
        before = {link.session: link for link in self.links}
        gathered = [entry for link in self.links for entry in link.take_gathered()]
        self.links = [before.get(link.session, link) for link in self._meet()]
        for link in self.links:
            if link.session not in before:
                for whole in self._kept:
                    self._send_to(link, whole)
        self._n_since = self._settings.checkpoint_every  # an order to commit may be lost
        for entry in sorted(gathered, key=operator.itemgetter(0)):
            self.link_of(entry[1]).gather(entry)

    def link_of(self, key: Key) -> Link:
        """The worker of a key."""
        return self.links[worker_of(self.group_of[key], len(self.links), self._settings.n_groups)]

    # ------------------------------------------------------------------ messages

    def send(self, block: KeyedBlock, numbers: Numbers, is_asked: bool = False) -> Whole:
        """Send each worker its samples; then wait where too many messages are on their way.

        Everything is sent before the first wait, because waiting may raise.
        """
        parcel, order = sorted_by_group(block, numbers, self.group_of, self._settings.n_groups)
        whole = Whole(parcel, order, is_asked)
        if self._settings.is_stored:
            self._kept.append(whole)
        for link in self.links:
            self._send_to(link, whole)
        self.drain(IN_FLIGHT)
        return whole

    def _send_to(self, link: Link, whole: Whole) -> None:
        """Send a worker its part of a block, unless it is empty or committed."""
        part = whole.parcel.part(link.groups)
        if len(part) and whole.end > link.committed:
            link.in_flight.append((link.change("learn", part, whole.is_asked), whole))

    def drain(self, n: int) -> None:
        """Wait until at most n messages are on their way to each worker."""
        while True:  # the workers may be others after each wait
            link = next((link for link in self.links if len(link.in_flight) > n), None)
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
        committed = min(link.committed for link in self.links)
        while self._kept and self._kept[0].end <= committed:
            self._kept.popleft()

    def _order_commit(self) -> None:
        """Let all workers commit what they were sent."""
        self._n_since = 0
        self.send_gathered()
        for link in self.links:
            link.in_flight.append((link.change("commit", self.position), self.position))

    def count(self, n: int) -> None:
        """Order a commit if it is due; then count the next samples.

        So a commit comes after the answers to what it covers, where these are waited for.
        """
        if self._n_since >= self._settings.checkpoint_every:
            self._order_commit()
        self._n_since += n

    def answered(self, send: Callable[[], list[typing.Any]]) -> list[typing.Any]:
        """The results of messages that change nothing, which are sent again if need be."""
        while True:
            try:
                found = results(send())
            except LostError:
                self._recover()
            else:
                self._n_failures = 0
                return found

    def commit(self) -> None:
        """Let the workers commit all samples up to the position, and wait for them."""
        while any(link.committed < self.position for link in self.links):
            self._order_commit()
            self.drain(0)

    # ------------------------------------------------------------------ gathered samples

    def gather(self, key: Key, x: Sample, y: typing.Any, w: float) -> None:
        """Put the next sample aside; send those of its worker when they fill a block."""
        link = self.link_of(key)
        self.count(1)
        link.gather((self.position, key, x, y, w))
        self.position += 1
        if len(link.gathered) >= self._settings.block_size:
            self.send_gathered(link)

    def send_gathered(self, *links: Link) -> None:
        """Send what is gathered for some workers; for all, if none is named."""
        for link in links or list(self.links):
            gathered = link.take_gathered()
            if gathered:
                numbers, keys, *rest = zip(*gathered, strict=True)
                block = KeyedBlock.from_samples(keys, list(zip(*rest, strict=True)))
                self.send(block, np.array(numbers, dtype=np.int64))

    def send_gathered_of(self, key: Key) -> None:
        """Send what is gathered for the worker of a key, if answers for the key depend on it."""
        link = self.link_of(key)
        if key in link.gathered_keys or self._settings.is_pooled:
            self.send_gathered(link)
