"""Trees that learn one stream in batches: one schema, one window, one table of trees.

The papers do not define the trees before the first batch is full. Here, early trees grow on the
samples gathered so far: after the first 10 samples, then after 20, 30, 45 and so on. The growth on
the first full batch replaces these trees; from then on the trees are those of the papers.

A growth is a step of the forest, see `guarded`: if memory runs out, the forest refuses all calls.

If the growth of all trees takes long, some trees grow when it is due, and some more after each of
the next samples. Such a tree then learns the samples since, and is the tree that would have grown
at once. Until then the old tree predicts.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from ..cart.splitter cimport Splitter
from ..ensemble cimport WindowEnsemble
from ..explain cimport VoteExplanations
from ..table cimport Ahead, RowReader
from ..rng cimport Rng
from ..schema cimport Schema
from ..team cimport Job
from ..tree cimport Tree
from ..trees cimport Trees
from ..window cimport Window


cdef class Forest(WindowEnsemble):
    cdef public int batch_size      # number of samples of a batch
    cdef public Trees root_statistics       # one leaf with all samples: prediction of empty trees
    cdef public uint64_t n_batches  # number of batches on which the trees have grown
    cdef public int n_early         # samples of the first batch on which early trees grow or have
                                    #   grown
    cdef public int n_waiting       # number of trees, the last ones, that have yet to grow
    cdef public int n_per_step      # number of them that grow after a sample
    cdef public int n_tried         # number of features that their splits visit; 0 for all
    cdef public object plan         # while trees wait, per tree: what the family needs to know;
                                    #   maximum depth
    cdef public bint published      # learn and vote as the published program does
    cdef public bint bagging        # whether each tree learns random numbers of copies
    cdef int* bags                  # bags[tree * batch_size + position]: copies in this batch; NULL
                                    #   without bagging or before the first sample of the batch
    cdef double* sums               # scratch: votes per class
    cdef int n_sums
    cdef int* reached               # scratch: per tree, the leaf that one row reaches
    cdef int* divided               # the columns whose values sets divided after the last growth
    cdef int n_divided

    cdef int begin(self, int n_trees, bint regression, int batch_size, bint published,
                   double fading, object seed) except -1
    # Stores those of n rows that have a positive weight; see `Window.push`.
    cdef void store(self, const double* values, Py_ssize_t stride, int n, const double* targets,
                    const double* weights, int* slots) noexcept nogil
    # Finds the columns that are divided.
    cdef int find_divided(self) except -1
    # Sends the values of a stored sample that no growth knows well.
    cdef int send_values(self, int slot) except -1 nogil
    cdef bint is_to_send(self, int column, double code) noexcept nogil
    # Number of rows that were read ahead, from the first on, without such values.
    cdef int n_without(self, RowReader reader, int n) noexcept nogil
    cdef int n_gathered(self) noexcept nogil
    cdef int batch_end(self) noexcept nogil
    cdef int next_step(self, int n_early) noexcept nogil
    cdef int n_may_wait(self) noexcept nogil
    # Lets all trees wait to grow on the batch, or early trees on the samples so far.
    cdef int begin_waiting(self, object plan, int n_tried, int n_per_step) except -1
    # What there is to do when no tree waits any more.
    cdef int end_waiting(self) except -1
    # Grows one tree, and lets it learn the samples that came while it waited.
    cdef int grow_tree(self, int tree, Splitter splitter, int max_nodes) except -1
    cdef int grow_early_tree(self, int tree, Splitter splitter, int max_nodes) except -1
    # Lets a tree that waited learn the samples of this batch from position `first` on.
    cdef int catch_up(self, int tree, int first) except -1 nogil
    cdef bint has_early_trees(self) noexcept nogil
    cdef uint64_t batch_of_growth(self) noexcept nogil
    cdef int make_bags(self) except -1
    cdef void draw_bags(self) noexcept
    cdef void draw_bag(self, int tree, uint64_t batch) noexcept nogil
    cdef uint64_t batch_of_bag(self, int tree) noexcept
    cdef int64_t bag_size(self, Rng* rng) noexcept nogil
    cdef const int* copies_of(self, int tree) noexcept nogil
    cdef int mark_columns(self, int tree, uint8_t* chosen) except -1
    cdef void find_offered(self) noexcept
    cdef Tree* new_tree(self, int tree) except NULL nogil
    cdef int learn_root(self, Tree* tree, Window window, int n, const int* copies) except -1 nogil
    cdef int reserve_sums(self, int n_labels) except -1
    cdef const int* find_leaves_of_row(self) noexcept nogil
    # Number of samples with known labels that can be learned before the batch is full or memory has
    # to be allocated.
    cdef int room(self, int n_labels) noexcept nogil
    # Lets the trees learn those of n rows that have a slot. `position` is the position of the first
    # of these in the batch. leaves[tree * spacing + i] is the leaf of row i.
    cdef int learn_rows(self, const int* leaves, Py_ssize_t spacing, const double* targets,
                        const double* weights, const int* slots, int n, int position,
                        int n_labels) except -1 nogil
    cdef int find_leaves(self, RowReader reader, int n) except -1 nogil
    cdef int learn_ahead(self, RowReader reader, int n, int n_labels) except -1 nogil
    cdef void sum_votes(self, const int* leaves, Py_ssize_t spacing, int n, int n_labels,
                        double* votes) noexcept nogil
    cdef double mean_of_trees(self, const int* leaves, Py_ssize_t spacing) noexcept nogil
    # Adds the class frequencies of a leaf of each of n rows to votes[i * n_labels ...]; sets
    # voted[i] if the leaf has samples.
    cdef void add_votes(self, const Tree* tree, const int* leaves, int n, int n_labels,
                        double* votes, uint8_t* voted) noexcept nogil

    # Whether a leaf votes for its largest class alone.
    cdef bint votes_by_majority(self) noexcept nogil


cdef class ForestExplanations(VoteExplanations):
    """Trees whose leaf is empty do not vote; see `sum_votes`."""
    cdef Forest forest
    cdef VoteExplanations of_root   # for rows without a vote, if there are any


cdef class BatchGrowth(Job):
    """The growth of trees of a forest on one batch, in any number of threads."""
    cdef Forest forest
    cdef list splitters             # one per thread
    cdef int max_nodes
    cdef int first, n               # the trees that grow: first, first + 1, ..., first + n - 1

    cdef int run(self) except -1
