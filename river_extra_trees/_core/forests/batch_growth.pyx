"""The growth of the trees of a forest on a batch, in any number of threads. See the header."""

from libc.stdint cimport uint8_t

from ..cart.splitter cimport Splitter
from ..guarded cimport begin_step, end_step
from ..rng cimport EARLY, rng_for
from ..team cimport Job, Team
from ..trees cimport WEIGHT, Trees
from .forest cimport Forest

cdef class BatchGrowth(Job):
    """The growth of all trees on one batch. See the header."""

    def __init__(self, Forest forest, list splitters):
        self.forest, self.splitters, self.n_trees = forest, splitters, len(forest.trees)
        self.is_first = forest.n_batches == 0 and forest.n_early > 0
        forest.make_bags()          # of a forest that was loaded with a full batch

    cdef int run(self) except -1:
        """Grow all trees. No Python code runs here, so signals are handled at the end.

        The step begins here; the caller ends it.
        """
        cdef Team team = Team(len(self.splitters))
        begin_step(self.forest)
        try:
            with nogil:
                team.run(self, self.n_trees)
        finally:
            team.dismiss()
        return 0

    cdef int do(self, long tree, int thread) except -1 nogil:
        with gil:
            self.grow_tree(<int>tree, self.splitters[thread])
        return 0

    cdef int grow_tree(self, int tree, Splitter splitter) except -1:
        raise NotImplementedError


def grow_early(Forest forest, list splitters, int max_features, int max_depth, int max_nodes):
    """Grow early trees on the samples of the first batch so far, if that is due.

    Parameters
    ----------
    forest
        The forest.
    splitters
        One per thread.
    max_features
        Number of features that a split visits; 0 for all.
    max_depth
        Maximum depth of a tree.
    max_nodes
        Maximum number of nodes of a tree.
    """
    cdef EarlyGrowth growth
    with forest.using():
        if forest.batch_is_full() and forest.n_gathered() < forest.batch_size:
            growth = EarlyGrowth(forest, splitters)
            growth.max_features, growth.max_depth = max_features, max_depth
            growth.max_nodes = max_nodes
            growth.run()
            forest.n_early = forest.n_gathered()
            end_step(forest)


cdef class EarlyGrowth(BatchGrowth):
    """The growth of early trees, which replace the trees of the forest.

    In the first batch the slot of a sample is its position in the batch.
    """

    cdef int max_features
    cdef int max_depth
    cdef int max_nodes

    cdef int grow_tree(self, int tree, Splitter splitter) except -1:
        cdef Forest forest = self.forest
        cdef Trees trees = forest.new_tree()
        cdef const int* copies = forest.copies_of(tree)
        cdef bytearray marks = bytearray(forest.window.n_columns)
        cdef uint8_t* chosen = marks
        forest.trees[tree] = splitter.trees = trees
        splitter.window, splitter.max_depth = forest.window, self.max_depth
        forest.mark_columns(tree, chosen)
        with nogil:
            forest.learn_root(trees, copies)
            if trees.row(trees.roots[0])[WEIGHT] <= 0.0:    # no copy of any of the samples
                forest.learn_root(trees, NULL)
                return 0
            splitter.grow(trees.roots[0], forest.schema, copies, self.max_features, 1.0,
                          rng_for(forest.seed, tree, forest.window.size, EARLY), chosen)
            trees.shrink_to(self.max_nodes)
            trees.trim(0)
        return 0
