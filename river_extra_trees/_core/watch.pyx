# cython: binding=False, nonecheck=True
"""What a watch does with every sample: answers until their labels come, and evidence of changes.

It is little, and compiled, so that a watched model takes hardly more time than the model alone;
nearly all other work comes once per block.

Evidence that the distribution of a signal has changed, with a bound on false alarms.

A signal is a sequence of numbers, one per block of samples, which rise if something is wrong. Its
latest number gets a conformal p-value: the share of the numbers before it that are as large, ties
broken at random. If nothing has changed, the numbers are exchangeable, and the p-value is uniform,
whatever the distribution of the numbers (Vovk, Gammerman and Shafer 2005). A bet of strength s on
small p-values, sin(pi s) / (pi s) ((1 - p) / p)^s with 0 < s < 1, then earns 1 on average: it is
the density of a beta distribution. R_s <- (1 + R_s) bet is the Shiryaev-Roberts statistic of its
bets; minus the number of blocks it is a martingale, and so is the mean of several R_s. This mean
needs c blocks on average at least to reach a threshold c (Vovk, Petej, Nouretdinov, Ahlberg,
Carlsson and Gammerman 2021, "Retrain or not retrain: conformal test martingales for change-point
detection", section 5; means of statistics: Shin, Ramdas and Rinaldo 2024, "E-detectors: a
nonparametric framework for sequential change detection"). Weak bets gather evidence of a small
change over many blocks, strong ones find a large change within a few.

Numbers that depend on their predecessors are not exchangeable: losses, for example, come in runs.
Then the blocks of this signal are made twice as long, until they hardly depend on each other. A
signal whose longest blocks still do moves by itself, such as a clock, and is not tested. After many
blocks that do not, they are made shorter again.

compared    double[MOST]: the numbers that the latest one is compared with, a ring that begins at
            `oldest`. Floats would not hold the losses of targets in some units
waiting     double[WAITING]: the latest numbers, a ring; they wait to be compared with
ratios      double[N_BETS]: R_s for each strength s

Bins: how often the values of the columns of a stream are missing, unusual, or in each of some bins.

names       of the columns from 1 on. Column 0 stands for the names themselves
values      per column: a dict from usual values to bins, of a column of names; else None. It has
            one item more than `names`, and none before there are bins
counts      float[n_columns, N_BINS]: of the present block. Floats hold them exactly, and half as
            many of the caches' lines are read at the end of a block
usual       the same, of the first REFERENCE blocks. Then it is fixed, so that the distances of
            blocks from it are exchangeable if nothing changes; else those of equal blocks would
            move with it
recent      the same, of the latest blocks; earlier ones fade
n_usual     int[n_columns]: blocks in the usual counts, besides the first samples
edges       double[n_columns, N_BINS - 2]: a number lies in bin 1 + the number of edges below it;
            +inf where there is no edge
held        double[N_HELD, n_columns]: numbers of `n_held` samples that are not counted yet, NaN
            where there is none. They are counted together, column by column: when a sample
            comes, the caches hold neither edges nor counts
rows        samples that columns without bins wait for, N_ROWS at most
waiting     these columns

Bin 0 counts missing values. In columns of names, any value that is not usual is in bin 1; they have
no edges. Column 0 has its value in the last bin where a sample has a name that is not known, else
in bin 1.
"""

import math

import numpy as np

cimport cython
from cpython.dict cimport PyDict_GetItem, PyDict_Next
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.ref cimport PyObject
from cpython.unicode cimport PyUnicode_CheckExact, PyUnicode_Compare
from libc.math cimport NAN, fabs, log, pow, sqrt

from .validation cimport is_missing

from .safe_repr import safe_repr
from .state import FINITE, LARGEST_COUNT, LARGEST_FLOAT, State, require

cdef extern from "Python.h":
    # Without references to the names and values: their counts are not in the caches.
    PyObject* PyList_GET_ITEM(object, Py_ssize_t)
    bint PyFloat_CheckExact(PyObject*)
    double PyFloat_AS_DOUBLE(PyObject*)

cdef enum:
    MOST = 256      # numbers that one is compared with
    WAITING = 16    # a number waits for so many: those after a change differ
    N_BETS = 3
    N_BINS = 16
    REFERENCE = 16
    N_ROWS = 64     # from which bins are made
    N_HELD = 8
    SAMPLES = 64    # of a shortest block, of which some are looked at
    SPACING = 8     # one sample in eight is looked at in detail
    FEWEST_LOSSES = 16      # losses of a shortest block

