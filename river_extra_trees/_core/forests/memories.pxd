"""A forest whose trees have several memories, and which learns how much each memory is worth.

The trees of one memory are a group. One after the other they make room for a tree grown anew on the
latest samples, as many as the memory; so every tree of a group is grown anew once per memory. The
growth of the next tree is spread over the samples until its turn comes. Between two growths the
leaves learn every sample, and split on the small batches that reach them.

A group answers with the mean of its trees. `ClassPool` makes one answer of those of the groups and
of naive Bayes, with weights that are learned. In a regression the trees of a group may have linear
models (`linear_models`), and `NumberMixture` makes one answer of those of the groups.

A forest may be split into parts, which hold some of its trees each and see all of its samples. All
parts go by one schedule: where the tree whose turn it is lies in another part, its growth is left
to that part. A part does not know the answers of the groups. It keeps the votes of its trees on the
sample learned last; the weights of all parts learn from the votes of all parts, put together, once
per block of samples (`memory_parts`), since no tree depends on them.
"""

from libc.stdint cimport int64_t, uint64_t

from ..learner cimport Learner
from ..trees cimport Trees
from .buffer cimport Buffer
from .class_pool cimport ClassPool
from .growth cimport Growth
from .linear_models cimport LinearModels
from .naive_bayes cimport NaiveBayes
from .number_mixture cimport NumberMixture
from .tree_growth cimport TreeGrowth

cdef int n_features_of(object max_features, int n_columns) except -1

cdef class Group:
    cdef readonly int memory            # samples that a tree is grown on
    cdef readonly int first, n          # its trees: trees[first : first + n] of the forest
    cdef readonly int turn              # of them, the one to be replaced next
    cdef readonly double due            # when the next growth begins, in samples seen
    cdef readonly TreeGrowth growth
    cdef Trees next_tree                # whose growth is to begin with the next sample, or None ...
    cdef LinearModels next_models       # ... with its models
    cdef Trees tree                     # that is being grown, or None ...
    cdef LinearModels models            # ... with its models
    cdef readonly int64_t begun         # samples seen when its growth began
    cdef readonly int64_t caught_up     # samples seen when it learned last; -1: it still grows
    cdef int n_columns, n_labels, n_visited     # that its growth knows of, and looks at
    cdef int64_t steps                  # of its growth per sample of the stream

    cdef int n_samples(self) noexcept

cdef class MemoryForest(Learner):
    cdef readonly list trees            # of Trees, one root each: those from ...
    cdef readonly int first_tree        # ... this number in the whole forest ...
    cdef int stop_tree                  # ... to before this one
    cdef readonly list models           # of LinearModels, of the same trees; empty but in a regression
    cdef readonly bint is_part          # whether other trees are in other parts
    cdef readonly list groups           # of Group, in the order of their trees; of all parts
    cdef readonly list linear           # per group: which nodes of its trees have linear models
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
    cdef double* slopes                 # per tree: what its linear model adds to the leaf's mean
    cdef double* answers                # answers[group * n_classes + class], or of a regression ...
                                        # ... [mean, variance] per tree, then one mean per group
    cdef int answer_capacity
    cdef readonly ClassPool pool                 # None in a regression
    cdef readonly NumberMixture mixture          # of a regression, else None
    cdef NaiveBayes naive               # None in a regression
    cdef NaiveBayes next_naive          # with room for the sample that was read last
    cdef double* latest_votes           # of a part, on the sample learned last: see `vote` ...
    cdef double latest_target           # ... and its target
    cdef int* small_leaves              # scratch: leaves of a batch ...
    cdef int* small_places              # ... and its samples

    cdef Trees new_tree(self)
    cdef int reserve_growth(self, Group group, int n_labels, int n_samples) except -1
    cdef void learn_leaf(self, Trees trees, int leaf, double target, double weight) noexcept
    cdef bint splits_leaves(self, int tree) noexcept
    cdef void split_leaves(self, int tree) noexcept
    cdef void take_leaf(self, int tree, int leaf, const int* places, int n) noexcept
    cdef void continue_growth(self, Group group) noexcept
    cdef void begin_growth(self, Group group) noexcept
    cdef bint catch_up(self, Group group, int64_t n) noexcept
    cdef void replace(self, Group group) noexcept
    cdef int reserve_answers(self, int n_labels) except -1
    cdef void answer(self) noexcept
    cdef int n_values(self) noexcept
    cdef int leaf_of(self, int tree) noexcept
    cdef void add_classes(self, int tree, int n_trees, int width, double* answers) noexcept
    cdef void tree_number(self, int tree, double* answer) noexcept
    cdef void combine(self, int width) noexcept
    cdef void combine_numbers(self) noexcept
    cdef void learn_weights(self, double target, int width) noexcept
    cdef bint holds(self, int tree) noexcept
    cdef Trees tree(self, int tree)
    cdef void vote(self, double* votes) noexcept
    cdef LinearModels models_of(self, int tree)
    cdef int ask(self, object x) except -1
    cdef void advance(self, Group group, int64_t n_steps) noexcept
    cdef void start_growth(self, Group group) noexcept
