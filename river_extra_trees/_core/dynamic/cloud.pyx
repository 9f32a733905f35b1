"""The cloud as Python sees it."""

from ..learner cimport read_number, read_weight
from .grove cimport Grove
from .pool cimport Pool
from .answers cimport mixture, predict_number, predict_proba
from .learning cimport learn_row, plant_roots
from .particles cimport Particles
from .rejuvenation cimport rejuvenate
from .retirement cimport oldest, random, retire_slot
from .shape cimport prepare, widen

from .inspection import describe, distinct_roots, nodes, split_shares, tree_statistics
from .restoring import restored
from .soundness import check
from ..state import from_state
from .state import bare_state_of, settings_of, state_of

cdef double LARGEST_SQUARE = 1e290


cdef class Cloud(Particles):
    """Particles that learn, retire and answer. For the parameters see `Particles`."""

    def __cinit__(self):
        self.pool, self.grove = Pool(), Grove()
        widen(self, 0, 0, 1 if self.model.multinomial else 0, self.pool.capacity)
        plant_roots(self, 0)

    # --- Learning ---------------------------------------------------------------------------

    cdef double read_target(self, object y) except? -1.0:
        """Number or code of a target; -1 for a label that is new. Raises where it is neither."""
        return self.labels.code(y) if self.model.multinomial else read_number(y)

    cdef int check_square(self, double target, double weight) except -1:
        """Refuse what the sums of squares of a long stream could not hold."""
        if not self.model.multinomial and weight * target * target > LARGEST_SQUARE:
            raise ValueError(
                f"w times the square of the target must be at most {LARGEST_SQUARE:g}: the target "
                f"is {target:g} and w is {weight:g}")
        return 0

    def validate(self, x, y, w):
        """Raise what learning this sample would raise."""
        cdef double weight = read_weight(w)
        self.check_square(self.read_target(y), weight)
        self.schema.validate(x)

    def learn(self, x, y, w=1.0, learner=None):
        """Make room in the window, learn a sample, rejuvenate if it is time for that.

        True if it was learned. A signal takes effect before or after all of this. If memory runs
        out, nothing was done, or the sample is learned and a rejuvenation, or the moves of some
        trees, are left out.

        Parameters
        ----------
        x, y, w
            The sample.
        learner
            Has `_discarded`, a function that changes nothing and returns the slot to retire from a
            full window, and `rejuvenate_every`. None where the caller has made room in the window.
        """
        cdef double weight = read_weight(w)
        cdef double target = self.read_target(y)
        cdef bint is_new = self.model.multinomial and target < 0.0
        cdef int discarded = -1
        self.check_square(target, weight)
        if weight == 0.0:
            self.schema.validate(x)
            return False
        if learner is not None and self.pool.size >= self.window:
            self.schema.validate(x)     # what is refused costs no search for a slot
            discarded = learner._discarded()
        self.schema.admit(x)
        try:
            if is_new:
                target = self.labels.learn(y)
            prepare(self, target, discarded >= 0)
        except BaseException:
            if is_new and target >= 0.0:
                self.labels.unlearn()
            self.schema.retract()
            raise
        if discarded >= 0:
            retire_slot(self, discarded)
        learn_row(self, target, weight)
        if learner is not None and learner.rejuvenate_every is not None:
            if self.n_seen % learner.rejuvenate_every == 0:
                rejuvenate(self)
        return True

    def retire(self, int slot):
        """Move an active point into the priors of its leaves."""
        if not 0 <= slot < self.pool.capacity or self.pool.arrival[slot] < 0:
            raise ValueError(f"no active point in slot {slot}")
        retire_slot(self, slot)

    def oldest(self):
        """Slot of the active point that arrived first."""
        return oldest(self)

    def random(self):
        """Slot of an active point drawn at random."""
        return random(self)

    def rejuvenate(self):
        """Add as many new particles, grown from the active points in random order."""
        rejuvenate(self)

    # --- Answers ----------------------------------------------------------------------------

    def predict_number(self, x):
        """Mean over the particles of the predictive mean at x; 0 before the first sample."""
        return predict_number(self, x)

    def mixture(self, x):
        """(mean, squared scale, degrees of freedom, weight) per distinct leaf at x."""
        return mixture(self, x)

    def predict_proba(self, x):
        """Every label learned so far and its mean predictive probability at x."""
        return predict_proba(self, x)

    def predict_label(self, x):
        """The most probable label, the first of equals; None before the first sample."""
        found = predict_proba(self, x)
        return max(found, key=found.get) if found else None

    # --- Inspection -------------------------------------------------------------------------

    def describe(self, int particle):
        """The nodes of one tree in preorder, as dicts of plain values."""
        return describe(self, particle)

    def distinct_roots(self):
        """(root, number of particles) of each distinct tree."""
        return distinct_roots(self)

    def nodes(self, int root):
        """Nodes of the tree at a root in preorder, left before right, as plain values."""
        return nodes(self, root)

    def beliefs(self):
        """Forgetting factors and the probability of each."""
        return {self.decays[k]: self.belief[k] for k in range(self.n_decays)}

    def shares(self):
        """Per particle: its share of the answers."""
        return [self.share[particle] for particle in range(self.n_alive)]

    def split_shares(self):
        """Per particle and column: share of the column in the splits of the tree."""
        return split_shares(self)

    def tree_statistics(self):
        """Per particle: number of leaves and height, the number of splits on the longest path."""
        return tree_statistics(self)

    def check(self):
        """Raise AssertionError if an invariant is broken."""
        check(self)

    # --- State ------------------------------------------------------------------------------

    def settings(self):
        """The arguments that make an empty cloud of the same kind."""
        return settings_of(self)

    def state(self):
        """All that the cloud has learned, with its settings."""
        return state_of(self)

    def bare(self):
        """A copy that answers as this cloud does, without the active points."""
        return self.restored(bare_state_of(self))

    @classmethod
    def restored(cls, values):
        """The cloud of a state."""
        return restored(cls, values)

    def __reduce__(self):
        return from_state, (type(self), self.state())
