"""What the parts of a forest with several memories tell each other: see `memories.pxd`."""

import numpy as np

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..batch cimport Batch, Reader
from .memories cimport MemoryForest

from ..state import require


def votes_of(MemoryForest forest, Batch batch):
    """The votes of each tree and of naive Bayes on each row, as an array [row, tree, class]."""
    cdef Py_ssize_t row
    cdef double[:, :, ::1] votes
    cdef Reader reader = forest.reader(batch)
    with forest.using():
        reader.link(forest.schema, forest.labels)
        votes = np.zeros((len(batch), len(forest.trees) + 1, max(1, forest.n_values())))
        for row in range(votes.shape[0]):
            reader.row = row
            reader.read()
            forest.vote(&votes[row, 0, 0])
        return votes.base


def learn_and_vote(MemoryForest forest, Reader reader, Py_ssize_t n):
    """Let a part learn the next n rows of a batch; return (votes, targets, widths).

    Of each sample that is learned there are the votes on it before, as an array [sample, tree,
    class], its target, and the number of values in an answer to it.
    """
    cdef Py_ssize_t tree, most = 2, n_learned = 0, n_trees = len(forest.trees) + 1
    cdef Py_ssize_t stop = min(reader.n, reader.row + max(<Py_ssize_t>0, n))
    cdef int64_t n_before
    cdef int width
    cdef double[:, :, ::1] votes
    cdef double[::1] targets = np.empty(stop - reader.row)
    cdef int[::1] widths = np.empty(stop - reader.row, dtype=np.intc)
    with forest.using():
        require(forest.is_part, "MemoryForest: only a part tells its votes on what it learns")
        if not forest.regression:
            most = max(1, len(forest.labels.labels) + len(reader.batch.targets.values))
        votes = np.zeros((stop - reader.row, n_trees, most))
        while reader.row < stop:
            n_before = forest.buffer.n_seen
            forest.read_rows(reader, reader.row + 1)
            if forest.buffer.n_seen == n_before:
                continue                    # its weight is 0
            width = <int>min(forest.n_values(), votes.shape[2])
            for tree in range(n_trees):
                memcpy(&votes[n_learned, tree, 0], forest.latest_votes + tree * width,
                       width * sizeof(double))
            targets[n_learned], widths[n_learned] = forest.latest_target, width
            n_learned += 1
        width = max(1, forest.n_values())   # the last ones are the widest
        return (np.ascontiguousarray(votes.base[:n_learned, :, :width]), targets.base[:n_learned],
                widths.base[:n_learned])


cdef int read_answers(MemoryForest forest, const double[:, :, ::1] answers, Py_ssize_t at,
                      int width) except -1:
    """Take over the answers of all members to a sample, and combine them."""
    cdef Py_ssize_t i, c, n = forest.n_trees if forest.regression else len(forest.groups)
    require(answers.shape[1] == n + (not forest.regression) and width <= answers.shape[2]
            and (width == 2 if forest.regression else width <= forest.n_values()),
            "MemoryForest: these answers are of another forest")
    forest.n_row = -1
    forest.reserve_answers(<int>len(forest.labels.labels))
    for c in range(width):
        for i in range(n):
            forest.answers[i * width + c] = answers[at, i, c]
        if not forest.regression:
            forest.pool.naive_answer(width)[c] = answers[at, n, c]
    forest.combine(width)
    return 0


def combined(MemoryForest forest, const double[:, :, ::1] answers):
    """The answers of the whole forest, as an array [row, class], or [row, mean and variance].

    Takes the answers [row, member, class] of all groups and of naive Bayes, or [row, tree, value]
    of all trees of a regression.
    """
    cdef Py_ssize_t row, c, width
    cdef double[:, ::1] found
    with forest.using():
        width = forest.n_values()
        found = np.zeros((answers.shape[0], width))
        for row in range(answers.shape[0]):
            read_answers(forest, answers, row, <int>width)
            if forest.regression:
                found[row, 0] = forest.mixture.mean
                found[row, 1] = forest.mixture.spread()
                continue
            for c in range(width):
                found[row, c] = forest.pool.pooled[c]
        return found.base


def weigh_answers(MemoryForest forest, const double[:, :, ::1] answers,
                  const double[::1] targets, const int[::1] widths):
    """Learn the weights from the answers [sample, member, class] to samples learned before.

    Of each sample there are its target, and the number of values in an answer to it then.
    """
    cdef Py_ssize_t i
    with forest.using():
        require(answers.shape[0] == targets.shape[0] == widths.shape[0],
                "MemoryForest: there are not as many answers as targets")
        for i in range(targets.shape[0]):
            require(forest.regression or 0.0 <= targets[i] < widths[i],
                    "MemoryForest: a target has no answer")
            read_answers(forest, answers, i, widths[i])
            forest.learn_weights(targets[i], widths[i])
        forest.n_row = -1
