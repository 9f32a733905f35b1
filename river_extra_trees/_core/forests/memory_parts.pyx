"""What the parts of a forest with several memories tell each other: see `memories.pxd`."""

import numpy as np

from .memories cimport MemoryForest

from ..state import require


def votes_of(MemoryForest forest, rows):
    """The votes of each tree and of naive Bayes on each row, as an array [row, tree, class]."""
    cdef Py_ssize_t row, width
    cdef double[:, :, ::1] votes
    with forest.using():
        width = forest.n_values()
        votes = np.zeros((len(rows), len(forest.trees) + 1, max(1, width)))
        for row in range(votes.shape[0]):
            forest.schema.encode(rows[row])
            forest.vote(&votes[row, 0, 0])
        return votes.base


def votes_on_latest(MemoryForest forest):
    """(votes, target) of a part on the sample that it learned last, before it learned it."""
    cdef Py_ssize_t i
    cdef double[::1] votes
    with forest.using():
        if forest.latest_votes == NULL:
            raise RuntimeError("this is not a part that has learned a sample")
        votes = np.empty((len(forest.trees) + 1) * forest.n_values())
        for i in range(votes.shape[0]):
            votes[i] = forest.latest_votes[i]
        return votes.base.reshape(len(forest.trees) + 1, forest.n_values()), forest.latest_target


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
