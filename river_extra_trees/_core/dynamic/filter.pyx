"""A particle filter of dynamic trees: learning, answers, state. See the header."""

from libc.limits cimport INT_MAX
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..batch cimport Reader
from ..guarded cimport hold, release
from ..learner cimport STRETCH, Learner
from ..linalg cimport row_width
from ..shares cimport first_largest, total_of
from .inspection cimport (
    alc_at, describe, distinct_roots, least_useful, nodes_at, relevance, scores, split_shares,
    tree_statistics,
)
from .leaf_models cimport Predictive, predictive
from .particles cimport (
    ALC, ALM, ENTROPY, OLDEST, RANDOM, Particles, faded, fill_v, follow, gather, regressors_wanted,
    reserve_scratch,
)
from .step cimport learn_row, oldest, random, rejuvenate, reserve_step, retire_slot

from .load import check, restored, serving_state_of, settings_of, state_of

LARGEST_SQUARE = 1e290

POLICIES = {"oldest": OLDEST, "random": RANDOM, "alc": ALC, "alm": ALM, "entropy": ENTROPY}


cdef class ParticleFilter(Particles):
    """A particle filter: learns samples, answers, and describes its trees."""

    # --- Learning ---------------------------------------------------------------------------

    def learn(self, x, y, w=1.0, discard="oldest"):
        """Learn a sample; return its number in the stream, 0 if its weight is 0.

        Parameters
        ----------
        x, y, w
            The sample.
        discard
            Which active sample retires if the window is full, see `to_retire`.
        """
        cdef int64_t before
        hold(self)
        try:
            before = self.n_seen
            self.discard = POLICIES[discard]
            self.learn_sample(x, y, w)
            return self.n_seen if self.n_seen > before else 0
        finally:
            release(self)

    def go_on(self, Reader reader, discard="oldest", every=None):
        """Predict or learn some of the next rows; return what `learn` returns for the last one.

        Parameters
        ----------
        reader
            Reader of the rows.
        discard
            Which active sample retires if the window is full, see `to_retire`.
        every
            Stop when the number of samples learned is a multiple of this.
        """
        cdef int64_t before
        cdef Py_ssize_t n = STRETCH
        with self.using():
            before = self.n_seen
            if reader.learns and every is not None:
                n = min(n, every - before % every)
            self.discard = POLICIES[discard]
            self.read_rows(reader, reader.row + n)
            return self.n_seen if self.n_seen > before else 0

    cdef int check_slot(self, int slot) except -1:
        if not 0 <= slot < self.pool.capacity or self.pool.arrival[slot] < 0:
            raise ValueError(f"no active sample in slot {slot}")
        return 0

    cdef int check_sample(self, double target, double weight) except -1:
        """Raise if the target is so large that the sums of squares of a long stream overflow."""
        if self.regression and weight * target * target > LARGEST_SQUARE:
            raise ValueError(
                f"w times the square of the target must be at most {LARGEST_SQUARE:g}: the target "
                f"is {target:g} and w is {weight:g}")
        return 0

    cdef int reserve(self, int n_labels) except -1 nogil:
        """Find the leaves of the row, and allocate all memory that the step may need.

        New columns and labels are added last, when nothing else can fail.
        """
        cdef size_t capacity = self.pool.capacity
        cdef int n_regressors = regressors_wanted(self)
        cdef int n_classes = max(self.model.n_classes, n_labels)
        self.leaving = self.chosen() if self.pool.size >= self.window else -1
        if self.pool.size - (self.leaving >= 0) == self.pool.capacity:
            capacity *= 2
        if capacity > INT_MAX:
            with gil:
                raise MemoryError("the window is too large")
        gather(self, self.schema.row, 0, self.n_alive)
        reserve_step(self)
        reserve_scratch(self, capacity, self.schema.n_columns, n_regressors + 1,
                        row_width(self.model.multinomial, n_regressors, n_classes))
        follow(self, n_regressors, n_classes, <int>capacity)
        return 0

    cdef void take(self, double target, double weight) noexcept nogil:
        if self.leaving >= 0:
            retire_slot(self, self.leaving)
        learn_row(self, target, weight)

    def active_points(self):
        """The active samples in order of arrival, as `Pool.point` gives them."""
        with self.using():
            return [self.pool.point(slot) for slot in self.pool.slots()]

    def retire(self, int slot):
        """Move an active sample into the priors of its leaves."""
        with self.using():
            self.check_slot(slot)
            retire_slot(self, slot)

    def to_retire(self, str discard):
        """Slot of the active sample to retire next: the "oldest", one at "random", or the sample
        with the smallest score by a criterion of `scores`; the oldest of equal ones.
        """
        with self.using():
            self.discard = POLICIES[discard]
            return self.chosen()

    cdef int chosen(self) except? -1 nogil:
        """Slot of the active sample to retire next."""
        if self.discard == OLDEST:
            return oldest(self)
        return random(self) if self.discard == RANDOM else least_useful(self, self.discard)

    def rejuvenate(self):
        """Add as many new particles, grown from the active samples in random order."""
        with self.using():
            rejuvenate(self)

    # --- Answers: averages over the predictive distributions of the leaves --------------------

    cdef double clamped(self, double mean) noexcept nogil:
        """The mean, limited to the range of the targets seen, as linear models extrapolate."""
        return min(max(mean, self.lowest), self.highest)

    cdef double row_number(self) except? -1.0 nogil:
        cdef double total = 0.0
        cdef int hit
        self.find_row()
        if self.lowest > self.highest:      # no sample yet
            return 0.0
        for hit in range(self.n_hits):
            total += self.hits[hit].share * self.clamped(
                predictive(&self.model, self.statistics_of(hit), self.v).mean)
        return self.clamped(total)

    def mixture(self, x):
        """(mean, squared scale, degrees of freedom, weight) of each distinct leaf at x."""
        cdef int hit
        cdef Predictive student
        cdef list parts = []
        with self.using():
            self.find_leaves(x)
            for hit in range(self.n_hits):
                student = predictive(&self.model, self.statistics_of(hit), self.v)
                mean = self.clamped(student.mean) if self.lowest <= self.highest else 0.0
                parts.append((mean, student.scale2, student.df, self.hits[hit].share))
        return parts

    cdef int find_leaf(self, int tree, object x) except -1:
        """Find the leaf of x in one tree: the first hit."""
        if not 0 <= tree < self.n_alive:
            raise IndexError(f"there is no tree {tree}, only 0 to {self.n_alive - 1}")
        self.schema.encode(x)
        fill_v(self, self.schema.row, 0.0)
        gather(self, self.schema.row, tree, tree + 1)
        return 0

    def number_of_tree(self, int tree, x):
        """The mean that one tree predicts."""
        with self.using():
            self.find_leaf(tree, x)
            if self.lowest > self.highest:      # no sample yet
                return 0.0
            return self.clamped(predictive(&self.model, self.statistics_of(0), self.v).mean)

    cdef double* row_shares(self) except? NULL nogil:
        cdef int hit, k
        cdef const double* chances
        cdef double* answer = self.model.prior      # scratch here: no other use in classification
        self.find_row()
        memset(answer, 0, self.model.width * sizeof(double))
        for hit in range(self.n_hits):
            chances = self.class_chances(hit)
            for k in range(self.model.n_classes):
                answer[k] += self.hits[hit].share * chances[k]
        return answer

    cdef int row_label(self) except -1 nogil:
        """The first of the largest probabilities, normalised first: rounding can make two equal."""
        cdef int k, n = self.model.n_classes
        cdef double* shares = self.row_shares()
        cdef double total = total_of(shares, n)
        for k in range(n):
            shares[k] /= total
        return first_largest(shares, n)

    cdef const double* class_chances(self, int hit) noexcept nogil:
        """Probabilities of the classes in a leaf that was found."""
        cdef int k
        cdef double a = self.model.concentration
        cdef double* shares = self.row_other + self.model.width
        cdef const double* row = self.statistics_of(hit)
        cdef double whole = row[0] + a * self.model.n_classes
        for k in range(self.model.n_classes):       # Dirichlet(a, ..., a), section 2.1
            shares[k] = (row[1 + k] + a) / whole
        return shares

    # --- Scores: section 4 -------------------------------------------------------------------

    def scores(self, str criterion):
        """Score of each active sample, averaged over the trees, by slot.

        "alc": decrease of the predictive variance over the space. "alm": predictive variance at
        the sample, including the variance among the trees. "entropy": entropy of the predictive
        class probabilities at the sample.
        """
        with self.using():
            return scores(self, POLICIES[criterion])

    def alc_at(self, x):
        """Decrease of the predictive variance over the space if the target at x were known."""
        with self.using():
            return alc_at(self, x)

    def relevance(self):
        """Decrease of variance (or entropy) by the splits, per particle and column.

        For each split, the decrease is weight times predictive variance in the middle of its
        region, taken as one leaf, minus the same for its two sides; in classification, the entropy
        replaces the variance. The sum is divided by the weight of all samples. A column that
        explains nothing has about 0 or less.
        """
        with self.using():
            return relevance(self)

    # --- Inspection -------------------------------------------------------------------------

    cdef int count_trees(self) noexcept:
        return self.n_alive      # twice as many after a rejuvenation

    cdef list tree_nodes(self, int tree):
        return describe(self, tree)

    cdef tuple tree_sizes(self):
        leaves, heights = tree_statistics(self)
        return 2 * sum(leaves) - len(leaves), max(heights)

    def distinct_roots(self):
        """(root, number of particles) of each distinct tree."""
        with self.using():
            return distinct_roots(self)

    def nodes_at(self, root):
        """Nodes of the tree at a root as they are stored, in preorder, left before right.

        The statistics of a leaf are those at its time, the number of samples when it last decayed.
        """
        with self.using():
            return nodes_at(self, root)

    def factor_weights(self):
        """Posterior probability of each forgetting factor."""
        return {self.decays[k]: self.factor_posterior[k] for k in range(self.n_decays)}

    def particle_shares(self):
        """Weight of each particle in the predictions."""
        return [self.share[particle] for particle in range(self.n_alive)]

    def split_shares(self):
        """Share of each column in the splits of the tree, per particle."""
        with self.using():
            return split_shares(self)

    def tree_statistics(self):
        """Number of leaves and height (splits on the longest path), per particle."""
        with self.using():
            return tree_statistics(self)

    cdef int check_structure(self) except -1:
        check(self)
        return 0

    # --- State ------------------------------------------------------------------------------

    def settings(self):
        """The arguments that make an empty filter of the same kind."""
        return settings_of(self)

    cdef dict fields(self):
        return state_of(self)

    cdef Learner serving_copy(self):
        return restored(type(self), serving_state_of(self))

    @classmethod
    def restored(cls, values):
        """Make a filter from its state."""
        return restored(cls, values)
