"""A forest whose trees have several memories, and which learns how much each memory is worth.

The trees of one memory are a group. One after the other they make room for a tree grown anew on the
latest samples, as many as the memory; so every tree of a group is grown anew once per memory. The
growth of the next tree is spread over the samples until its turn comes. Between two growths the
leaves learn every sample, and split on the small batches that reach them.

A group answers with the mean of its trees. `ClassPool` makes one answer of those of the groups and
of naive Bayes, with weights that are learned. In a regression the trees of a group may have linear
models (`model_trees`), and `NumberMixture` makes one answer of those of the groups.

A forest may be split into parts, which hold some of its trees each and see all of its samples. All
parts go by one schedule: where the tree whose turn it is lies in another part, its growth is left
to that part. A part does not know the answers of the groups. It keeps the votes of its trees on the
sample learned last; the weights of all parts learn from the votes of all parts, put together, once
per block of samples (`memory_exchange`), since no tree depends on them.
"""

from libc.stdint cimport int64_t

from ..naive_bayes cimport NaiveBayes
from ..trees cimport Trees
from .buffer cimport Buffer
from .forest cimport Ensemble
from .growth cimport Growth
from .model_trees cimport LinearModels, TreeGrowth
from .mixtures cimport ClassPool, NumberMixture

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

cdef class MemoryForest(Ensemble):
    cdef int stop_tree                  # the trees are those from `first_tree` to before this one
    cdef readonly list models           # of LinearModels: those of the trees of a regression
    cdef readonly list groups           # of Group, in the order of their trees; of all parts
    cdef readonly list linear           # per group: which nodes of its trees have linear models
    cdef readonly Buffer buffer
    cdef readonly int max_nodes
    cdef readonly object max_features   # None, "sqrt", "log2", a number or a share
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
    cdef readonly NaiveBayes naive      # None in a regression
    cdef NaiveBayes next_naive          # with room for the sample that was read last
    cdef double* latest_votes           # of a part, on the sample learned last: see `vote` ...
    cdef double latest_target           # ... and its target
    cdef int* small_leaves              # scratch: leaves of a batch ...
    cdef int* small_places              # ... and its samples

    cdef Trees empty_tree(self, int n_labels)
    cdef void learn_leaf(self, Trees trees, int leaf, double target, double weight) noexcept
    cdef bint splits_leaves(self, int tree) noexcept
    cdef int reserve_answers(self, int n_labels) except -1
    cdef void answer(self) noexcept
    cdef int n_values(self) noexcept
    cdef int leaf_of(self, int tree) noexcept
    cdef void add_classes(self, int tree, int n_trees, int width, double* answers) noexcept
    cdef void tree_number(self, int tree, double* answer) noexcept
    cdef void combine(self, int width) noexcept
    cdef void combine_numbers(self) noexcept
    cdef void learn_weights(self, double target, int width) noexcept
    cdef void vote(self, double* votes) noexcept
    cdef int ask(self) except -1

    cdef inline bint holds(self, int tree) noexcept:
        """Whether a tree is here, and not in another part."""
        return self.first_tree <= tree < self.stop_tree

    cdef inline Trees tree(self, int tree):
        """A tree that is here, by its number in the whole forest."""
        return <Trees>self.trees[tree - self.first_tree]

    cdef inline LinearModels models_of(self, int tree):
        """The linear models of a tree that is here; of a regression."""
        return <LinearModels>self.models[tree - self.first_tree]
