"""Samples sorted by the groups of their keys, as they are sent to workers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ..keyed import Key, KeyedBlock, shard_of

__all__ = ["MOST_GROUPS", "GroupOf", "Parcel", "range_of", "sorted_by_group", "worker_of"]

Numbers = npt.NDArray[np.int64]

MOST_GROUPS = 2**16  # so that numbers of groups have 16 bits
REMEMBERED = 2_000_000  # keys whose groups a feeder remembers


def range_of(worker: int, n_workers: int, n_groups: int) -> range:
    """The key groups of one of several workers: ranges of equal length, but for one.

    Parameters
    ----------
    worker
        Number of the worker.
    n_workers
        Number of workers.
    n_groups
        Number of key groups.
    """
    return range(worker * n_groups // n_workers, (worker + 1) * n_groups // n_workers)


def worker_of(group: int, n_workers: int, n_groups: int) -> int:
    """The worker of a key group, whose range `range_of` returns.

    Parameters
    ----------
    group
        Number of the group.
    n_workers
        Number of workers.
    n_groups
        Number of key groups.
    """
    return ((group + 1) * n_workers - 1) // n_groups


class GroupOf(dict[Key, int]):
    """The group of each key, computed when the key is first looked up.

    Parameters
    ----------
    n_groups
        Number of key groups.
    """

    def __init__(self, n_groups: int) -> None:
        super().__init__()
        self._n_groups = n_groups

    def __missing__(self, key: Key) -> int:
        if len(self) >= REMEMBERED:
            self.clear()
        group = self[key] = shard_of(key, self._n_groups)
        return group


class Parcel:
    """Consecutive samples of a partition in the order of their key groups.

    Within a group, the samples are in the order of the partition.

    Parameters
    ----------
    block
        The samples.
    numbers
        The number of each sample in its partition.
    groups
        The range of key groups to which the samples belong.
    starts
        For each of these groups, the row of its first sample; then the number of rows.
    """

    def __init__(
        self, block: KeyedBlock, numbers: Numbers, groups: range, starts: npt.NDArray[np.intp]
    ) -> None:
        self.block, self.numbers, self.groups, self.starts = block, numbers, groups, starts

    def __len__(self) -> int:
        return len(self.numbers)

    def rows_of(self, groups: range) -> slice:
        """The rows of a part of the groups.

        Parameters
        ----------
        groups
            A range within `self.groups`.
        """
        first = groups.start - self.groups.start
        return slice(int(self.starts[first]), int(self.starts[first + len(groups)]))

    def part(self, groups: range) -> Parcel:
        """The samples of a part of the groups.

        Parameters
        ----------
        groups
            A range within `self.groups`.
        """
        rows = self.rows_of(groups)
        first = groups.start - self.groups.start
        starts = self.starts[first : first + len(groups) + 1] - rows.start
        block = self.block.take(np.arange(rows.start, rows.stop))
        return Parcel(block, self.numbers[rows], groups, starts)

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Each group that has samples, with its first row and the row after its last one."""
        starts = self.starts.tolist()
        for group, start, stop in zip(self.groups, starts, starts[1:], strict=False):
            if start < stop:
                yield group, start, stop


def sorted_by_group(
    block: KeyedBlock, numbers: Numbers, group_of: GroupOf, n_groups: int
) -> tuple[Parcel, npt.NDArray[np.intp]]:
    """Sort samples by the groups of their keys; return them, and the row that each of them had.

    Parameters
    ----------
    block
        The samples.
    numbers
        The number of each sample in its partition.
    group_of
        The group of each key.
    n_groups
        Number of key groups.
    """
    groups = np.array([group_of[key] for key in block.keys], dtype=np.uint16)[block.codes]
    order = np.argsort(groups, kind="stable")  # a radix sort for numbers of 16 bits
    starts = np.searchsorted(groups[order], np.arange(n_groups + 1))
    return Parcel(block.take(order), numbers[order], range(n_groups), starts), order