BINS, ROWS, BLOCK, STRIDE, LOSSES = N_BINS, N_ROWS, SAMPLES, SPACING, FEWEST_LOSSES
HIGHEST_LOSSES = 5      # times that a block of losses may become twice as long

# --- Evidence -------------------------------------------------------------------------------------

LATEST = WAITING
LEAST = 20      # numbers that a number is compared with, at least
cdef int CHECKED = 30       # numbers between two tests of whether they depend on each other
# Numbers depend on each other if their autocorrelation exceeds this by so many deviations.
cdef double DEPENDENT = 0.1, DEVIATIONS = 3.0
cdef int C_LEAST = LEAST
STRENGTHS = (0.2, 0.5, 0.8)     # of the bets
# So that their mean is 1.
cdef double[N_BETS] factors = [math.sin(math.pi * s) / (math.pi * s) for s in STRENGTHS]
cdef double NEAREST = 1e-12     # of a p-value to 0 and 1


@cython.final
cdef class Evidence:
    """Evidence of changes of one signal.

    Parameters
    ----------
    run_length
        Expected number of shortest blocks between two false alarms, at least.
    rng
        Random numbers that break ties.
    highest
        Times that a block may become twice as long.
    """

    cdef readonly double run_length
    cdef readonly object rng
    cdef readonly int highest       # level of the longest blocks
    cdef public int level           # blocks consist of 2**level shortest blocks
    cdef readonly long long n       # numbers since the blocks have their length
    cdef double ratios[N_BETS]
    cdef double compared[MOST]
    cdef double waiting[WAITING]
    cdef int n_compared, oldest, n_waiting, next_waiting

    def __init__(self, double run_length, rng, int highest):
        self.run_length, self.rng, self.highest, self.level = run_length, rng, highest, 0
        self.restart()

    def __reduce__(self):
        return restored, (self.run_length, self.rng, self.highest, self.state())

    def state(self):
        """The level, the counts and the numbers, in their order."""
        cdef int i
        compared = [self.compared[(self.oldest + i) % MOST] for i in range(self.n_compared)]
        first = self.next_waiting - self.n_waiting + WAITING
        waiting = [self.waiting[(first + i) % WAITING] for i in range(self.n_waiting)]
        return {
            "level": self.level,
            "n": self.n,
            "ratios": np.array([self.ratios[i] for i in range(N_BETS)]),
            "compared": np.array(compared, float),
            "waiting": np.array(waiting, float),
        }

    cpdef restart(self):
        """Forget all numbers."""
        cdef int i
        self.n_compared = self.oldest = self.n_waiting = self.next_waiting = 0
        self.n = 0
        for i in range(N_BETS):
            self.ratios[i] = 0.0

    @property
    def is_tested(self):
        """Whether the signal does not move by itself."""
        return self.level <= self.highest

    cpdef bint ends(self, long long n_blocks):
        """Whether a block ends after this number of shortest blocks."""
        return self.level <= self.highest and n_blocks % (1 << self.level) == 0

    cpdef bint update(self, double number) except -1:
        """Take the number of a block; return whether the signal has changed."""
        cdef bint is_due
        cdef int i
        cdef double total = 0.0
        cdef double[N_BETS] earned
        if self.n_compared >= C_LEAST:
            lay_bets(self.p_value(number), earned)
            for i in range(N_BETS):
                self.ratios[i] = (1.0 + self.ratios[i]) * earned[i]
                total += self.ratios[i]
        self.keep(number)
        if total / N_BETS * (1 << self.level) >= self.run_length:
            return True
        # The first time is before the first test.
        is_due = self.n_compared >= C_LEAST and (self.n - WAITING - C_LEAST) % CHECKED == 0
        if is_due and self.depend():
            self.change_level(1)
        elif self.n >= MOST and self.level > 0:
            self.change_level(-1)
        return False

    cdef int change_level(self, int step) except -1:
        """Make the blocks twice or half as long; the statistics count blocks."""
        cdef double[N_BETS] ratios = self.ratios
        cdef int i
        self.restart()
        self.level += step
        for i in range(N_BETS):
            self.ratios[i] = ratios[i] / 2.0 ** step
        return 0

    cpdef double p_value(self, double number) except -1.0:
        """The conformal p-value of a number."""
        cdef int i, n = self.n_compared, n_larger = 0, n_least = 0
        cdef double drawn = self.rng.random()
        for i in range(n):
            n_larger += self.compared[i] > number
            n_least += self.compared[i] >= number
        return (n_larger + drawn * (n_least - n_larger + 1)) / (n + 1)

    cpdef keep(self, double number):
        """Let a number wait, and compare with the one that has waited longest."""
        cdef double waited = self.waiting[self.next_waiting]
        self.n += 1
        self.waiting[self.next_waiting] = number
        self.next_waiting = (self.next_waiting + 1) % WAITING
        if self.n_waiting < WAITING:
            self.n_waiting += 1
        elif self.n_compared < MOST:
            self.compared[self.n_compared] = waited
            self.n_compared += 1
        else:
            self.compared[self.oldest] = waited
            self.oldest = (self.oldest + 1) % MOST

    cdef bint depend(self) noexcept:
        """Whether the numbers depend on their predecessors; a slow trend, as of learning, is none.

        The mean squared difference of numbers two places apart, over that of neighbours, is 1 + r
        for an autoregression with the coefficient r, and hardly changed by a trend.
        """
        cdef double near = 0.0, far = 0.0, here, before, earlier
        cdef int i, n = self.n_compared
        for i in range(1, n):
            here = self.compared[(self.oldest + i) % MOST]
            before = self.compared[(self.oldest + i - 1) % MOST]
            near += (here - before) * (here - before)
            if i >= 2:
                earlier = self.compared[(self.oldest + i - 2) % MOST]
                far += (here - earlier) * (here - earlier)
        near, far = near / (n - 1), far / (n - 2)
        return far > (1.0 + DEPENDENT + DEVIATIONS / sqrt(n)) * near

    def means(self):
        """The mean of the latest numbers, and of those that they are compared with."""
        state = self.state()
        return float(state["waiting"].mean()), float(state["compared"].mean())


