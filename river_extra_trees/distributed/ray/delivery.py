"""Delivery of samples to the workers of keyed models, with recovery from failures."""

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

IN_FLIGHT = 4  # largest number of pending messages to a worker
ATTEMPTS = 4  # number of restarts in a row after which a call fails: a message may kill a worker
PATIENCE = 120.0  # seconds to wait for workers that restart or move groups
NUMBER = operator.itemgetter(0)  # number of a collected sample

Numbers = npt.NDArray[np.int64]


class FeederSettings(typing.NamedTuple):
    """Settings shared by all feeders of keyed models.

    Attributes
    ----------
    run
        Name of the keyed models, and prefix of the names of the workers.
    model
        The model that is cloned for each key.
    n_groups
        Number of key groups.
    block_size
        Largest number of samples in a message to a worker.
    checkpoint_every
        Number of samples after which the workers commit.
    is_stored
        Whether there is a folder.
    is_pooled
        Whether there is a pooled model, so that predictions depend on all samples of the group.
    """

    run: str
    model: typing.Any
    n_groups: int
    block_size: int
    checkpoint_every: int
    is_stored: bool
    is_pooled: bool


class Delivery:
    """Sends the samples of a partition to the workers, which learn each of them once.

    Blocks are kept until all workers have committed them, and are sent again to a worker that has
    restarted.

    Parameters
    ----------
    settings
        Settings shared by all feeders.
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
        self._n_since = 0  # samples since the last commit was requested
        self._n_failures = 0  # failures since the last result

    # ------------------------------------------------------------------ meeting the workers

    def begin(self) -> Delivery:
        """Connect to the workers, if that has not happened yet; return this delivery."""
        if not self.links:
            links = self._meet()
            self.position = min(link.committed for link in links)
            self.links = links
        return self

    def _meet(self) -> list[Link]:
        """Connect to all workers; repeat until they agree on the number of workers."""
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
        """Connect again; send restarted workers the samples that they have not committed.

        `self.links` is replaced at the end. If an error is raised before, the next call finds the
        old links, with the samples collected for them, and recovers.
        """
        self._n_failures += 1
        if self._n_failures > ATTEMPTS:
            self._n_failures = 0  # a later call tries again
            raise RuntimeError(f"workers died {ATTEMPTS} times in a row")
        before = {link.session: link for link in self.links}
        links = [before.get(link.session, link) for link in self._meet()]
        fresh = [link for link in links if link.session not in before]
        if fresh and not self._settings.is_stored:
            raise RuntimeError(
                "a worker lost samples, and there is no folder for checkpoints to repeat them from"
            )
        lost = [link for link in self.links if link not in links]
        for entry in sorted((entry for link in lost for entry in link.gathered), key=NUMBER):
            links[self._place_of(entry[1], len(links))].gather(entry)
        for link in fresh:
            for whole in self._kept:
                self._send_to(link, whole)
        self._n_since = self._settings.checkpoint_every  # a requested commit may be lost
        self.links = links

    def link_of(self, key: Key) -> Link:
        """Return the link to the worker of a key. It is valid until the next wait."""
        return self.links[self._place_of(key, len(self.links))]

    def _place_of(self, key: Key, n_workers: int) -> int:
        return worker_of(self.group_of[key], n_workers, self._settings.n_groups)

    # ------------------------------------------------------------------ messages

    def send(self, block: KeyedBlock, numbers: Numbers, is_asked: bool = False) -> Whole:
        """Send each worker its samples; then wait if too many messages are pending.

        All messages are sent before the first wait, because a wait may raise. Collected samples
        must have been sent before, because groups skip samples with smaller numbers than the last.
        """
        whole = self._post(block, numbers, is_asked)
        self.drain(IN_FLIGHT)
        return whole

    def _post(self, block: KeyedBlock, numbers: Numbers, is_asked: bool = False) -> Whole:
        """Send each worker its samples, without waiting."""
        parcel, order = sorted_by_group(block, numbers, self.group_of, self._settings.n_groups)
        whole = Whole(parcel, order, is_asked)
        if self._settings.is_stored:
            self._kept.append(whole)
        self.position = max(self.position, whole.end)
        try:
            for link in self.links:
                self._send_to(link, whole)
        except BaseException:
            for link in self.links:
                link.give_up()  # some workers lack the block; the next message sends it again
            raise
        return whole

    def _send_to(self, link: Link, whole: Whole) -> None:
        """Send a worker its part of a block, unless it is empty or committed."""
        part = whole.parcel.part(link.groups)
        if len(part) and whole.end > link.committed:
            link.in_flight.append((link.change("learn", part, whole.is_asked), whole))

    def drain(self, n: int) -> None:
        """Wait until at most n messages are pending for each worker."""
        while True:  # each wait may replace the links
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
        except Exception:  # the worker rolled back to its last commit, e.g. on a full disk
            if self._settings.is_stored:
                link.give_up()
                self._recover()
            raise
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
        """Request a commit of everything sent from all workers."""
        self._n_since = 0
        self.send_gathered()
        for link in self.links:
            link.in_flight.append((link.change("commit", self.position), self.position))

    def count(self, n: int) -> None:
        """Request a commit if it is due; then count the next samples.

        So a commit follows the results of the samples that it covers, if the caller waits for them.
        """
        if self._n_since >= self._settings.checkpoint_every:
            self._order_commit()
        self._n_since += n

    def answered(self, send: Callable[[], list[typing.Any]]) -> list[typing.Any]:
        """Return the results of messages that change nothing; send them again after a failure."""
        while True:
            try:
                found = results(send())
            except LostError:
                self._recover()
            else:
                self._n_failures = 0
                return found

    def commit(self) -> None:
        """Commit all samples up to the position, and wait until all workers have done so."""
        while any(link.committed < self.position for link in self.links):
            self._order_commit()
            self.drain(0)

    # ------------------------------------------------------------------ gathered samples

    def gather(self, key: Key, x: Sample, y: typing.Any, w: float) -> None:
        """Collect the next sample; send the samples of its worker when they fill a block."""
        self.count(1)  # before `link_of`, because it may wait
        link = self.link_of(key)
        link.gather((self.position, key, x, y, w))
        self.position += 1
        if len(link.gathered) >= self._settings.block_size:
            self._send_gathered_for(link)

    def send_gathered(self) -> None:
        """Send all collected samples, including those that move to other workers meanwhile."""
        while True:
            link = next((link for link in self.links if link.gathered), None)
            if link is None:
                return
            self._send_gathered_for(link)

    def _send_gathered_for(self, link: Link) -> None:
        """Send the samples collected for a worker.

        They are dropped after sending and before the wait. If an interrupt comes between sending
        and dropping, they are sent twice, and the workers skip the second copy.
        """
        numbers, keys, *rest = zip(*link.gathered, strict=True)
        block = KeyedBlock.from_samples(keys, list(zip(*rest, strict=True)))
        self._post(block, np.array(numbers, dtype=np.int64))
        link.drop_gathered()
        self.drain(IN_FLIGHT)

    def send_gathered_of(self, key: Key) -> None:
        """Send the samples collected for the worker of a key if predictions depend on them."""
        link = self.link_of(key)
        if key in link.gathered_keys or (link.gathered and self._settings.is_pooled):
            self._send_gathered_for(link)
