"""Questions that wait for their labels. See the header."""

import numpy as np

from libc.math cimport fabs, sqrt
from libc.string cimport memcpy, memmove

from ..allocation cimport product
from ..parts cimport view
from ..rng cimport mix

from ..state import LARGEST_COUNT, fields_of, require

cdef enum:
    FEWEST = 16                 # questions for which there is memory at first
    MOST = 1 << 12              # questions that wait ...
    MOST_NUMBERS = 1 << 19      # ... and numbers of their answers: 4 MB

cdef double MEMORY = 100.0      # of the mean delay, in labels


cdef union Bits:
    double value
    uint64_t bits


cdef class Questions(Part):
    """Questions that wait for their labels. See the header.

    Parameters
    ----------
    is_closed
        Whether no question is kept, because no label will come.
    """

    def __cinit__(self, bint is_closed=False):
        self.is_closed, self.asked_at = is_closed, -1

    # ---------------------------------------------------------------- questions

    cdef int most(self, int width) noexcept nogil:
        """The largest number of questions that wait."""
        return min(<int>MOST, <int>MOST_NUMBERS // max(1, width + self.n_leaves // 2))

    cdef int keep(self, uint64_t row, int64_t n_seen, const double* answer, int width,
                  const int* leaves) except -1 nogil:
        """Keep a question, unless it is the last one again and nothing was learned since."""
        self.note(1, n_seen)
        if n_seen == 0 or self.is_closed or row == 0 or self.most(width) == 0:
            return 0
        if (self.waits() and width == self.width and self.rows[self.end - 1] == row
                and self.moments[self.end - 1] == n_seen):
            return 0
        self.put(self.open(1, width), row, n_seen, answer)
        memcpy(self.leaves + <Py_ssize_t>(self.end - 1) * self.n_leaves, leaves,
               self.n_leaves * sizeof(int))
        return 0

    cdef void note(self, Py_ssize_t n, int64_t n_seen) noexcept nogil:
        """Note that n questions are asked; count them if nothing was learned yet."""
        if n_seen == 0 and not self.is_closed:
            self.n_first = <int>min(self.n_first + n, <Py_ssize_t>MOST)
        if n > 0 and self.n_first > 0:
            self.asked_at = n_seen

    cdef int open(self, int n, int width) except -1 nogil:
        """Make places for n questions, at most `most`; return the first of them."""
        cdef int _
        if width != self.width:
            self.forget()
            self.width, self.capacity = width, 0
        for _ in range(n):
            self.make_room()
            self.moments[self.end] = self.leaves[<Py_ssize_t>self.end * self.n_leaves] = -1
            self.end += 1
        return self.end - n

    cdef void put(self, int place, uint64_t row, int64_t n_seen,
                  const double* answer) noexcept nogil:
        """Keep a question at an open place, unless no feature of the row is known (hash 0)."""
        if row == 0:
            return      # nothing tells such rows apart: a label would find that of another one
        self.rows[place], self.moments[place] = row, n_seen
        memcpy(self.answers + <Py_ssize_t>place * self.width, answer, self.width * sizeof(double))

    cdef int make_room(self) except -1 nogil:
        """Make a place for one more question; one that has waited too long is dropped."""
        cdef int n, most = self.most(self.width)
        self.first = max(self.first, self.end - most + 1)
        if self.end < self.capacity:
            return 0
        if 2 * self.first < self.capacity or self.capacity == 0:
            return self.reserve(min(max(2 * self.capacity, <int>FEWEST), 2 * most))
        n = self.end - self.first
        memmove(self.rows, self.rows + self.first, n * sizeof(uint64_t))
        memmove(self.moments, self.moments + self.first, n * sizeof(int64_t))
        memmove(self.answers, self.answers + <Py_ssize_t>self.first * self.width,
                n * <size_t>self.width * sizeof(double))
        memmove(self.leaves, self.leaves + <Py_ssize_t>self.first * self.n_leaves,
                n * <size_t>self.n_leaves * sizeof(int))
        self.first, self.end, self.n_listed = 0, n, 0
        return 0

    cdef int reserve(self, int capacity) except -1 nogil:
        """Allocate so many places, more than there are."""
        self.resize(&self.rows, capacity, sizeof(uint64_t))
        self.resize(&self.moments, capacity, sizeof(int64_t))
        self.resize(&self.earlier, capacity, sizeof(int))
        self.resize(&self.answers, product(capacity, self.width), sizeof(double))
        self.resize(&self.leaves, product(capacity, max(1, self.n_leaves)), sizeof(int))
        self.capacity = capacity
        return 0

    cdef int keep_leaves(self, int n) except -1:
        """Keep n leaves of each question; those of the ones that wait are not known."""
        cdef int place
        self.n_leaves = n
        self.resize(&self.leaves, product(self.capacity, n), sizeof(int))
        for place in range(self.end):
            self.leaves[<Py_ssize_t>place * n] = -1
        return 0

    cdef const int* leaves_taken(self) noexcept nogil:
        """The leaves of the question that was taken last; NULL if they are not known."""
        cdef const int* leaves = self.leaves + <Py_ssize_t>self.taken * self.n_leaves
        return leaves if leaves[0] >= 0 else NULL

    cdef double* take(self, uint64_t row, int64_t n_seen, bint is_known,
                      bint* is_found) noexcept nogil:
        """Remove the question of a row, and follow its delay.

        `is_known` tells whether neither a feature of the sample nor its label is new.

        Returns its answer, which is valid until the next question; NULL if there is none, or if
        nothing was learned since it was asked, or before.
        """
        cdef int place, found = -1
        cdef double distance, nearest = 0.0
        self.list_rows()
        place = self.latest[row % N_LISTS]
        while place >= self.first:
            if self.rows[place] == row and self.moments[place] >= 0:
                distance = fabs(<double>(n_seen - self.moments[place]) - self.delay)
                if found < 0 or distance <= nearest:
                    found, nearest = place, distance
            place = self.earlier[place]
        is_found[0] = found >= 0
        if found < 0:
            self.take_first(n_seen, is_known and row != 0)
            return NULL
        self.delay += (<double>(n_seen - self.moments[found]) - self.delay) / MEMORY
        self.taken, self.taken_at = found, self.moments[found]
        self.n_first, self.asked_at = 0, -1
        self.moments[found] = -1
        while self.waits() and self.moments[self.first] < 0:
            self.first += 1
        return self.answers + <Py_ssize_t>found * self.width if self.taken_at < n_seen else NULL

    cdef void list_rows(self) noexcept nogil:
        """Put the questions that were kept since into the lists of places."""
        cdef int place, k
        if self.n_listed == 0:
            for k in range(N_LISTS):
                self.latest[k] = -1
        for place in range(max(self.n_listed, self.first), self.end):
            if self.moments[place] >= 0:
                k = <int>(self.rows[place] % N_LISTS)
                self.earlier[place], self.latest[k] = self.latest[k], place
        self.n_listed = self.end

    cdef void take_first(self, int64_t n_seen, bint is_known) noexcept nogil:
        """Follow the delay of a question that was asked before anything was learned."""
        if n_seen > 0 and not is_known:
            return      # it does not find its question even if its label comes at once
        if self.n_first > 0 and self.asked_at == n_seen:
            self.n_first -= 1
            self.delay += (<double>n_seen - self.delay) / MEMORY
        else:
            self.n_first, self.asked_at = 0, -1

    cdef void forget(self) noexcept nogil:
        """Forget all questions."""
        self.first = self.end = self.n_listed = 0

    cdef int reserve_columns(self, int n_columns) except -1:
        """Allocate memory for `forget_columns`."""
        cdef int column
        if n_columns > self.n_columns:
            self.resize(&self.freed, n_columns, sizeof(int))
            for column in range(self.n_columns, n_columns):
                self.freed[column] = 0
            self.n_columns = n_columns
        return 0

    cdef void forget_columns(self, const uint8_t* held) noexcept:
        """Note that the columns that are not marked were freed."""
        cdef int column
        for column in range(self.n_columns):
            self.freed[column] += not held[column]

    cdef uint64_t hash_of(self, const double* row, Py_ssize_t stride, const int* columns,
                          int n) noexcept nogil:
        """A hash of row[column * stride] in n columns, in any order; without missing values."""
        cdef uint64_t total = 0, name
        cdef Bits cell
        cdef int k
        for k in range(n):
            cell.value = row[columns[k] * stride] + 0.0     # -0.0 becomes 0.0
            if cell.value == cell.value:
                name = columns[k]
                if columns[k] < self.n_columns:
                    name |= <uint64_t>self.freed[columns[k]] << 32
                total += mix(cell.bits ^ mix(name + 1))
        return total

    cdef Pace pace(self) noexcept nogil:
        """How fast weights follow the next label; the owner adds the claims."""
        cdef Pace pace
        pace.step = 1.0 / sqrt(1.0 + self.delay)
        pace.share = sqrt(pace.step)
        pace.claims, pace.is_of_question = NULL, True
        return pace

    # ---------------------------------------------------------------- state

    FIELDS = {
        "delay": ("number", 0.0, float(LARGEST_COUNT)), "is_closed": ("flag",),
        "n_first": ("whole", 0, MOST), "asked_at": ("whole", -1, LARGEST_COUNT),
        "rows": ("array", np.uint64, "questions"),
        "moments": ("whole_numbers", np.int64, "questions", {"most": LARGEST_COUNT}),
        "ages": ("whole_numbers", np.int64, "questions", {"most": MOST - 1}),
        "answers": ("array", np.float64, "questions", None),
        "freed": ("whole_numbers", np.int32, None, {"most": 2**31 - 1}),
    }
    DEFAULTS = {"n_first": 0, "asked_at": -1, "freed": np.empty(0, np.int32)}

    cdef object check_answers(self, int width, int64_t n_seen):
        """The answers of the questions that wait, if their owner can have given them."""
        views = self.views()
        waits = views["moments"] >= 0
        require(self.asked_at <= n_seen, "Questions: the last one comes later")
        require(not np.any(waits) or (self.width == width and np.all(views["moments"] <= n_seen)),
                "Questions: there are no such questions")
        return views["answers"][waits].reshape(-1, width)

    cdef dict views(self):
        """The arrays of all places, also of questions that are answered."""
        cdef Py_ssize_t n = self.end - self.first, first = self.first
        return {
            "rows": view(self.rows + first, "u8", (n,)),
            "moments": view(self.moments + first, "i8", (n,)),
            "answers": view(self.answers + first * self.width, "f8", (n, self.width)),
        }

    cdef dict fields(self):
        """The questions that wait; `ages` are the numbers of questions that were kept later."""
        views = self.views()
        waits = views["moments"] >= 0
        ages = np.arange(len(waits), dtype=np.int64)[::-1]
        return fields_of(self, self.FIELDS, {
            "is_closed": bool(self.is_closed), "n_first": self.n_first,
            "asked_at": self.asked_at, "ages": ages[waits],
            "freed": view(self.freed, "i4", (self.n_columns,)),
            **{name: values[waits] for name, values in views.items()}})

    cdef int load(self, dict fields) except -1:
        ages, answers = fields["ages"], fields["answers"]
        self.is_closed, self.delay = fields["is_closed"], fields["delay"]
        self.n_first, self.asked_at = fields["n_first"], fields["asked_at"]
        self.width = <int>answers.shape[1]
        require(np.all(np.diff(ages) < 0) and np.all(ages < self.most(self.width)),
                "Questions: the ages do not descend, or are too high")
        self.reserve_columns(<int>len(fields["freed"]))
        view(self.freed, "i4", (self.n_columns,))[...] = fields["freed"]
        if len(ages):
            self.end = 1 + int(ages[0])
            self.reserve(self.end)
            views = self.views()
            views["moments"][...] = -1
            for name, values in views.items():
                values[self.end - 1 - ages] = fields[name]
        return 0