cdef void lay_bets(double p, double* earned) noexcept:
    """What each bet on a small p-value earns."""
    cdef double odds, root
    p = min(max(p, NEAREST), 1.0 - NEAREST)
    odds = (1.0 - p) / p
    root = pow(odds, 0.2)
    earned[0], earned[1], earned[2] = root, sqrt(odds), root * root * root * root
    for i in range(N_BETS):
        earned[i] *= factors[i]


def bet(double p, int i):
    """What the bet of strength i on a small p-value earns."""
    cdef double[N_BETS] earned
    lay_bets(p, earned)
    return earned[i]


def restored(double run_length, rng, int highest, values):
    """Evidence with a state, which is checked."""
    cdef Evidence made = Evidence(run_length, rng, highest)
    cdef double number
    cdef int i
    state = State("the evidence", values, ("level", "n", "ratios", "compared", "waiting"))
    compared = state.numbers("compared", None, **FINITE)
    waiting = state.numbers("waiting", None, **FINITE)
    require(len(compared) <= MOST, "the evidence has too many numbers")
    require(len(waiting) == WAITING or (len(waiting) < WAITING and not len(compared)),
            "the evidence has the wrong number of latest numbers")
    for number in [*compared, *waiting]:
        made.keep(number)
    made.level = state.whole("level", 0, highest + 1)
    made.n = state.whole("n", len(compared) + len(waiting), LARGEST_COUNT)
    for i, number in enumerate(state.numbers("ratios", N_BETS, least=0.0, most=LARGEST_FLOAT)):
        made.ratios[i] = number
    return made


# --- Bins -----------------------------------------------------------------------------------------

cdef float FADING = 1.0 - 1.0 / WAITING    # of the recent counts, per block


