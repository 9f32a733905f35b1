"""The first trees of a forest: what it answers by until its first batch is full.

The papers say nothing of the samples before the first batch is full. Instead of one empty leaf,
every tree is then what grows on the samples gathered so far: after the first 10 of them, 20, 30, 45
and so on. The first batch replaces these trees; all later ones are those of the papers.
"""

from libc.stdint cimport uint8_t

from ..cart.splitter cimport Splitter
from ..memory cimport free, product, zeroed
from ..rng cimport EARLY, rng_for
from ..trees cimport WEIGHT, Trees
from ..window cimport Window
from .forest cimport Forest, Growth

cdef enum:
    FIRST = 10              # samples on which the trees grow first, and least step from there


cdef int next_size(int n) noexcept nogil:
    """Number of samples on which trees grow that have grown on n last; n is 0 before."""
    return n + max(FIRST, n // 2)


cdef int grow_early(Forest forest, list splitters, int max_features, int max_depth,
                    int max_nodes) except -1:
    """Grow all trees anew on the samples of the first batch that are there."""
    cdef EarlyGrowth growth = EarlyGrowth(forest, splitters, max_features, max_depth, max_nodes)
    growth.run()
    forest.trees = growth.trees
    forest.n_early = forest.n_gathered()
    return 0


cdef class EarlyGrowth(Growth):
    """The growth of all trees on the first samples: making it may fail, `run` cannot."""

    cdef Forest forest
    cdef list trees         # that are to replace those of the forest
    cdef Window window      # the samples, in the slots of their positions in the batch
    cdef uint8_t* chosen    # per tree and column: whether the tree looks at it
    cdef int max_features
    cdef int max_depth
    cdef int max_nodes

    def __init__(self, Forest forest, list splitters, int max_features, int max_depth,
                 int max_nodes):
        cdef int tree
        cdef Trees trees
        cdef Splitter splitter
        self.forest, self.splitters = forest, splitters
        self.max_features, self.max_depth, self.max_nodes = max_features, max_depth, max_nodes
        self.trees = [forest.new_tree() for _ in forest.trees]
        self.n_trees = len(self.trees)
        self.window = forest.early_window()
        self.chosen = <uint8_t*>zeroed(product(self.n_trees, self.window.n_columns) + 1, 1)
        for tree in range(<int>self.n_trees):
            forest.mark_columns(tree, self.chosen + <Py_ssize_t>tree * self.window.n_columns)
            trees = self.trees[tree]
            trees.reserve(2 * <Py_ssize_t>self.window.size, trees.n_values)
            for splitter in splitters:
                splitter.reserve(trees.capacity, self.window.size, self.window.capacity,
                                 self.window.n_columns, trees.n_values)

    def __dealloc__(self):
        free(self.chosen)

    cdef int grow_tree(self, int tree, int worker, Splitter splitter) except -1:
        cdef Forest forest = self.forest
        cdef Trees trees = self.trees[tree]
        cdef const int* copies = forest.copies_of(tree)
        cdef int max_depth, root = trees.roots[0]
        forest.learn_root(trees, self.window, copies)
        if trees.row(root)[WEIGHT] <= 0.0:      # no copy of any of the samples: as without growth
            forest.learn_root(trees, self.window, NULL)
            return 0
        max_depth, splitter.max_depth = splitter.max_depth, self.max_depth
        splitter.grow(trees, root, self.window, forest.schema, copies, self.max_features, 1.0,
                      rng_for(forest.seed, forest.first_tree + tree, self.window.size, EARLY),
                      self.chosen + <Py_ssize_t>tree * self.window.n_columns)
        splitter.max_depth = max_depth
        trees.shrink_to(self.max_nodes)
        trees.trim(0)
        return 0


cdef Window copied(Window window):
    """A window with the same samples, all sorted, which lie in its slots in order of arrival."""
    cdef Window copy = Window(window.size)
    cdef int i
    copy.reserve(window.size, window.n_columns)
    copy.extend(window.n_columns)
    for i in range(window.size):
        copy.copy(window, window.slot_at(i))
    copy.sort()
    return copy
