"""The growth of the trees of a forgetful forest on one batch. See the header."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from ..cart.splitter cimport Splitter
from ..memory cimport free, product, zeroed
from ..rng cimport FORGET, rng_for
from ..trees cimport Trees
from .forest cimport Growth
from .forgetful cimport ForgetfulForest
from .retained cimport Retained


cdef void forget(
    ForgetfulForest forest, int tree, Retained retained, int64_t k
) noexcept nogil:
    k = min(k, retained.total)
    if k <= 0:
        return
    if forest.subsets:
        retained.forget_random(
            k, rng_for(forest.seed, forest.first_tree + tree, forest.n_batches, FORGET))
    else:
        retained.forget_first(k)


cdef void add_batch(ForgetfulForest forest, int tree, Retained retained) noexcept nogil:
    """Retain the batch; with `reference`, so that its last samples will be forgotten first.

    `fresh` has its slots also when it is sorted in.
    """
    cdef int i, position
    for i in range(forest.batch_size):
        position = forest.batch_size - 1 - i if forest.reference else i
        if forest.copies(tree, position):
            retained.add(forest.window.fresh[position], forest.copies(tree, position))


cdef class ForgetfulGrowth(Growth):
    """The growth of all trees on one batch. See the header."""

    def __init__(self, ForgetfulForest forest, list splitters, sizes, depths, discarded):
        cdef size_t slots = forest.window.capacity, columns = forest.window.n_columns
        cdef int tree, size = forest.window.size
        cdef Splitter splitter
        cdef Trees trees
        self.forest, self.splitters, self.n_trees = forest, splitters, len(forest.trees)
        self.sizes, self.depths = np.array(sizes, np.int64), np.array(depths, np.int64)
        self.trees = forest.trees
        if forest.n_batches == 0 and forest.n_early:
            self.trees = [forest.new_tree() for _ in forest.trees]
        assert self.sizes.shape[0] == self.depths.shape[0] == self.n_trees
        self.created_at = list(forest.created_at)
        for tree in discarded:
            self.created_at[tree] = forest.n_batches
        self.counts = <int*>zeroed(product(len(splitters), slots), sizeof(int))
        self.gone = <uint8_t*>zeroed(slots + product(self.n_trees, columns), 1)
        self.chosen = self.gone + slots
        for tree in range(<int>self.n_trees):
            (<Retained>forest.retained[tree]).reserve(forest.batch_size)
            forest.choose(self.created_at[tree], tree, self.chosen + tree * columns)
            trees = self.trees[tree]
            trees.reserve(max(0, 2 * <Py_ssize_t>size + 1 - (trees.n_used - trees.n_free)),
                          trees.n_values)
            for splitter in splitters:
                splitter.reserve(trees.capacity, size, slots, columns, trees.n_values)

    def __dealloc__(self):
        free(self.counts)
        free(self.gone)

    cdef int grow_tree(self, int tree, int worker, Splitter splitter) except -1:
        """Let a tree retain its number of samples, those of the batch among them, and grow on them.

        Copies count as samples. A tree whose bag of the batch is empty stays as it is.
        """
        cdef ForgetfulForest forest = self.forest
        cdef Retained retained = forest.retained[tree]
        cdef Trees trees = self.trees[tree]
        cdef int* counts = self.counts + <Py_ssize_t>worker * forest.window.capacity
        cdef const uint8_t* chosen = self.chosen + <Py_ssize_t>tree * forest.window.n_columns
        cdef int i
        cdef int64_t n = 0
        for i in range(forest.batch_size):
            n += forest.copies(tree, i)
        if n == 0:
            if trees is not forest.trees[tree]:     # in place of a first tree
                forest.learn_root(trees, forest.window, NULL)
            return 0
        with nogil:
            forget(forest, tree, retained, retained.total + n - self.sizes[tree])
            add_batch(forest, tree, retained)
            memset(counts, 0, forest.window.capacity * sizeof(int))
            retained.mark(counts)
        forest.grow_anew(trees, tree, retained, splitter, <int>self.depths[tree], counts, chosen)
        trees.trim(0)
        return 0
