"""The samples that one tree retains. See the header for the layout."""

from libc.stdint cimport int64_t
from libc.string cimport memmove

import numpy as np

from ..memory cimport free, resized
from ..rng cimport Rng, uniform

from ..state import State, reduced, require

LARGEST_TOTAL = 2**31 - 1   # copies of all samples of a tree that a file may hold


cdef class Retained:
    """The samples that one tree retains, and how many copies of each.

    The samples themselves are in the window that all trees of a forest share.
    """

    def __dealloc__(self):
        free(self.slots)
        free(self.counts)

    cdef int reserve(self, Py_ssize_t extra) except -1:
        """Make sure that `extra` samples can be added without a new allocation."""
        cdef Py_ssize_t capacity = self.n + extra
        if capacity > self.capacity:
            capacity = max(capacity, self.capacity + self.capacity // 2)
            self.slots = <int*>resized(self.slots, capacity, sizeof(int))
            self.counts = <int*>resized(self.counts, capacity, sizeof(int))
            self.capacity = <int>capacity
        return 0

    cdef void add(self, int slot, int count) noexcept nogil:
        """Retain a sample; room for it was made by `reserve`."""
        self.slots[self.n] = slot
        self.counts[self.n] = count
        self.n += 1
        self.total += count

    cdef void forget_first(self, int64_t k) noexcept nogil:
        """Forget k copies, those that were added first."""
        cdef int gone = 0
        self.total -= k
        while k > 0 and self.counts[gone] <= k:
            k -= self.counts[gone]
            gone += 1
        self.n -= gone
        if gone > 0:
            memmove(self.slots, self.slots + gone, self.n * sizeof(int))
            memmove(self.counts, self.counts + gone, self.n * sizeof(int))
        if k > 0:
            self.counts[0] -= <int>k

    cdef void forget_random(self, int64_t k, Rng rng) noexcept nogil:
        """Forget k of the copies, every set of k equally likely.

        Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S): a copy
        goes with probability (still to go) / (copies left to look at).
        """
        cdef int i, left, kept = 0, _
        cdef int64_t ahead = self.total
        self.total -= k
        for i in range(self.n):
            left = self.counts[i]
            for _ in range(self.counts[i]):
                if uniform(&rng) * ahead < k:
                    k -= 1
                    left -= 1
                ahead -= 1
            self.slots[kept] = self.slots[i]
            self.counts[kept] = left
            kept += left > 0
        self.n = kept

    cdef void mark(self, int* counts_of_slot) noexcept nogil:
        """Write the copies of every retained sample to its slot; the other slots stay."""
        cdef int i
        for i in range(self.n):
            counts_of_slot[self.slots[i]] = self.counts[i]

    def samples(self):
        """The retained (slot, copies), in order of forgetting."""
        return [(self.slots[i], self.counts[i]) for i in range(self.n)]

    def check(self):
        """Raise StateError if the samples are not what their own state says."""
        require(self.n <= self.capacity and Retained.restored(self.state()).total == self.total,
                "Retained: the copies are miscounted")

    def __sizeof__(self):
        return object.__sizeof__(self) + 2 * self.capacity * sizeof(int)

    def state(self):
        """Slots and copies in order of forgetting."""
        samples = np.array(self.samples(), np.int32).reshape(-1, 2)
        return {"slots": samples[:, 0].copy(), "copies": samples[:, 1].copy()}

    @classmethod
    def restored(cls, values):
        """The samples of a state. Whether the window has them is the owner's to check."""
        cdef Retained retained = Retained()
        cdef int slot, count
        state = State("Retained", values, ("slots", "copies"))
        slots = state.array("slots", np.int32, None)
        counts = state.array("copies", np.int32, len(slots))
        require(np.all(counts > 0) and counts.sum(dtype=np.int64) <= LARGEST_TOTAL,
                "Retained: no copies of a sample, or too many")
        require(len(np.unique(slots)) == len(slots), "Retained: a sample is there twice")
        retained.reserve(max(1, len(slots)))
        for slot, count in zip(slots, counts):
            retained.add(slot, count)
        return retained

    def __reduce__(self):
        return reduced(type(self), self.state())


cdef Retained moved(Retained retained, const int[::1] place):
    """The same samples in another window, in which the sample of slot i is in slot place[i]."""
    cdef Retained copy = Retained()
    cdef int i
    copy.reserve(max(1, retained.n))
    for i in range(retained.n):
        copy.add(place[retained.slots[i]], retained.counts[i])
    return copy