cdef class Bins:
    """Counts of values per column and bin. See above."""

    cdef readonly object counts, usual, recent, edges, n_usual      # numpy arrays
    cdef float[:, ::1] _counts, _usual, _recent
    cdef double[:, ::1] _edges, _held
    cdef int[::1] _n_usual
    cdef int n_held
    cdef readonly list names, values
    cdef list met               # the names in the latest sample that had all in order
    cdef public list rows, waiting
    cdef public list evidence       # that each column has changed
    cdef public set known           # names that are not new
    cdef public long long n_blocks

    def __cinit__(self, *args):
        self.names, self.met, self.values = [], [], []
        self.rows, self.waiting, self.evidence = [], [], []
        self.known, self.n_blocks = set(), 0

    def set_columns(self, list names):
        """Begin to look at some columns, of which none has bins."""
        cdef Py_ssize_t n = len(names) + 1
        self.names, self.met, self.values = list(names), list(names), [None] * n
        self.edges, self._held = np.full((n, N_BINS - 2), np.inf), np.empty((N_HELD, n))
        self.n_held = 0
        self.counts, self.usual, self.recent = np.zeros((3, n, N_BINS), np.single)
        self.n_usual = np.zeros(n, np.intc)
        self._edges, self._counts, self._n_usual = self.edges, self.counts, self.n_usual
        self._usual, self._recent = self.usual, self.recent

    cpdef add(self, x):
        """Look at a sample of a block."""
        cdef dict row = x if type(x) is dict else dict(x)
        if self.values:
            self.hold(row)
        if (self.waiting or not self.values) and len(self.rows) < N_ROWS:
            self.rows.append({name: plain(value) for name, value in row.items()})

    cdef int hold(self, dict x) except -1:
        """Keep the numbers of a sample until they are counted; count its names at once."""
        cdef Py_ssize_t column, n = len(self.values), n_found = 0, place = 0
        cdef PyObject* name
        cdef PyObject* found
        cdef int at
        cdef list met = self.met, values = self.values
        if self.n_held == N_HELD:
            self.count()
        at = self.n_held    # the methods of a value may add other samples
        for column in range(1, n):
            # Samples mostly have their columns in this order.
            if not PyDict_Next(x, &place, &name, &found) or (
                    name != PyList_GET_ITEM(met, column - 1)
                    and not self.is_next(column - 1, name)):
                found = PyDict_GetItem(x, self.names[column - 1])
            n_found += found != NULL
            if PyList_GET_ITEM(values, column) != <PyObject*>None:
                value = None if found == NULL else <object>found
                self._counts[column, self.bin_of(column, value)] += 1.0
            elif found == NULL:
                self._held[at, column] = NAN
            elif PyFloat_CheckExact(found):
                self._held[at, column] = PyFloat_AS_DOUBLE(found)
            else:
                value = <object>found   # a reference: its methods may change the sample
                self._held[at, column] = number_in(value)
        self._counts[0, 1 if n_found == len(x) or x.keys() <= self.known else N_BINS - 1] += 1.0
        self.n_held = at + 1
        return 0

    cdef bint is_next(self, Py_ssize_t i, PyObject* name) except -1:
        """Whether another object is the name of a column: readers make new ones for each row."""
        cdef PyObject* met = PyList_GET_ITEM(self.met, i)
        if (not PyUnicode_CheckExact(<object>name) or not PyUnicode_CheckExact(<object>met)
                or PyUnicode_Compare(<object>name, <object>met) != 0):
            return False
        self.met[i] = <object>name
        return True

    cpdef count(self):
        """Count the numbers of the samples that are held."""
        cdef Py_ssize_t column, n = len(self.values)
        cdef int i
        for column in range(1, n):
            if PyList_GET_ITEM(self.values, column) == <PyObject*>None:
                for i in range(self.n_held):
                    self._counts[column, self.bin_of_number(column, self._held[i, column])] += 1.0
        self.n_held = 0

    def begin(self, Py_ssize_t column):
        """Take the values of a column in `rows` as the usual ones."""
        if not 0 <= column < len(self.values):
            raise IndexError(column)
        self.counts[column] = self.recent[column] = self.usual[column] = 0.0
        self.n_usual[column] = 0
        for x in self.rows:
            if column:
                self._usual[column, self.bin_of(column, x.get(self.names[column - 1]))] += 1.0
            else:
                self._usual[0, 1 if x.keys() <= self.known else N_BINS - 1] += 1.0

    cdef int bin_of(self, Py_ssize_t column, object value) except -1:
        """The bin of a value."""
        cdef double number = number_in(value)
        if self.values[column] is None:
            return self.bin_of_number(column, number)
        if number == number:
            return self.bin_of_name(column, number)
        value = plain(value)
        return 0 if value is None else self.bin_of_name(column, value)

    cdef int bin_of_number(self, Py_ssize_t column, double number) noexcept:
        """The bin of a number, by the edges below it."""
        cdef const double* edges = &self._edges[column, 0]
        cdef int n_below
        if number != number:
            return 0
        n_below = 8 * (number > edges[7])
        n_below += 4 * (number > edges[n_below + 3])
        n_below += 2 * (number > edges[n_below + 1])
        n_below += n_below < N_BINS - 2 and number > edges[n_below]
        return 1 + n_below

    cdef int bin_of_name(self, Py_ssize_t column, object value) except -1:
        """The bin of a value of a column of names."""
        cdef PyObject* known = PyDict_GetItem(self.values[column], value)
        cdef int found = 1 if known == NULL else <object>known
        if not 0 <= found < N_BINS:
            raise IndexError(found)
        return found

    cpdef list end_block(self):
        """End a shortest block; return the name, the size and the text of each change."""
        self.count()
        if len(self.rows) == N_ROWS:
            self.make_bins()
        return [self.take_change(column) for column in self.changed()]

    cdef list changed(self):
        """End a shortest block; return the columns that have changed."""
        cdef Py_ssize_t column
        cdef Evidence each
        cdef double distance
        cdef list found = []
        self.n_blocks += 1
        for column in range(min(len(self.evidence), len(self.values))):
            each = self.evidence[column]
            if each.ends(self.n_blocks) and column not in self.waiting:
                distance = self.settle(column)
                if distance >= 0.0 and each.update(distance):
                    found.append(column)
        return found

    cdef double settle(self, Py_ssize_t column) noexcept:
        """End a block of a column.

        The result is the chi-squared distance of the counts from the usual ones; -1 while these are
        still collected.
        """
        cdef float* counts = &self._counts[column, 0]
        cdef float* usual = &self._usual[column, 0]
        cdef float* recent = &self._recent[column, 0]
        cdef bint is_begun = self._n_usual[column] == REFERENCE
        cdef double n = 0.0, n_usual = 0.0, distance = 0.0, expected
        cdef int i
        for i in range(N_BINS):
            n += counts[i]
            n_usual += usual[i]
        for i in range(N_BINS):
            expected = usual[i] * (n / n_usual)
            distance += (counts[i] - expected) * (counts[i] - expected) / (expected + 0.5)
            recent[i] = FADING * recent[i] + counts[i]
            if not is_begun:
                usual[i] += counts[i]
            counts[i] = 0.0
        self._n_usual[column] += not is_begun
        return distance if is_begun else -1.0


