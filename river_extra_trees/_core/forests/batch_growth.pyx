"""The growth of the trees of a forest on a batch, in any number of threads. See the header."""

import _thread

import numpy as np

from cpython.pythread cimport (
    NOWAIT_LOCK, WAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock,
    PyThread_release_lock,
)
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memmove, memset

from ..cart.splitter cimport Splitter
from ..memory cimport free, product, resized, zeroed
from ..rng cimport EARLY, FORGET, Rng, rng_for, uniform
from ..trees cimport WEIGHT, Trees
from ..window cimport Window
from .forest cimport Forest
from .forgetful cimport ForgetfulForest

from ..state import State, reduced, require

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    #define count_up(counter) (_InterlockedIncrement(counter) - 1)
    #else
    #define count_up(counter) __atomic_fetch_add((counter), 1, __ATOMIC_SEQ_CST)
    #endif
    """
    long count_up(long* counter) noexcept       # returns the previous value

LARGEST_TOTAL = 2**31 - 1   # maximum number of copies of all samples of a tree in a file


cdef class BatchGrowth:
    """The growth of all trees on one batch. See the header."""

    def __cinit__(self):
        self.running = PyThread_allocate_lock()
        if self.running == NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.running != NULL:
            PyThread_free_lock(self.running)

    cdef int run(self) except -1:
        """Grow all trees. No Python code runs here, so signals are handled at the end."""
        if self.n_trees == 0:
            return 0
        PyThread_acquire_lock(self.running, NOWAIT_LOCK)
        for _ in range(1, len(self.splitters)):
            try:
                _thread.start_new_thread(self.work, ())
            except (MemoryError, RuntimeError):
                break
        self.work()
        if not PyThread_acquire_lock(self.running, NOWAIT_LOCK):    # other threads still work
            with nogil:
                PyThread_acquire_lock(self.running, WAIT_LOCK)
        PyThread_release_lock(self.running)
        if self.error is not None:
            raise self.error
        return 0

    cpdef work(self):
        """Grow trees until the growth of every tree has begun."""
        cdef int worker = <int>count_up(&self.n_workers), tree
        while True:
            tree = <int>count_up(&self.n_taken)
            if tree >= self.n_trees:
                return None
            try:
                self.grow_tree(tree, worker, self.splitters[worker])
            except BaseException as error:
                self.error = error
            if count_up(&self.n_grown) == self.n_trees - 1:
                PyThread_release_lock(self.running)

    cdef int grow_tree(self, int tree, int worker, Splitter splitter) except -1:
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
            forest.make_bags()
            growth = EarlyGrowth(forest, splitters, max_features, max_depth, max_nodes)
            growth.run()
            forest.trees = growth.trees
            forest.n_early = forest.n_gathered()


cdef class EarlyGrowth(BatchGrowth):
    """The growth of early trees. The constructor can fail, `run` cannot."""

    cdef Forest forest
    cdef list trees         # the new trees of the forest
    cdef Window window      # the samples; the slot is the position in the batch
    cdef uint8_t* chosen    # per tree and column: whether the tree may split the column
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
                                 self.window.n_live, trees.n_values)

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
                      rng_for(forest.seed, tree, self.window.size, EARLY),
                      self.chosen + <Py_ssize_t>tree * self.window.n_columns)
        splitter.max_depth = max_depth
        trees.shrink_to(self.max_nodes)
        trees.trim(0)
        return 0


# --- Forgetful forests ----------------------------------------------------------------------

cdef class Retained:
    """The samples that one tree retains, and the number of copies of each.

    The samples themselves are in the window that all trees of a forest share.
    """

    def __dealloc__(self):
        free(self.slots)
        free(self.counts)

    cdef int reserve(self, Py_ssize_t extra) except -1:
        """Allocate memory for `extra` more samples."""
        cdef Py_ssize_t capacity = self.n + extra
        if capacity > self.capacity:
            capacity = max(capacity, self.capacity + self.capacity // 2)
            self.slots = <int*>resized(self.slots, capacity, sizeof(int))
            self.counts = <int*>resized(self.counts, capacity, sizeof(int))
            self.capacity = <int>capacity
        return 0

    cdef void add(self, int slot, int count) noexcept nogil:
        """Retain a sample; `reserve` has allocated the memory."""
        self.slots[self.n] = slot
        self.counts[self.n] = count
        self.n += 1
        self.total += count

    cdef void forget_first(self, int64_t k) noexcept nogil:
        """Forget the k copies that were added first."""
        cdef int gone = 0
        self.total -= k
        while k > 0 and self.counts[gone] <= k:
            k -= self.counts[gone]
            gone += 1
        self.n -= gone
        if gone > 0:
            memmove(self.slots, self.slots + gone, self.n * sizeof(int))
            memmove(self.counts, self.counts + gone, self.n * sizeof(int))
        if k > 0:
            self.counts[0] -= <int>k

    cdef void forget_random(self, int64_t k, Rng rng) noexcept nogil:
        """Forget k of the copies, every set of k equally likely.

        Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S): a copy is
        selected with probability (copies still to select) / (copies still to visit).
        """
        cdef int i, left, kept = 0, _
        cdef int64_t ahead = self.total
        self.total -= k
        for i in range(self.n):
            left = self.counts[i]
            for _ in range(self.counts[i]):
                if uniform(&rng) * ahead < k:
                    k -= 1
                    left -= 1
                ahead -= 1
            self.slots[kept] = self.slots[i]
            self.counts[kept] = left
            kept += left > 0
        self.n = kept

    cdef void mark(self, int* counts_of_slot) noexcept nogil:
        """Write the number of copies of every retained sample; other slots are unchanged."""
        cdef int i
        for i in range(self.n):
            counts_of_slot[self.slots[i]] = self.counts[i]

    def samples(self):
        """The retained (slot, copies), in order of forgetting."""
        return [(self.slots[i], self.counts[i]) for i in range(self.n)]

    def check(self):
        """Raise a StateError if the samples do not equal those restored from their state."""
        require(self.n <= self.capacity and Retained.restored(self.state()).total == self.total,
                "Retained: the copies are miscounted")

    def __sizeof__(self):
        return object.__sizeof__(self) + 2 * self.capacity * sizeof(int)

    def state(self):
        """Slots and copies in order of forgetting."""
        samples = np.array(self.samples(), np.int32).reshape(-1, 2)
        return {"slots": samples[:, 0].copy(), "copies": samples[:, 1].copy()}

    @classmethod
    def restored(cls, values):
        """The samples of a state. The owner checks that the window contains them."""
        cdef Retained retained = Retained()
        cdef int slot, count
        state = State("Retained", values, ("slots", "copies"))
        slots = state.array("slots", np.int32, None)
        counts = state.array("copies", np.int32, len(slots))
        require(np.all(counts > 0) and counts.sum(dtype=np.int64) <= LARGEST_TOTAL,
                "Retained: no copies of a sample, or too many")
        require(len(np.unique(slots)) == len(slots), "Retained: a sample is there twice")
        retained.reserve(max(1, len(slots)))
        for slot, count in zip(slots, counts):
            retained.add(slot, count)
        return retained

    def __reduce__(self):
        return reduced(type(self), self.state())


cdef Retained moved(Retained retained, const int[::1] place):
    """The same samples in another window, in which the sample of slot i is in slot place[i]."""
    cdef Retained copy = Retained()
    cdef int i
    copy.reserve(max(1, retained.n))
    for i in range(retained.n):
        copy.add(place[retained.slots[i]], retained.counts[i])
    return copy


cdef void forget(ForgetfulForest forest, int tree, Retained retained, int64_t k) noexcept nogil:
    k = min(k, retained.total)
    if k <= 0:
        return
    if forest.subsets:
        retained.forget_random(
            k, rng_for(forest.seed, tree, forest.n_batches, FORGET))
    else:
        retained.forget_first(k)


cdef void add_batch(ForgetfulForest forest, int tree, Retained retained) noexcept nogil:
    """Retain the batch; with `published`, its last samples will be forgotten first.

    `fresh` still contains the slots of the batch after `sort`.
    """
    cdef int i, position
    for i in range(forest.batch_size):
        position = forest.batch_size - 1 - i if forest.published else i
        if forest.copies(tree, position):
            retained.add(forest.window.fresh[position], forest.copies(tree, position))


cdef int grow_anew(ForgetfulForest forest, Trees trees, int tree, Retained retained,
                   Splitter splitter, int depth, const int* counts,
                   const uint8_t* chosen) except -1:
    """Grow a new CART from the root on the retained samples."""
    cdef int i, slot, max_depth, root = trees.roots[0]
    with nogil:
        trees.collapse(root)
        trees.clear(root)
        for i in range(retained.n):
            slot = retained.slots[i]
            trees.learn(root, forest.window.target[slot],
                        forest.window.weight[slot] * retained.counts[i], forest.n_batches + 1)
    max_depth, splitter.max_depth = splitter.max_depth, depth
    splitter.grow(trees, root, forest.window, forest.schema, counts, 0, forest.n_batches + 1,
                  rng_for(forest.seed, tree, forest.n_batches, FORGET),
                  chosen, retained.slots, retained.n)
    splitter.max_depth = max_depth
    return 0


cdef class ForgetfulGrowth(BatchGrowth):
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
                splitter.reserve(trees.capacity, size, slots, forest.window.n_live, trees.n_values)

    def __dealloc__(self):
        free(self.counts)
        free(self.gone)

    cdef int grow_tree(self, int tree, int worker, Splitter splitter) except -1:
        """Retain `sizes[tree]` samples, with those of the batch, and grow the tree on them.

        Copies count as samples. If the bag of the batch is empty, the tree is unchanged.
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
            if trees is not forest.trees[tree]:     # it replaces an early tree
                forest.learn_root(trees, forest.window, NULL)
            return 0
        with nogil:
            forget(forest, tree, retained, retained.total + n - self.sizes[tree])
            add_batch(forest, tree, retained)
            memset(counts, 0, forest.window.capacity * sizeof(int))
            retained.mark(counts)
        grow_anew(
            forest, trees, tree, retained, splitter, <int>self.depths[tree], counts, chosen)
        trees.trim(0)
        return 0
