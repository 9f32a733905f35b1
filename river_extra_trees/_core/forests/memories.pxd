"""A forest whose trees have several memories, and which learns how much each memory is worth.

The trees of one memory are a group. One after the other they make room for a tree grown anew on the
latest samples, as many as the memory; so every tree of a group is grown anew once per memory. The
growth of the next tree is spread over the samples until its turn comes. Between two growths the
leaves learn every sample, and split on the small batches that reach them.

A group answers with the mean of its trees. The answers of the groups, of their mixture and of naive
Bayes are pooled, with weights that are learned: see `pool` and `weigh`.

A forest may be split into parts, which hold some of its trees each and see all of its samples. All
parts go by one schedule: where the tree whose turn it is lies in another part, its growth is left
to that part. A part does not know the answers of the groups. It keeps the votes of its trees on the
sample learned last; the weights of all parts learn from the votes of all parts, put together, once
per block of samples (`weigh_answers`), since no tree depends on them.
"""

from libc.stdint cimport int64_t, uint64_t

from ..learner cimport Learner
from ..trees cimport Trees
from .buffer cimport Buffer
from .growth cimport Growth
from .naive_bayes cimport NaiveBayes

cdef class Group:
    cdef readonly int memory            # samples that a tree is grown on
    cdef readonly int first, n          # its trees: trees[first : first + n] of the forest
    cdef readonly int turn              # of them, the one to be replaced next
    cdef readonly double due            # when the next growth begins, in samples seen
    cdef Growth growth
    cdef Trees next_tree                # whose growth is to begin with the next sample, or None
    cdef Trees tree                     # that is being grown, or None
    cdef readonly int64_t begun         # samples seen when its growth began
    cdef readonly int64_t caught_up     # samples seen when it learned last; -1: it still grows
    cdef int n_columns, n_labels, n_visited     # that its growth knows of, and looks at
    cdef int64_t steps                  # of its growth per sample of the stream

    cdef int n_samples(self) noexcept

cdef class MemoryForest(Learner):
    cdef readonly list trees            # of Trees, one root each: those from ...
    cdef readonly int first_tree        # ... this number in the whole forest ...
    cdef int stop_tree                  # ... to before this one
    cdef readonly bint is_part          # whether other trees are in other parts
    cdef readonly list groups           # of Group, in the order of their trees; of all parts
    cdef readonly Buffer buffer
    cdef readonly int batch_size        # samples after which a tree splits its leaves
    cdef readonly double fading         # of the leaves, see `Trees.fade`
    cdef readonly int max_nodes
    cdef readonly uint64_t seed
    cdef object max_features            # None, "sqrt", "log2", a number or a share
    cdef int n_visited                  # the number that these are now
    cdef readonly dict rules            # of the growths
    cdef Growth small                   # of leaves on batches
    cdef int64_t* births                # per tree: samples seen when its growth began
    cdef int* leaves                    # leaves[tree * batch_size + arrival % batch_size]
    cdef int n_trees                    # of the whole forest
    cdef int n_labels                   # that the trees have places for

    # The answers to the row asked for last, which is often the one learned next.
    cdef double* row
    cdef int row_capacity
    cdef int n_row                      # its columns; -1: there are none, or trees have changed
    cdef int* reached                   # per tree: its leaf
    cdef double* answers                # answers[group * n_answers + class]
    cdef double* pooled                 # per class
    cdef int n_answers
    cdef int answer_capacity
    cdef double* logs                   # logs[member * n_answers + class], see `pool`
    cdef double* weights                # per group, see `weigh`
    cdef double* exponents              # per group, of their mixture, and of naive Bayes
    cdef double* errors                 # per group: fading sum of squared errors; then their number
    cdef NaiveBayes naive               # None in a regression
    cdef NaiveBayes next_naive          # with room for the sample that was read last
    cdef double* latest_votes           # of a part, on the sample learned last: see `vote` ...
    cdef double latest_target           # ... and its target
    cdef int* small_leaves              # scratch: leaves of a batch ...
    cdef int* small_places              # ... and its samples

    cdef Trees new_tree(self)
    cdef int reserve_growth(self, Group group, int n_labels, int n_samples) except -1
    cdef void learn_leaf(self, Trees trees, int leaf, double target, double weight) noexcept
    cdef void split_leaves(self, int tree) noexcept
    cdef void continue_growth(self, Group group) noexcept
    cdef void begin_growth(self, Group group) noexcept
    cdef bint catch_up(self, Group group, int64_t n) noexcept
    cdef int walk(self, Trees trees, int place) noexcept nogil
    cdef void replace(self, Group group) noexcept
    cdef int reserve_answers(self, int n_labels) except -1
    cdef void answer(self) noexcept
    cdef int n_values(self) noexcept
    cdef void add_answer(self, int tree, int n_trees, int width, double* answers) noexcept
    cdef void combine(self, int width) noexcept
    cdef void learn_weights(self, double target, int width) noexcept
    cdef void pool(self, int width) noexcept
    cdef void weigh(self, int code, int width) noexcept
    cdef void mix(self) noexcept
    cdef void weigh_errors(self, double target) noexcept
    cdef bint holds(self, int tree) noexcept
    cdef Trees tree(self, int tree)
    cdef void vote(self, double* votes) noexcept
    cdef int read_answers(self, const double[:, :, ::1] answers, Py_ssize_t at,
                          int width) except -1
    cdef int begin_weights(self) except -1
    cdef int read(self, object state, list trees, const int64_t[:, ::1] growths) except -1
    cdef int grow_again(self, Group group, int64_t n_steps, int64_t caught_up) except -1
    cdef void find_leaves(self) noexcept
    cdef int check_fits(self) except -1
    cdef int check_codes(self, int64_t arrival, int64_t stop, int n_labels) except -1
    cdef int check_values(self, int column, int n_codes) except -1
    cdef int check_naive(self) except -1
    cdef void advance(self, Group group, int64_t n_steps) noexcept
    cdef void learn_roots(self, Group group) noexcept