cdef double number_in(value) except? -1.0:
    """A value as a number; NaN if it is missing or a name."""
    cdef long long whole
    cdef int overflow = 0
    if type(value) is float:
        return value
    if PyLong_CheckExact(value):
        whole = PyLong_AsLongLongAndOverflow(value, &overflow)
        if not overflow:
            return <double>whole
    value = plain(value)
    return value if type(value) is float else NAN


cpdef number_of(value):
    """A number as a float; None for names and for numbers that are too large."""
    if isinstance(value, (str, bytes)):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


cpdef plain(value):
    """A value as bins read it: None if it is missing, a number, or a name."""
    if value is None or type(value) is str:
        return value
    if isinstance(value, (str, bytes)):
        return value
    number = number_of(value)
    if number is not None:
        return None if number != number else number
    return None if is_missing(value) else safe_repr(value)


# --- Answers --------------------------------------------------------------------------------------

@cython.final
cdef class Answers:
    """The answers to questions whose labels have not come.

    Parameters
    ----------
    regression
        Whether the loss is the absolute error; else it is 1 for a wrong label.
    evidence
        Gets the mean loss of each block.
    """

    cdef readonly bint regression
    cdef public long long n_samples     # that were asked, or learned without a question
    cdef public bint is_asked           # whether predictions are asked for at all
    cdef public object late             # answers by sample, since labels come late; else None
    cdef public Evidence evidence       # that the losses have changed
    cdef public double total            # of the losses in the present block
    cdef public int n                   # number of these
    cdef readonly object x, answer      # the sample that was asked last, and its answer
    cdef object model, predict, learn   # the model, and two methods of it; not saved

    def __init__(self, bint regression, Evidence evidence):
        self.regression, self.evidence = regression, evidence

    def __reduce__(self):
        losses = self.evidence, self.total, self.n
        fields = self.n_samples, self.is_asked, self.late, *losses, self.x, self.answer
        return restored_answers, (self.regression, *fields)

    cpdef bint ask(self, object x, object answer) noexcept:
        """Take a question and its answer; return whether there is more to do with it."""
        self.x, self.answer = x, answer
        self.n_samples += 1
        self.is_asked = True
        return self.n_samples % SPACING == 1 or self.late is not None

    cpdef bint is_next(self, object x) noexcept:
        """Whether the label is that of the sample that was asked last, and labels come at once."""
        return x is self.x and self.late is None

    cpdef bint judge(self, object answer, object y) except -1:
        """Take the label for an answer; return whether the losses have changed."""
        cdef double mean
        self.x = None
        if answer is None:
            return False
        if self.regression:
            self.total += fabs(<double>float(answer) - <double>float(y))
        elif answer is not y and answer != y:
            self.total += 1.0
        self.n += 1
        if self.n < FEWEST_LOSSES << self.evidence.level:
            return False
        mean, self.total, self.n = self.total / self.n, 0.0, 0
        return self.evidence.level <= self.evidence.highest and self.evidence.update(mean)

    cpdef restart(self):
        """Forget the losses so far."""
        self.total, self.n = 0.0, 0
        self.evidence.restart()

    cdef int bind(self, object model) except -1:
        """Look up the methods of another model: each look-up reads memory that no cache holds."""
        self.model, self.predict, self.learn = model, model.predict_one, model.learn_one
        return 0


