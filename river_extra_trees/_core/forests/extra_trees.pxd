"""A forest of groups of trees; each group has a window size, and the forest learns their weights.

A window of m samples means that each tree of the group is grown on the latest m samples. The trees
of a group are replaced in turn, each once per m samples. The growth of the next tree is spread over
the samples until its replacement is due. In the meantime the leaves of the trees learn every
sample, and are split on the small batches of samples that reach them.

The prediction of a group is the mean of its trees. `ClassPool` combines the predictions of the
groups and of a logistic regression, with learned weights. Where targets are numbers, the trees of a
group may have linear models (`model_trees`), and `NumberMixture` combines the predictions.

Pickles and model files contain the state of a forest, without derived data. Loading finds the
leaves of the latest samples again, and repeats what has been done of the growths.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t

from ..ensemble cimport Ensemble
from ..lists cimport item_of, length_of
from ..max_features cimport MaxFeatures
from ..parts cimport Owner
from ..tree cimport ClassShare, Tree
from .buffer cimport Buffer
from .growth cimport Growth
from .logistic cimport LogisticRegression
from .model_trees cimport LinearModels, TreeGrowth
from .mixtures cimport ClassPool, NumberMixture
from .questions cimport Questions

cdef class Group(Owner):
    cdef readonly int window_size       # number of samples on which a tree is grown
    cdef readonly int first, n          # its trees: trees[first : first + n] of the forest
    cdef readonly int turn              # index of the tree that is replaced next, from 0 to n - 1
    cdef readonly double due            # the next growth begins after this number of samples
    cdef TreeGrowth growth              # of the next tree
    cdef bint is_growing                # whether the growth has begun
    cdef readonly int64_t begun         # number of samples seen when its growth began
    cdef int64_t caught_up              # it has learned all samples before this one; -1: it grows
    cdef int n_columns, n_labels        # that the growth uses
    cdef int64_t steps                  # steps of the growth per sample of the stream
    # The trees that the growths of a pass over several rows have finished, in their order. Number v
    # replaces the tree first_turn + v of the group, modulo n, after sample ready_at[v].
    cdef Tree* ready                    # without nodes between two passes
    cdef int room                       # number of trees for which it has room
    cdef list ready_models              # of LinearModels, in a regression
    cdef int64_t* ready_at
    cdef int n_ready
    cdef int first_turn                 # `turn` before the first row

    cdef int n_samples(self) noexcept nogil
    cdef int make_room(self, ExtraTrees forest, int n) except -1

    cdef inline PyObject* ready_models_of(self, int version) noexcept nogil:
        return item_of(<PyObject*>self.ready_models, version)

    cdef inline int first_version(self, int tree) noexcept nogil:
        """The first of the trees in `ready` that replaces a tree of the forest, if there is one."""
        return (tree - self.first - self.first_turn + self.n) % self.n

cdef struct Answers:            # of one tree of a classification
    ClassShare* shares          # of all rows, one after the other
    size_t n                    # number of these
    size_t capacity
    size_t* ends                # per row: the end of its shares

cdef struct Pass:               # rows that the trees predict and learn, see `tree_pass`
    int n                       # number of rows
    const double* values        # values[column * stride + i] of row i
    Py_ssize_t stride           # 1: there is one row
    const int* columns          # ascending: those that may have a value ...
    int n_columns               # ... and their number
    double* targets             # per row; NULL: these rows are only predicted
    const double* weights       # per row; 0: it is not learned
    int n_learned               # number of rows that are learned
    int64_t first               # number of the first of these in the stream ...
    int at                      # ... modulo the size of a small batch
    # The predictions:
    int width                   # number of values of a prediction, see `ExtraTrees.n_values`
    int capacity                # `width` for which there is memory ...
    int room                    # ... and number of rows
    double* answers             # answers[(group * room + i) * width + class] of row i; in a
                                #   regression (tree * room + i) * 2: mean, variance
    double* of_row              # class shares of the row that is combined, as if there was only one
    double* means               # regression: means[i * n_groups + group] of row i of a block ...
    double* variances           # ... and variances[i], behind them in memory
    double* logistic            # logistic[i * width + class]: those of the regression
    double* mixed               # predictions of the pool or the mixture for the last row
    double* row                 # scratch: a row by column; not used for one row
    bint is_shared              # whether several threads do the tasks
    Answers* trees              # per tree of a classification; NULL if no row is ever learned
    size_t* ends                # memory of `Answers.ends`
    # Only of one row, else NULL:
    int* leaves                 # per tree: the leaf that it reaches
    double* slopes              # per tree: term of its linear model beside the leaf's mean
    bint is_answered            # whether the predictions are there already
    # Of the row that is learned: the predictions of its question, if others were learned since, and
    # whether it has one. One row without predictions of today has learned from these.
    double* asked
    bint is_found

cdef class SmallBatch(Owner):           # scratch of one thread for splits on small batches
    cdef Growth growth
    cdef int* leaves                    # leaves of the samples of a small batch
    cdef int* places                    # places of these samples in the buffer

cdef class ExtraTrees(Ensemble):
    cdef readonly int batch_size        # number of samples of a small batch
    cdef readonly list models           # of LinearModels, per tree; empty in a classification
    cdef readonly list groups           # of Group, in the order of their trees
    cdef readonly list linear           # per group: which nodes of its trees have linear models
    cdef readonly Buffer buffer
    cdef readonly int max_nodes
    cdef readonly object max_features   # None, "sqrt", "log2", a number or a share
    cdef MaxFeatures rule_of_features
    cdef readonly dict rules            # arguments of `Growth`
    cdef list small                     # of SmallBatch, per thread
    cdef int64_t* births                # per tree: samples seen when it replaced the one before
    cdef int64_t* renumbered            # per tree: samples seen when nodes last got other numbers
    cdef int* leaves                    # leaves[tree * batch_size + arrival % batch_size]: reached
    cdef int n_trees

    # The predictions for the last row, because that row is often learned next.
    cdef double* row                    # its values, in n_row columns ...
    cdef int* row_columns               # ... which are these, ascending
    cdef int row_capacity
    cdef int n_row                      # its number of columns; -1: no valid predictions
    cdef Pass single                    # the pass of this row, as it was predicted
    cdef readonly ClassPool pool                 # None in a regression
    cdef readonly NumberMixture mixture          # None in a classification
    cdef readonly LogisticRegression logistic    # None in a regression
    cdef readonly Questions questions   # that wait for their labels, with what `mixed` was then
    cdef Py_ssize_t first_asked         # row of a frame that is predicted: first with a place ...
    cdef int first_place                # ... of its question, and this place; -1: no row has any
    cdef double* claims                 # per member of the mixture, see `Pace`
    cdef unsigned long named            # version of the schema after the last sample

    cdef object store_in(self, Buffer buffer)
    cdef int make_small(self, int n_threads) except -1
    cdef int reserve_answers(self, int n_labels) except -1 nogil
    cdef bint is_same_row(self) noexcept nogil
    cdef int n_visited(self, int n_columns, bint has_lists) noexcept nogil
    cdef int n_visited_by(self, TreeGrowth growing, int64_t first, int n) noexcept nogil
    cdef int n_members(self) noexcept nogil
    cdef int answer(self) except -1 nogil
    cdef void begin_row(self) noexcept nogil
    cdef void find_leaves(self, const int* asked) noexcept nogil
    cdef int n_values(self) noexcept nogil
    cdef double* take(self, Pass* rows, int i, int64_t n_seen) noexcept nogil
    cdef void learn_weights(self, const Pass* rows, int i, const double* answers) noexcept nogil
    cdef double* claims_of(self, double delay) noexcept nogil
    cdef int open_questions(self, Py_ssize_t row, Py_ssize_t stop) except -1 nogil
    cdef int size_of_mixed(self, int width) noexcept nogil
    cdef double* prediction(self, double* mixed, int width) noexcept nogil
    cdef int reserve_and_answer(self) except -1 nogil
    cdef object evidence(self)
    cdef int grow_again(self, Group group) except -1
    cdef void find_small_leaves(self) noexcept
    cdef int check_models(self) except -1
    cdef int check_samples(self) except -1
    cdef int check_questions(self) except -1

    cdef inline PyObject* small_of(self, int thread) noexcept nogil:
        return item_of(<PyObject*>self.small, thread)

    cdef inline PyObject* models_of(self, int tree) noexcept nogil:
        """The `LinearModels` of a tree, in a regression."""
        return item_of(<PyObject*>self.models, tree)

    cdef inline PyObject* group(self, int g) noexcept nogil:
        return item_of(<PyObject*>self.groups, g)

    cdef inline int n_groups(self) noexcept nogil:
        return <int>length_of(<PyObject*>self.groups)
