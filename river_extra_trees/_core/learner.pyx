"""The base of the core objects of all families. See the header."""

from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check, PyFloat_CheckExact
from cpython.long cimport PyLong_Check
from libc.math cimport INFINITY, fabs

from .schema cimport Labels, Schema, is_number

from operator import index

from . import state as limits
from .safe_repr import safe_repr
from .state import captured, from_state

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    #define begin_use(flag) (_InterlockedExchange((flag), 1) == 0)
    #define end_use(flag) ((void)_InterlockedExchange((flag), 0))
    #elif defined(Py_GIL_DISABLED)
    #define begin_use(flag) (__atomic_exchange_n((flag), 1, __ATOMIC_ACQUIRE) == 0)
    #define end_use(flag) __atomic_store_n((flag), 0, __ATOMIC_RELEASE)
    #else
    /* Python's lock is held. */
    #define begin_use(flag) (*(flag) ? 0 : (*(flag) = 1))
    #define end_use(flag) (*(flag) = 0)
    #endif
    """
    bint begin_use(long* flag) noexcept
    void end_use(long* flag) noexcept

cdef double LARGEST_TARGET = limits.LARGEST_TARGET
cdef double LARGEST_WEIGHT = limits.LARGEST_WEIGHT
cdef double FAINTEST_WEIGHT = limits.FAINTEST_WEIGHT


cdef double as_double(object value, str name) except? -1.0:
    """A number, infinity where it is too large for a double, or an error that names it."""
    if PyFloat_CheckExact(value):
        return PyFloat_AS_DOUBLE(value)
    try:
        if PyFloat_Check(value):
            return float(value)     # a subclass may have its own
        if PyLong_Check(value) or is_number(value):
            return value
    except OverflowError:
        return INFINITY
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{name} must be a number, not {type(value).__name__!r}")


cdef double read_weight(object w) except -1.0:
    """A sample weight, 0 if it underflows, or an error that says what is wrong with it."""
    cdef double weight = as_double(w, "w")
    if not 0.0 <= weight <= LARGEST_WEIGHT:
        raise ValueError(f"w must be between 0 and {LARGEST_WEIGHT:g}, not {safe_repr(w)}")
    return weight if weight >= FAINTEST_WEIGHT else 0.0


cdef double read_number(object y) except? -1.0:
    """A numeric target, or an error that says what is wrong with it."""
    cdef double target = as_double(y, "the target")
    if not fabs(target) <= LARGEST_TARGET:
        raise ValueError(
            f"the target must be a finite number of at most {LARGEST_TARGET:g}, not {safe_repr(y)}"
        )
    return target


cdef int first_largest(const double* shares, int n) noexcept nogil:
    """The position of the largest share, the first of equals."""
    cdef int code, best = 0
    for code in range(1, n):
        if shares[code] > shares[best]:
            best = code
    return best


cdef dict normalised(const double* shares, list labels):
    """Every label and its part of the sum of the shares."""
    cdef Py_ssize_t code
    cdef double total = 0.0
    cdef dict found = {}
    for code in range(len(labels)):
        total += shares[code]
    for code in range(len(labels)):
        found[labels[code]] = shares[code] / total
    return found


cdef inline int hold(Learner learner) except -1:
    """Hold an object, or refuse a call while another one runs."""
    if not begin_use(&learner.in_use):
        raise RuntimeError(
            "the model is in use: another thread calls it, or code that one of its own calls "
            "runs (a method of a value, a signal handler). Calls must come one after the "
            "other: guard the model with a lock, or give each thread a copy"
        )
    return 0


cdef int read_tree(object tree) except? -1:
    """The number of a tree, -1 for one that fits no C integer; or an error that names it."""
    try:
        number = index(tree)
    except TypeError:
        raise TypeError(f"tree must be a whole number, not {safe_repr(tree)}") from None
    return number if 0 <= number < 2**31 - 1 else -1


cdef dict name_node(dict node, Schema schema):
    """Replace the column and the code of a node by a name and a value; keep them beside."""
    cdef int column = node["feature"]
    node["column"], node["cut"] = column, node["threshold"]
    node["feature"] = None if column < 0 else schema.names[column]
    if node["nominal"]:
        node["threshold"] = schema.value_of(column, node["cut"])
    return node


class WaitingBatchError(RuntimeError):
    """A batch waits to be grown on: the sample was not learned."""


cdef class Learner:
    """What the core objects of all families have in common. See the header."""

    def __cinit__(self, *_, **__):
        self.schema = Schema()
        self.labels = Labels()

    # --- One call at a time -------------------------------------------------------------------

    cdef int enter(self) except -1:
        """Hold the object, or refuse a call while another one runs."""
        return hold(self)

    cdef void leave(self) noexcept:
        end_use(&self.in_use)

    cdef Use using(self):
        """Hold the object for a `with` statement."""
        cdef Use use = Use.__new__(Use)
        use.learner = self
        return use

    # --- Learning -----------------------------------------------------------------------------

    def learn(self, x, y, w=1.0):
        """Learn a sample; return whether a batch is full now.

        Raises
        ------
        WaitingBatchError
            If a batch was full already. The sample is valid, and can be learned after the growth.
        """
        hold(self)
        try:
            return self.learn_sample(x, y, w)
        finally:
            end_use(&self.in_use)

    cdef bint learn_sample(self, object x, object y, object w) except -1:
        cdef double weight = read_weight(w), target = self.read_target(y)
        cdef bint is_new = not self.regression and target < 0.0
        self.check_sample(target, weight)
        if weight == 0.0:
            self.schema.validate(x)
            return False
        if self.batch_is_full():
            self.schema.validate(x)
            raise WaitingBatchError(
                "the last batch has not been grown on: there was no memory, or a signal broke in")
        self.schema.admit(x)
        try:
            if is_new:
                target = self.labels.learn(y)
            self.reserve(<int>len(self.labels.labels))
        except BaseException:
            if is_new and target >= 0.0:
                self.labels.unlearn()
            self.schema.retract()
            raise
        if is_new:
            self.widen(<int>len(self.labels.labels))
        self.take(target, weight)
        return self.batch_is_full()

    def validate(self, x, y, w):
        """Raise what learning this sample would raise, and learn nothing."""
        hold(self)
        try:
            self.read_and_refuse(x, y, w)
        finally:
            end_use(&self.in_use)

    cdef int read_and_refuse(self, object x, object y, object w) except -1:
        cdef double weight = read_weight(w)
        self.check_sample(self.read_target(y), weight)
        return self.schema.validate(x)

    cdef double read_target(self, object y) except? -1.0:
        """Number or code of a target; -1 for a label that is new. Raises where it is neither."""
        return read_number(y) if self.regression else self.labels.code(y)

    # --- Answers ------------------------------------------------------------------------------

    def predict_label(self, x):
        """The most probable label, the first of equals; None before the first sample."""
        hold(self)
        try:
            return self.label(x)
        finally:
            end_use(&self.in_use)

    def predict_proba(self, x):
        """Every label learned so far and its probability."""
        hold(self)
        try:
            return self.probabilities(x)
        finally:
            end_use(&self.in_use)

    def predict_number(self, x):
        """The predicted target; 0 before the first sample."""
        hold(self)
        try:
            return self.number(x)
        finally:
            end_use(&self.in_use)

    # --- Looking at the trees -----------------------------------------------------------------

    @property
    def n_trees(self):
        """Number of trees."""
        return self.count_trees()

    def nodes(self, tree):
        """The nodes of a tree in preorder, left before right, as plain values.

        Each has `node`, `parent` (-1 for the root), `depth`, `left`, `right`, `feature` (a name, or
        None in a leaf), `threshold` (a number, or the nominal value that goes left), `column` and
        `cut` (the same two as the schema numbers them), `nominal`, `missing_left`, `weight`, `gain`
        and `values`. A model without trees has an empty tree 0.
        """
        cdef int n_trees, number = read_tree(tree)
        hold(self)
        try:
            n_trees = self.count_trees()
            if not 0 <= number < max(1, n_trees):
                raise IndexError(f"there is no tree {safe_repr(tree)}: this model has " + (
                    "no trees yet" if n_trees == 0 else "one tree, number 0" if n_trees == 1
                    else f"trees 0 to {n_trees - 1}"))
            return [name_node(node, self.schema) for node in self.tree_nodes(number)] if (
                n_trees) else []
        finally:
            end_use(&self.in_use)

    def sizes(self):
        """(number of nodes of all trees, number of splits on the longest way to a leaf)."""
        hold(self)
        try:
            return self.tree_sizes()
        finally:
            end_use(&self.in_use)

    def row_of(self, x):
        """The row of doubles that x encodes to, by column."""
        hold(self)
        try:
            return self.schema.row_of(x)
        finally:
            end_use(&self.in_use)

    # --- Copies and states --------------------------------------------------------------------

    def for_serving(self):
        """A copy that answers alike, without what only learning needs."""
        hold(self)
        try:
            return self.serving_copy()
        finally:
            end_use(&self.in_use)

    def state(self):
        """What the object and its parts remember at this moment, see `state.py`."""
        # Without memory numpy may fail and not say why, on which `finally` would crash.
        cdef Holder _holder = Holder(self)
        return captured(self.fields())

    def __reduce__(self):
        return from_state, (type(self), self.state())

    def check(self):
        """Raise an error if an invariant is broken, of a part or of the whole."""
        hold(self)
        try:
            for field in self.fields().values():
                for part in field if type(field) is list else [field]:
                    if hasattr(type(part), "check"):
                        part.check()
            self.check_structure()
        finally:
            end_use(&self.in_use)

    # --- What a family brings -----------------------------------------------------------------

    cdef int check_sample(self, double target, double weight) except -1:
        return 0

    cdef int reserve(self, int n_labels) except -1:
        raise NotImplementedError

    cdef void widen(self, int n_labels) noexcept:
        pass

    cdef void take(self, double target, double weight) noexcept:
        pass

    cdef bint batch_is_full(self) noexcept:
        return False

    cdef object label(self, object x):
        raise NotImplementedError

    cdef dict probabilities(self, object x):
        raise NotImplementedError

    cdef double number(self, object x) except? -1.0:
        raise NotImplementedError

    cdef int count_trees(self) noexcept:
        return 0

    cdef list tree_nodes(self, int tree):
        raise NotImplementedError

    cdef tuple tree_sizes(self):
        raise NotImplementedError

    cdef Learner serving_copy(self):
        raise NotImplementedError

    cdef dict fields(self):
        raise NotImplementedError

    cdef int check_structure(self) except -1:
        raise NotImplementedError


cdef class Use:
    """Holds a core object in a `with` statement."""

    def __enter__(self):
        self.learner.enter()

    def __exit__(self, *_):
        self.learner.leave()


cdef class Holder:
    """Holds a core object for as long as this object lives."""

    def __cinit__(self, Learner learner):
        hold(learner)
        self.learner = learner

    def __dealloc__(self):
        if self.learner is not None:
            end_use(&self.learner.in_use)