cdef class Asked:
    """What a watch does with every sample."""

    cdef public object model
    cdef public Answers _answers
    cdef public Bins _inputs
    cdef public Evidence _weights       # that the effective memory has shrunk; or None

    @cython.binding(True)
    def predict_one(self, x, **kwargs):
        """Predict a sample with the model, and look at its features.

        Parameters
        ----------
        x
            Features by name.
        kwargs
            What else `predict_one` of the model takes.

        Returns
        -------
        The prediction of the model.
        """
        cdef Answers answers = self._answers
        if answers.model is not self.model:
            answers.bind(self.model)
        answer = answers.predict(x, **kwargs) if kwargs else answers.predict(x)
        self.asked(x, point_of(answer) if kwargs and answers.regression else answer)
        return answer

    @cython.binding(True)
    def learn_one(self, x, y, w=1.0):
        """Learn a sample.

        The prediction that was given for it is judged first; without one, the model is asked now.

        Parameters
        ----------
        x
            Features by name.
        y
            The label or target.
        w
            Weight of the sample.
        """
        cdef Answers answers = self._answers
        cdef bint is_next = answers.is_next(x)
        if answers.model is not self.model:
            answers.bind(self.model)
        answer = answers.answer if is_next else self._answer_for(x)
        if w == 1.0:    # some models of river have no weights
            answers.learn(x, y)
        else:
            answers.learn(x, y, w)
        if not is_next:
            self._forget_question(x)
        if answers.judge(answer, y):
            self._raise_loss()

    def _asked(self, x, answer):
        """Look at a question, and remember its answer."""
        self.asked(x, answer)

    cdef int asked(self, object x, object answer) except -1:
        if self._answers.ask(x, answer):
            if self._answers.n_samples % SPACING == 1:
                self.look(x)
            if self._answers.late is not None:
                self._remember(x, answer)
        return 0

    def _see(self, x):
        """Look at the features of a sample, of one in SPACING in detail."""
        self._answers.n_samples += 1
        if self._answers.n_samples % SPACING == 1:
            self.look(x)

    cdef int look(self, object x) except -1:
        """Look at the features of a sample in detail."""
        self._inputs.add(x)
        if self._answers.n_samples % SAMPLES == SAMPLES - SPACING + 1:
            self.end_block()
        return 0

    cdef int end_block(self) except -1:
        """End a block of inputs and of the effective memory."""
        cdef list changes = self._inputs.end_block()
        cdef bint has_shrunk = (
            self._weights is not None and self._weights.ends(self._answers.n_samples // SAMPLES)
            and self._weights.update(-log(self._memory())))     # which rises when it shrinks
        if changes or has_shrunk:
            self._raise_changes(changes, has_shrunk)
        return 0


def point_of(answer):
    """The mean of a distribution, or the number that was predicted."""
    mean = getattr(answer, "mean", answer)
    return mean() if callable(mean) else mean   # of numpy's numbers, a method


def restored_answers(regression, n_samples, is_asked, late, evidence, total, n, x, answer):
    """Answers with these attributes."""
    found = Answers(regression, evidence)
    found.n_samples, found.is_asked, found.late = n_samples, is_asked, late
    found.total, found.n = total, n
    found.x, found.answer = x, answer
    return found
