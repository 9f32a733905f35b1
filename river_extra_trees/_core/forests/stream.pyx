"""Stream decision forests: batches, bootstraps and swaps (Xu, Dey, Panda, Vogelstein 2022)."""

import numpy as np

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.string cimport memset

from ..allocation cimport free, resized
from ..arrays cimport view
from ..cart.splitter cimport Splitter
from ..guarded cimport end_step
from ..learner cimport Learner
from ..lists cimport item_of, length_of
from ..rng cimport FEATURES, RENEW, SWAP, Rng, below, rng_for, uniform
from ..trees cimport HEADER, VISITED, Trees
from ..window cimport Window
from .forest cimport Forest

from ..state import put_back, require


cdef inline double loss_of(Trees trees, int leaf, double target, double weight) noexcept nogil:
    """The weighted squared error of a leaf; in a classification the weight of a wrong label."""
    cdef double error
    if trees.regression:
        error = target - trees.row(leaf)[HEADER]
        return weight * error * error
    return weight * (trees.majority(leaf) != <int>target)


cdef class StreamForest(Forest):
    """Trees that continue to grow on each batch of samples.

    The statistics of the nodes learn every sample at once; leaves are split when a batch is full.
    Each tree has its own bootstrap of a batch: a number of copies of every sample.

    Parameters
    ----------
    n_trees
        Number of trees.
    regression
        Whether targets are numbers instead of labels.
    batch_size
        Number of samples of a batch.
    published
        Whether leaves contain only the last batch that reached them, learned when it is complete.
    seed
        Seed of the streams of random numbers.
    bagging
        Draw the batch of each tree with replacement (Algorithm 2); else every sample counts once.
    fading
        Decay factor of the weights of a leaf, per sample that it learns.
    """

    cdef double* losses                 # per tree: prequential loss in this batch

    def __init__(self, int n_trees, bint regression, int batch_size, bint published, seed,
                 bint bagging, double fading):
        self.begin(n_trees, regression, batch_size, published, fading, seed)
        self.bagging = bagging
        self.reserve_losses()

    def __dealloc__(self):
        free(self.losses)

    cdef int reserve_losses(self) except -1:
        """Allocate the losses, all zero."""
        cdef size_t n = len(self.trees)
        self.losses = <double*>resized(self.losses, n + 1, sizeof(double))
        memset(self.losses, 0, n * sizeof(double))
        return 0

    # --- One sample ---------------------------------------------------------------------------

    cdef void learn_rows(self, const int* leaves, const double* targets, const double* weights,
                         const int* slots, int n, int position, int n_labels) noexcept nogil:
        """Add the losses of each tree on the rows, and let its nodes learn the rows.

        Trees without bootstraps are never replaced, so their losses are not needed. The slot of a
        sample in the window is its position in the batch.
        """
        cdef int i, leaf, tree, copies = 1
        cdef int n_trees = <int>length_of(<PyObject*>self.trees)
        cdef double batch = self.n_batches + 1
        cdef bint learns = not self.published
        cdef int* noted = self.window.leaf if n_trees == 1 else NULL
        cdef const int* bag = NULL
        cdef PyObject* trees
        for i in range(n):
            if slots[i] >= 0:
                self.root_statistics.learn(
                    self.root_statistics.roots[0], targets[i], weights[i], 0.0)
        for tree in range(n_trees):
            trees = item_of(<PyObject*>self.trees, tree)
            bag = self.copies_of(tree)
            for i in range(n):
                if slots[i] < 0:
                    continue
                leaf = self.leaf_at(leaves, tree, i)
                if noted != NULL:
                    noted[slots[i]] = leaf
                if bag != NULL:
                    self.losses[tree] += loss_of(<Trees>trees, leaf, targets[i], weights[i])
                    copies = bag[slots[i]]
                if copies and learns:
                    (<Trees>trees).learn(leaf, targets[i], weights[i] * copies, batch)

    # --- One batch ----------------------------------------------------------------------------

    def grow(self, uint64_t batch, list splitters, list replaced, int max_features,
             int max_nodes):
        """Grow all trees on the batch, replace some of them, and begin the next batch.

        Parameters
        ----------
        batch
            Number of the batch of the plan. Nothing is done if that batch is not full or the trees
            have grown on it already.
        splitters
            One per thread.
        replaced
            Numbers of the trees to replace.
        max_features
            Number of features that a split visits.
        max_nodes
            Maximum number of nodes of a tree.
        """
        with self.using():
            if batch != self.n_batches or self.n_gathered() < self.batch_size:
                return
            self.grow_all(splitters, (replaced, max_features, max_nodes))
            self.window.clear()
            self.n_batches += 1
            memset(self.losses, 0, len(self.trees) * sizeof(double))
            self.draw_bags()
            end_step(self)

    cdef int grow_tree(self, int tree, Splitter splitter, object plan) except -1:
        """Split the leaves that the samples have reached in a tree (Algorithm 1, lines 7 to 13)."""
        cdef Window window = self.window
        cdef list replaced
        cdef int max_features, max_nodes
        replaced, max_features, max_nodes = plan
        cdef bint is_new = self.has_early_trees() or tree in replaced
        cdef Trees trees = self.new_tree() if is_new else self.trees[tree]
        cdef bytearray memory = bytearray(window.capacity * sizeof(int))
        cdef int* drawn = <int*><char*>memory
        cdef const int* copies = self.copies_of(tree)
        cdef const int* leaves = NULL
        if tree in replaced:
            self.draw(tree, drawn)
            copies = drawn
        if len(self.trees) == 1 and not is_new and window.n_sorted == 0:
            leaves = window.leaf
        self.trees[tree] = splitter.trees = trees
        splitter.window = window
        with nogil:
            if is_new:
                self.learn_root(trees, copies)
            elif self.published:
                self.overwrite(trees, copies)
            splitter.grow(trees.roots[0], self.schema, copies, max_features, self.n_batches + 1,
                          rng_for(self.seed, tree, self.n_batches, FEATURES),
                          NULL, NULL, 0, leaves)
            trees.shrink_to(max_nodes)
            trees.trim(0)
        return 0

    cdef void draw(self, int tree, int* counts) noexcept nogil:
        """Draw a bootstrap of the batch for a new tree (Algorithm 2, line 12)."""
        cdef Rng rng = rng_for(self.seed, tree, self.n_batches, RENEW)
        cdef int _
        for _ in range(self.window.size):
            counts[self.window.slot_at(<int>below(&rng, self.window.size))] += 1

    cdef void overwrite(self, Trees trees, const int* copies) noexcept nogil:
        """Reset the leaves that the batch has reached, so that they contain only this batch."""
        cdef int i, slot, leaf, n
        cdef double batch = self.n_batches + 1
        for i in range(self.window.size):
            slot = self.window.slot_at(i)
            n = copies[slot] if copies != NULL else 1
            if n == 0:
                continue
            leaf = trees.walk_slot(trees.roots[0], self.window, slot)
            if trees.row(leaf)[VISITED] != batch:
                trees.clear(leaf)
            trees.learn(leaf, self.window.target[slot], n * self.window.weight[slot], batch)

    def tree_losses(self):
        """The prequential loss of each tree in this batch."""
        with self.using():
            return self.views()["losses"].copy()

    def trees_to_replace(self, int n_swaps):
        """The numbers of the trees that are replaced in this batch, worst first.

        From the second batch on: those with errors; in the published program any, with probability
        1 / b in batch b (Algorithm 2, lines 8 to 11).
        """
        cdef object losses = self.tree_losses()
        cdef uint64_t b = self.n_batches + 1
        cdef Rng rng = rng_for(self.seed, 0, self.n_batches, SWAP)
        if n_swaps == 0 or b < 2 or (self.published and uniform(&rng) >= 1.0 / b):
            return []
        order = np.argsort(-losses, kind="stable")[:n_swaps].tolist()
        return [tree for tree in order if losses[tree] > 0.0 or self.published]

    # --- Copies -------------------------------------------------------------------------------

    cdef Learner serving_copy(self):
        cdef StreamForest copy = Forest.serving_copy(self)
        copy.reserve_losses()
        return copy

    # --- State --------------------------------------------------------------------------------

    def __sizeof__(self):
        return super().__sizeof__() + (len(self.trees) + 1) * sizeof(double)

    def settings(self):
        return {**super().settings(), "fading": self.fading}

    FIELDS = {**Forest.FIELDS, "losses": ("numbers", "trees", {"least": 0.0})}

    cdef dict views(self):
        # Heavy samples with large errors lose more than floats hold; losses are only compared.
        return {"losses": view(self.losses, "f8", (len(self.trees),))}

    cdef int load(self, dict fields) except -1:
        Forest.load(self, fields)
        require(len(fields["losses"]) == len(self.trees), "StreamForest: a tree has no loss")
        self.reserve_losses()
        put_back(self.views(), fields)
        return 0

    cdef int check_structure(self) except -1:
        Forest.check_structure(self)
        require(self.window.slots() == list(range(self.window.size)),
                "StreamForest: the batch is not in its slots")
        return 0
