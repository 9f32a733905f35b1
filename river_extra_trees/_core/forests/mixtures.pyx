"""Combine the predictions of the groups of a forest. See the header."""

import numpy as np

from libc.math cimport INFINITY, exp, log, sqrt
from libc.string cimport memcpy, memset

from ..allocation cimport zeroed
from ..parts cimport view
from ..shares cimport share_weights, softmax, total_of
from .noise cimport LARGEST_TILT

from ..state import LARGEST_TARGET, require

# --- Labels that follow each other ---------------------------------------------------------

cdef enum:
    MOST_OF_TABLE = 1 << 17     # cells: 1 MB

cdef double ROW_MEMORY = 500.0  # of the counts in a row of the table, in labels
cdef double PRIOR_COUNT = 0.5


cdef class Transitions(Part):
    """Which label follows which. See the header."""

    def __cinit__(self):
        self.last = -1

    cdef int reserve(self, int n_labels) except -1 nogil:
        """Extend the table to so many labels."""
        cdef int label, n_rows
        cdef double* counts
        if n_labels <= self.n_labels:
            return 0
        n_rows = min(n_labels, <int>MOST_OF_TABLE // n_labels)
        counts = <double*>zeroed(max(1, n_rows * n_labels), sizeof(double))
        for label in range(min(n_rows, self.n_rows)):
            memcpy(counts + <Py_ssize_t>label * n_labels,
                   self.counts + <Py_ssize_t>label * self.n_labels,
                   self.n_labels * sizeof(double))
        self.replace(
            &self.counts, counts, max(1, n_rows * n_labels) * <size_t>sizeof(double))
        self.n_labels, self.n_rows = n_labels, n_rows
        return 0

    cdef void answer(self, int last, double* answers, int width) noexcept nogil:
        """Write the share of each of the labels after the label `last`."""
        cdef int c
        cdef double total = PRIOR_COUNT * width
        cdef const double* counts = self.counts + <Py_ssize_t>last * self.n_labels
        if not 0 <= last < self.n_rows:
            for c in range(width):
                answers[c] = 1.0 / width
            return
        for c in range(width):
            total += counts[c]
        for c in range(width):
            answers[c] = (counts[c] + PRIOR_COUNT) / total

    cdef void learn(self, int last, int code) noexcept nogil:
        """Count a label; `last` is the last one that was known when it was asked."""
        cdef int c
        cdef double* counts = self.counts + <Py_ssize_t>last * self.n_labels
        if 0 <= last < self.n_rows:
            for c in range(self.n_labels):
                counts[c] *= 1.0 - 1.0 / ROW_MEMORY
            counts[code] += 1.0

    cdef void forget(self, const uint8_t* gone) noexcept nogil:
        """Forget the marked labels."""
        cdef int label, c
        for label in range(self.n_rows):
            for c in range(self.n_labels):
                if gone[label] or gone[c]:
                    self.counts[<Py_ssize_t>label * self.n_labels + c] = 0.0
        if self.last >= 0 and gone[self.last]:
            self.last = -1

    # ---------------------------------------------------------------- state

    cdef dict views(self):
        """The array of a state."""
        return {"counts": view(self.counts, "f8", (self.n_rows, self.n_labels))}

    FIELDS = {
        "n_labels": ("whole", 0, 2**31 - 1), "last": ("whole", -1, 2**31 - 2),
        "counts": ("numbers", None, None, {"least": 0.0, "most": ROW_MEMORY + 1.0}),
    }

    cdef int load(self, dict fields) except -1:
        self.reserve(fields["n_labels"])
        return Part.load(self, fields)

    cdef int check_structure(self) except -1:
        require(self.last < self.n_labels, "Transitions: the last label is not there")
        return 0


# --- Classes ---------------------------------------------------------------------------------

cdef double CLASS_SHARE = 0.005     # s for classes
FLOOR = 0.01
cdef double RATE = 0.3              # of the exponents
cdef double FIRST_SQUARES = 4.0     # beside G
cdef double PENALTY = 0.05          # of the exponents of windows that are short beside the delay
cdef double MOST_SQUARES = 500.0    # of both
cdef double LARGEST_EXPONENT = 1e6
cdef double COUNT_MEMORY = 16000.0  # of the samples of the frequent label
MOST_COUNTED = COUNT_MEMORY + 1.0
cdef double FIRST_OF_TABLE = 0.5    # exponent


cdef class ClassPool(Part):
    """Combines the class probabilities of several members. See the header.

    Initially all groups have equal weights, and the pool is their mixture.
    """

    def __cinit__(self, int n_groups=1):
        self.labels, self.transitions = Labels(), Transitions()
        self.begin(n_groups)

    cdef int begin(self, int n_groups) except -1:
        """Allocate the first weights and exponents."""
        cdef int g
        self.n_groups = n_groups
        self.renew(&self.weights, n_groups, sizeof(double))
        self.renew(&self.exponents, n_groups + 3, sizeof(double))
        self.renew(&self.squares, n_groups + 3, sizeof(double))
        for g in range(n_groups):
            self.weights[g] = 1.0 / n_groups
        self.exponents[n_groups] = 1.0
        return 0

    cdef void pool(self, const double* answers, double* logs, int width) noexcept nogil:
        """The logarithmic opinion pool of all members; answers[group * width + class]."""
        cdef int c, g, n_groups = self.n_groups
        cdef double* mixture = logs + n_groups * width
        cdef double least = log(FLOOR / width)      # of a class that no tree knows: most of many
        cdef double last = 0.0, of_last = least     # some members tell of most classes the same
        logs[(n_groups + 4) * width] = self.transitions.last
        memset(mixture, 0, width * sizeof(double))
        for g in range(n_groups):
            for c in range(width):
                mixture[c] += self.weights[g] * answers[g * width + c]
        memcpy(logs, answers, n_groups * width * sizeof(double))
        self.transitions.answer(self.transitions.last, mixture + width, width)
        for c in range((n_groups + 3) * width):
            if logs[c] != last and logs[c] != 0.0:
                last, of_last = logs[c], log((1.0 - FLOOR) * logs[c] + FLOOR / width)
            logs[c] = of_last if logs[c] == last else least
        self.pool_logs(logs, width)

    cdef void pool_logs(self, double* logs, int width) noexcept nogil:
        """Compute the pool p from the logs and the exponents."""
        cdef int c, member
        cdef double* pooled = self.pooled(logs, width)
        memset(pooled, 0, width * sizeof(double))
        for member in range(self.n_groups + 3):
            for c in range(width):
                pooled[c] += self.exponents[member] * logs[member * width + c]
        for c in range(width if self.labels.n_free else 0):
            if self.labels.is_free(c):
                pooled[c] = -INFINITY
        pooled[self.frequent] += self.offset()
        softmax(pooled, width)

    cdef double offset(self) noexcept nogil:
        """The log of v^(sum of the exponents - 1)."""
        return (total_of(self.exponents, self.n_groups + 3) - 1.0) * log(
            self.weight_of(self.frequent))

    cdef void weigh(self, const double* answers, double* logs, int code, int width,
                    const Pace* pace) noexcept nogil:
        """Update weights and exponents from the predictions for a row and its true class.

        The predictions of a question, of which only the logs are known, are pooled again.
        """
        cdef int g, n_groups = self.n_groups
        cdef double share, weight = self.weight_of(code), step = weight * pace.step
        if not self.labels.is_new(code):
            if answers == NULL:
                self.pool_logs(logs, width)
            self.learn_exponents(logs, code, width, pace)
            for g in range(n_groups):
                share = max(answers[g * width + code] if answers != NULL
                            else exp(logs[g * width + code]), FLOOR)
                self.weights[g] *= sqrt(share) if step == 1.0 else exp(0.5 * step * log(share))
            share_weights(self.weights, n_groups, CLASS_SHARE * weight * pace.share, pace.claims)
        self.count(code)
        if pace.is_of_question:
            self.transitions.learn(<int>logs[(n_groups + 4) * width], code)
        self.transitions.last = code

    cdef void learn_exponents(self, double* logs, int code, int width,
                              const Pace* pace) noexcept nogil:
        """AdaGrad, see the header. The pooled p becomes p'."""
        cdef int c, member, f = self.frequent, table = self.n_groups + 1
        cdef double* pooled = self.pooled(logs, width)
        cdef double step = pace.step, slope, squares, first = FIRST_SQUARES / step
        cdef double v = self.weight_of(f), total, of_offset
        if self.squares[table] == 0.0:      # it has told no labels apart yet
            self.exponents[table] = FIRST_OF_TABLE if step == 1.0 else 0.0
            self.pool_logs(logs, width)         # their sum changed
        total = 1.0 - (1.0 - v) * pooled[f]
        pooled[f] *= v
        for c in range(width):
            pooled[c] /= total
        of_offset = (pooled[f] - (code == f)) * log(v)
        for member in range(self.n_groups + 3):
            slope = of_offset - logs[member * width + code]
            for c in range(width):
                slope += pooled[c] * logs[member * width + c]
            slope *= self.weight_of(code)
            squares = min(self.squares[member] + slope * slope, MOST_SQUARES)
            self.squares[member] = squares
            if member < self.n_groups:
                slope += PENALTY * (1.0 - sqrt(pace.claims[member]))
            self.exponents[member] = max(0.0, self.exponents[member] - RATE * step * slope / sqrt(
                min(first + squares, MOST_SQUARES)))

    cdef void count(self, int code) noexcept nogil:
        """Count a label. One that has half of the samples or fewer gives way to the next other one,
        of which one half is assumed.
        """
        self.n_frequent -= self.n_frequent / COUNT_MEMORY
        self.n_rest -= self.n_rest / COUNT_MEMORY
        if code == self.frequent:
            self.n_frequent += 1.0
            return
        self.n_rest += 1.0
        if self.n_frequent < self.n_rest:
            self.frequent = code
            self.n_frequent = self.n_rest = 0.5 * (self.n_frequent + self.n_rest)

    cdef void forget(self, const uint8_t* gone) noexcept nogil:
        """Forget the marked labels."""
        if gone[self.frequent]:
            self.n_frequent = 0.0
        self.transitions.forget(gone)

    # ---------------------------------------------------------------- state

    def member_weights(self):
        """The weights of the groups."""
        cdef int group
        return [self.weights[group] for group in range(self.n_groups)]

    cdef dict views(self):
        """The arrays of a state."""
        return {"weights": view(self.weights, "f8", (self.n_groups,)),
                "exponents": view(self.exponents, "f8", (self.n_groups + 3,)),
                "squares": view(self.squares, "f8", (self.n_groups + 3,))}

    cdef tuple bounds(self, int width):
        """The smallest and the largest numbers of `logs`."""
        n = self.scratch_of(width)
        least, most = np.full(n, log(FLOOR / max(1, width)) - 1.0), np.ones(n)
        least[n - 1], most[n - 1] = -1.0, width - 1.0
        return least, most

    FIELDS = {
        "weights": ("numbers", "groups", {"least": 0.0, "most": 1.0}),
        "exponents": ("numbers", "members", {"least": 0.0, "most": LARGEST_EXPONENT}),
        "squares": ("numbers", "members", {"least": 0.0, "most": MOST_SQUARES}),
        "frequent": ("whole", 0, 2**31 - 2),
        "n_frequent": ("number", 0.0, MOST_COUNTED), "n_rest": ("number", 0.0, MOST_COUNTED),
        "transitions": ("part", Transitions),
    }

    cdef int load(self, dict fields) except -1:
        self.begin(<int>len(fields["weights"]))
        return Part.load(self, fields)

    cdef int check_structure(self) except -1:
        require(abs(total_of(self.weights, self.n_groups) - 1.0) < 1e-6,
                "ClassPool: there are no such weights of groups")
        require(0 <= self.frequent < max(1, self.transitions.n_labels),
                "ClassPool: it counts a label that is not there")
        return 0


# --- Numbers ---------------------------------------------------------------------------------

cdef enum:
    LARGEST_MIXTURE = 1 << 12   # groups: the number of cells of A fits into 32 bits
    FIRST_LATE = 50         # targets from which late ones without a question teach weights
    FIRST_BOUND = 30            # targets before the first one that is bounded
    BOUND_MEMORY = 1000         # of their mean and variance

cdef double NUMBER_SHARE = 0.05     # s for numbers
cdef double OF_PAST = 0.7           # part of it that goes to members with a past
cdef double PAST_MEMORY = 1000.0    # of the mean weights
cdef double ERROR_DECAY = 0.99      # of the squared errors, per sample
cdef double WORST = 12.0            # limit of error^2 / (2 variance), for outliers
cdef double STACK_DECAY = 0.999     # of the stack and of the chain
cdef double PRIOR = 30.0            # prior in the ridge r of the stack
cdef double CHAIN_SHARE = 0.005     # s for the chain ...
cdef double CHAIN_WEIGHT = 0.02     # ... and its first weight
cdef double CHAIN_PRIOR = 10.0
cdef double CLIP = 6.0              # of errors, in standard deviations
cdef double GLOBAL = 0.1            # factor of E in V + E / 10
cdef double LARGEST_RATIO = 1e12    # of V to E
cdef double LARGEST_Z2 = 100.0
cdef double[N_LEVELS] LEVELS = [0.5, 0.9]   # of |z|
cdef double TAIL_RATE = 0.02
cdef double FIRST_TAILS = 25.0
cdef double LARGEST_TAIL = 4.0      # of |log q|
cdef double FARTHEST = 20.0         # of a target, in standard deviations
cdef double LARGEST_ERROR = 1e300
cdef double LEAST_VARIANCE = 1e-300
cdef double LARGEST_SUM = 1e306


cdef inline double square_of(double difference) noexcept nogil:
    """The square of an error, bounded so that sums of it stay finite."""
    cdef double square = difference * difference
    return square if square < LARGEST_ERROR else LARGEST_ERROR


cdef inline double z2_of(double square, double v) noexcept nogil:
    return min(square / max(v, LEAST_VARIANCE), LARGEST_Z2)


cdef inline double log_density(double* squares, double error, double n_errors) noexcept nogil:
    """Add an error to the sum of a member; the log of its density, but for a constant."""
    cdef double variance
    error = square_of(error)
    squares[0] = ERROR_DECAY * squares[0] + error
    variance = max(squares[0] / n_errors, LEAST_VARIANCE)
    return -0.5 * log(variance) - min(0.5 * error / variance, WORST)


cdef class NumberMixture(Part):
    """Combines the predicted numbers of several groups. See the header."""

    def __cinit__(self, int n_groups=1):
        self.chain = FadingRidge(N_REGRESSORS, STACK_DECAY, CHAIN_PRIOR)
        self.chain_weights[0], self.chain_weights[1] = 1.0 - CHAIN_WEIGHT, CHAIN_WEIGHT
        self.noise = NoiseModel()
        self.tails[0], self.tails[1] = log(0.6745), log(1.6449)     # of a normal distribution
        self.begin(n_groups)

    cdef int begin(self, int n_groups) except -1:
        """Allocate the first weights, and the stack."""
        cdef int i
        require(1 <= n_groups <= LARGEST_MIXTURE, "NumberMixture: too many groups, or none")
        self.n_groups = n_groups
        self.renew(&self.weights, n_groups + 1, sizeof(double))
        self.renew(&self.errors, n_groups + 1, sizeof(double))
        self.renew(&self.past, n_groups + 1, sizeof(double))
        self.renew(&self.scratch, n_groups + 1, sizeof(double))
        self.stack = FadingRidge(n_groups, STACK_DECAY, PRIOR)
        for i in range(n_groups + 1):
            self.weights[i] = self.past[i] = 1.0 / (n_groups + 1)
        return 0

    # ---------------------------------------------------------------- predictions

    cdef double within(self, double answer) noexcept nogil:
        """A prediction, clipped to the range of the targets seen."""
        return min(max(answer, self.lowest), self.highest)

    cdef void answer(self, const double* groups, double variance, double* answers) noexcept nogil:
        """Combine the predictions of the groups; `variance` is V."""
        cdef int k, n = self.n_groups
        cdef double mean = 0.0
        cdef double* d = answers + n + 5
        for k in range(n):
            answers[k] = self.within(groups[k])
        answers[n] = self.within(self.stacked(answers))
        for k in range(n + 1):
            mean += self.weights[k] * answers[k]
        answers[n + 1] = mean = self.within(mean)
        for k in range(2):      # zeros until two targets have errors
            d[2 * k] = self.last_errors[k] if self.n_targets > 2 else 0.0
            d[2 * k + 1] = mean - self.last_answers[k] if self.n_targets > 2 else 0.0
        answers[n + 3] = self.within(self.chained(answers))
        answers[n + 4] = self.within(
            self.chain_weights[0] * mean + self.chain_weights[1] * answers[n + 3])
        # The sums of squares in the leaves overflow, and rounding makes them negative.
        answers[n + 2] = max(variance, 0.0) if variance < LARGEST_ERROR else LARGEST_ERROR
        self.spread(answers)[0] = self.expected(
            self.log_ratio(answers[n + 2]), self.tilt(answers)[0]) if self.has_error() else 0.0
        memcpy(self.spread(answers) + 1, self.tails, sizeof(self.tails))

    cdef double stacked(self, const double* answers) noexcept nogil:
        """The stacked prediction without limits."""
        cdef int k, n = self.n_groups
        cdef double middle = 0.0, found
        for k in range(n):
            middle += answers[k] / n
        found = middle
        for k in range(n):
            found += self.stack.slopes[k] * (answers[k] - middle)
        return found if found == found else middle

    cdef double chained(self, const double* answers) noexcept nogil:
        """The prediction of the chain without limits."""
        cdef double mean = answers[self.n_groups + 1]
        cdef double found = mean + self.chain.answer(answers + self.n_groups + 5)
        return found if found == found else mean

    cdef bint has_error(self) noexcept nogil:
        """Whether E is a number to divide by; it fades for good where the targets are constant."""
        return self.error > self.n_errors * LEAST_VARIANCE

    cdef double log_ratio(self, double variance) noexcept nogil:
        """u, if there was an error."""
        return log(GLOBAL + min(variance / (self.error / self.n_errors), LARGEST_RATIO))

    cdef double expected(self, double u, double h) noexcept nogil:
        """v, see the header."""
        return min(self.error / self.n_errors * self.noise.ratio(u, h), LARGEST_ERROR)

    # ---------------------------------------------------------------- learning

    cdef double bounded(self, double target) noexcept nogil:
        """The target that is learned in place of this one; follow mean and variance."""
        cdef double share, difference, most
        if self.n_bounded >= FIRST_BOUND and self.variance > 0.0:
            most = FARTHEST * sqrt(self.variance)
            target = min(max(target, self.middle - most), self.middle + most)
        self.n_bounded += 1
        share = 1.0 / min(self.n_bounded, <int64_t>BOUND_MEMORY)
        difference = target - self.middle
        self.middle += share * difference
        self.variance = (1.0 - share) * (self.variance + share * difference * difference)
        return target

    cdef void learn(self, const double* answers, double target, const Pace* pace,
                    const double* row, Py_ssize_t stride) noexcept nogil:
        """Learn from the predictions and the target; the first target has no predictions.

        The sample is row[column * stride], in the columns that the noise was fitted to.
        """
        cdef double square
        if self.n_targets == 0:
            self.lowest = self.highest = target
        else:
            square = square_of(target - answers[self.n_groups + 4])
            self.learn_spread(answers, square, pace, row, stride)
            self.n_errors = ERROR_DECAY * self.n_errors + 1.0
            self.error = ERROR_DECAY * self.error + square
            self.learn_weights(answers, target, pace)
            self.learn_stack(answers, target)
            self.learn_chain(answers, target, pace)
            self.lowest, self.highest = min(self.lowest, target), max(self.highest, target)
        self.noise.follow(row, stride)
        self.n_targets += 1

    cdef void learn_spread(self, const double* answers, double square, const Pace* pace,
                           const double* row, Py_ssize_t stride) noexcept nogil:
        """Update the noise and the tails with a squared error, before E. The first one has no z."""
        cdef const double* h = answers + self.n_groups + 5 + N_REGRESSORS
        cdef double u, now, v = h[1], step, middle
        cdef int k
        if not self.has_error():
            return
        u = self.log_ratio(answers[self.n_groups + 2])
        now = self.expected(u, h[0])
        self.noise.learn(row, stride, u, z2_of(square, now))
        if v > 0.0:
            v *= sqrt(now / v)      # the geometric mean; the same bits if nothing has changed
            step = max(TAIL_RATE * sqrt(pace.share), 1.0 / (FIRST_TAILS + self.n_tails))
            self.n_tails += 1
            for k in range(N_LEVELS):
                middle = 0.5 * (self.tails[k] + h[2 + k])
                self.tails[k] += step * ((square > v * exp(2.0 * middle)) - (1.0 - LEVELS[k]))
                self.tails[k] = min(max(self.tails[k], -LARGEST_TAIL), LARGEST_TAIL)

    cdef void learn_weights(self, const double* answers, double target,
                            const Pace* pace) noexcept nogil:
        """Update the weights: fixed share, see the header."""
        cdef int k, n = self.n_groups + 1
        cdef double best = -INFINITY, of_past = OF_PAST * pace.step
        cdef double memory = min(<double>self.n_targets, PAST_MEMORY)
        for k in range(n):
            self.scratch[k] = log_density(&self.errors[k], target - answers[k], self.n_errors)
            best = max(best, self.scratch[k])
        if self.n_targets <= FIRST_LATE and not pace.is_of_question:
            return      # what young members say of the neighbours of a late sample tells little
        for k in range(n):
            self.past[k] += (self.weights[k] - self.past[k]) / memory
            self.weights[k] *= exp(0.5 * pace.step * (self.scratch[k] - best))
            self.scratch[k] = pace.claims[k] * (of_past * n * self.past[k] + 1.0 - of_past)
        share_weights(self.weights, n, NUMBER_SHARE * pace.step, self.scratch)

    cdef void learn_stack(self, const double* answers, double target) noexcept nogil:
        """Update the stacked prediction."""
        cdef int i, n = self.n_groups
        cdef double middle = 0.0
        for i in range(n):
            middle += answers[i] / n
        for i in range(n):
            self.scratch[i] = answers[i] - middle
        self.stack.learn(self.scratch, target - middle)

    cdef void learn_chain(self, const double* answers, double target,
                          const Pace* pace) noexcept nogil:
        """Update the chain and its weight, see the header."""
        cdef int k, n = self.n_groups
        cdef double[2] logs
        cdef double[2] claims
        cdef double most, error
        for k in range(2):
            logs[k] = log_density(
                &self.chain_errors[k], target - answers[n + 1 + 2 * k], self.n_errors)
        for k in range(2 if pace.is_of_question else 0):
            self.chain_weights[k] *= exp(0.5 * pace.step * (logs[k] - max(logs[0], logs[1])))
        claims[0], claims[1] = 1.0, pace.step
        if pace.is_of_question:
            share_weights(self.chain_weights, 2, CHAIN_SHARE * pace.share, claims)
        most = CLIP * sqrt(self.chain_errors[0] / self.n_errors)
        error = min(max(target - answers[n + 1], -most), most)
        if self.n_targets > 2 and pace.is_of_question:
            self.chain.learn(answers + n + 5, error)
        self.last_answers[1], self.last_errors[1] = self.last_answers[0], self.last_errors[0]
        self.last_answers[0], self.last_errors[0] = answers[n + 1], error

    # ---------------------------------------------------------------- inspection

    def member_weights(self):
        """The weights of the groups, then of the stacked prediction."""
        cdef int group
        return [self.weights[group] for group in range(self.n_groups + 1)]

    cdef dict views(self):
        """The arrays of a state."""
        cdef int n = self.n_groups
        return {
            "weights": view(self.weights, "f8", (n + 1,)),
            "errors": view(self.errors, "f8", (n + 1,)),
            "past": view(self.past, "f8", (n + 1,)),
            "chain_weights": view(self.chain_weights, "f8", (2,)),
            "chain_errors": view(self.chain_errors, "f8", (2,)),
            "last_answers": view(self.last_answers, "f8", (2,)),
            "last_errors": view(self.last_errors, "f8", (2,)),
            "tails": view(self.tails, "f8", (N_LEVELS,)),
        }

    cdef tuple bounds(self):
        """The smallest and the largest numbers of `answers`; regressors are differences of two."""
        most = np.full(self.scratch_of(), LARGEST_TARGET)
        most[self.n_groups + 2], most[self.n_groups + 5:] = LARGEST_ERROR, 2.0 * LARGEST_TARGET
        most[self.n_groups + 5 + N_REGRESSORS:] = (
            LARGEST_TILT, LARGEST_ERROR, *[LARGEST_TAIL] * N_LEVELS)
        least = -most
        least[self.n_groups + 2] = least[self.n_groups + 6 + N_REGRESSORS] = 0.0
        return least, most

    # ---------------------------------------------------------------- state

    FIELDS = {
        "n_targets": ("whole",),
        "lowest": ("number", -LARGEST_TARGET, LARGEST_TARGET),
        "highest": ("number", -LARGEST_TARGET, LARGEST_TARGET),
        "middle": ("number", -LARGEST_TARGET, LARGEST_TARGET),
        "variance": ("number", 0.0, LARGEST_SUM), "n_bounded": ("whole",),
        "weights": ("numbers", "members", {"least": 0.0, "most": 1.0}),
        "errors": ("numbers", "members", {"least": 0.0, "most": LARGEST_SUM}),
        "past": ("numbers", "members", {"least": 0.0, "most": 1.0}),
        "stack": ("part", FadingRidge), "chain": ("part", FadingRidge),
        "last_answers": ("numbers", 2, {"least": -LARGEST_TARGET, "most": LARGEST_TARGET}),
        "last_errors": ("numbers", 2, {"least": -2.0 * LARGEST_TARGET,
                                       "most": 2.0 * LARGEST_TARGET}),
        "chain_weights": ("numbers", 2, {"least": 0.0, "most": 1.0}),
        "chain_errors": ("numbers", 2, {"least": 0.0, "most": LARGEST_SUM}),
        "error": ("number", 0.0, LARGEST_SUM), "n_errors": ("number", 0.0, 1e6),
        "tails": ("numbers", 2, {"least": -LARGEST_TAIL, "most": LARGEST_TAIL}),
        "n_tails": ("whole",),
        "noise": ("part", NoiseModel),
    }

    cdef int load(self, dict fields) except -1:
        self.begin(<int>len(fields["weights"]) - 1)
        return Part.load(self, fields)

    cdef int check_structure(self) except -1:
        require(self.stack.n == self.n_groups and self.chain.n == N_REGRESSORS
                and abs(total_of(self.weights, self.n_groups + 1) - 1.0) < 1e-6
                and abs(total_of(self.chain_weights, 2) - 1.0) < 1e-6
                and self.lowest <= self.highest,
                "NumberMixture: there are no such weights, stack or targets")
        return 0
