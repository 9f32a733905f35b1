"""Rules of growth, and the growth itself. See `workspace` for the layout."""

cimport cython

from .entry cimport admit, enter
from .leaf cimport grow_leaf
from .workspace cimport ENTROPY, GINI, VARIANCE


@cython.final
cdef class Splitter(Workspace):
    """Rules of growth, and the growth itself.

    A leaf is split while its samples differ in their targets and the rules allow it, even where no
    split improves the impurity (two features may only help together). Candidate thresholds are
    the midpoints of neighbouring values, `x <= threshold` goes left; a nominal feature is split one
    value against the rest, that value going left. Where values are missing, each threshold is tried
    with the missing ones right, then left, and last with all present values on the one and the
    missing ones on the other side; where none is missing, later ones go with the heavier child.
    Of equally good splits the lower column wins, then missing right before left, then the lower
    threshold; equal means within a relative 1e-12, so that rounding decides nothing.

    Parameters
    ----------
    criterion
        `"gini"`, `"entropy"` or `"variance"`.
    max_depth
        Depth at which leaves stay leaves; `None` for no limit.
    min_samples_split
        Least number of samples that are split, copies of a bootstrap counted.
    min_samples_leaf
        Least number of samples on either side, likewise.
    splitter
        `"best"`, or `"random"` for one uniformly drawn threshold per visited feature.
    shuffled
        Visit the features in random order even where all are visited: it decides ties.
    reference
        Decide as the published program of stream decision trees does. A leaf of the given tree is
        judged by the impurity that its parent was judged by: it is split even where its samples
        agree, and not where the children would be less pure than that. Scores are computed
        literally and compared exactly, so that rounding decides between equal ones.
    forgetful_reference
        Decide as the published program of forgetful trees does: scores are computed literally and
        compared exactly, and a threshold is the largest value that goes left.
    """

    def __init__(self, criterion, max_depth=None, min_samples_split=2, min_samples_leaf=1,
                 splitter="best", shuffled=False, reference=False, forgetful_reference=False):
        self.criterion = {"gini": GINI, "entropy": ENTROPY, "variance": VARIANCE}[criterion]
        self.random = {"best": False, "random": True}[splitter]
        self.max_depth = 0x7FFFFFFF if max_depth is None else max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.shuffled = shuffled
        self.reference = reference
        self.forgetful_reference = forgetful_reference
        self.exact = reference or forgetful_reference

    def __reduce__(self):
        return _splitter_from_state, (
            ("gini", "entropy", "variance")[self.criterion], self.max_depth,
            self.min_samples_split, self.min_samples_leaf, "random" if self.random else "best",
            self.shuffled, self.reference, self.forgetful_reference,
        )

    cdef int grow(self, Trees trees, int root, Window window, Schema schema, const int* copies,
                  int max_features, double step, Rng rng, const uint8_t* chosen=NULL,
                  const int* members=NULL, int n_members=0) except -1:
        """Grow the leaves below `root` that the sorted samples of the window reach.

        The statistics of the nodes that exist already must hold the samples (`Trees.learn`). The
        new nodes get those of the samples in the window. `copies` gives per slot how often a
        sample is in the tree (NULL: once each), `chosen` per column whether it may be split (NULL:
        all may). `members` are the slots of the samples in the tree, in order of arrival, for
        callers that have them at hand (NULL: all samples with copies).

        Returns the number of leaves that were split.
        """
        cdef int n_tasks
        cdef int before = trees.n_used - trees.n_free
        self.prepare(trees, window, schema, copies, chosen)
        self.members = members if members != NULL else window.by_arrival
        self.n_members = n_members if members != NULL else window.n_sorted
        self.step, self.rng = step, rng
        self.max_features = max_features if max_features > 0 else self.n_chosen
        with nogil:
            enter(self, root, copies)
            n_tasks = admit(self)
            while n_tasks > 0:
                n_tasks -= 1
                grow_leaf(self, self.tasks[n_tasks], &n_tasks)
        self.window = self.trees = None
        return (trees.n_used - trees.n_free - before) // 2


def _splitter_from_state(*rules):
    return Splitter(*rules)
