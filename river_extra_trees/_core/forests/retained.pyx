"""The samples that one tree retains. See the header for the layout."""

from libc.stdint cimport int64_t
from libc.string cimport memmove

import numpy as np

from ..memory cimport free, realloc
from ..rng cimport Rng, uniform

from ..state import State, from_state, require

LARGEST_TOTAL = 2**31 - 1   # copies of all samples of a tree: they are counted in 32 bits


cdef class Retained:
    """The samples that one tree retains, and how many copies of each.

    The samples themselves are in the window that all trees of a forest share.
    """

    def __dealloc__(self):
        free(self.slots)
        free(self.copies)

    cdef int reserve(self, int extra) except -1:
        """Make sure that `extra` samples can be added without a new allocation."""
        cdef int capacity = self.n + extra
        cdef void* memory
        if capacity <= self.capacity:
            return 0
        capacity = max(capacity, self.capacity + self.capacity // 2)
        memory = realloc(self.slots, capacity * sizeof(int))
        if memory == NULL:
            raise MemoryError
        self.slots = <int*>memory
        memory = realloc(self.copies, capacity * sizeof(int))
        if memory == NULL:
            raise MemoryError
        self.copies = <int*>memory
        self.capacity = capacity
        return 0

    cdef void add(self, int slot, int copies) noexcept nogil:
        """Retain a sample; room for it was made by `reserve`."""
        self.slots[self.n] = slot
        self.copies[self.n] = copies
        self.n += 1
        self.total += copies

    cdef void forget_first(self, int64_t k) noexcept nogil:
        """Forget k copies, those that were added first."""
        cdef int gone = 0
        self.total -= k
        while k > 0 and self.copies[gone] <= k:
            k -= self.copies[gone]
            gone += 1
        self.n -= gone
        if gone > 0:
            memmove(self.slots, self.slots + gone, self.n * sizeof(int))
            memmove(self.copies, self.copies + gone, self.n * sizeof(int))
        if k > 0:
            self.copies[0] -= <int>k

    cdef void forget_random(self, int64_t k, Rng rng) noexcept nogil:
        """Forget k of the copies, every set of k equally likely.

        Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S): a copy
        goes with probability (still to go) / (copies left to look at).
        """
        cdef int i, left, kept = 0, _
        cdef int64_t ahead = self.total
        self.total -= k
        for i in range(self.n):
            left = self.copies[i]
            for _ in range(self.copies[i]):
                if uniform(&rng) * ahead < k:
                    k -= 1
                    left -= 1
                ahead -= 1
            self.slots[kept] = self.slots[i]
            self.copies[kept] = left
            kept += left > 0
        self.n = kept

    cdef void mark(self, int* copies_of_slot) noexcept nogil:
        """Write the copies of every retained sample to its slot; the other slots stay."""
        cdef int i
        for i in range(self.n):
            copies_of_slot[self.slots[i]] = self.copies[i]

    def samples(self):
        """The retained (slot, copies), in order of forgetting."""
        return [(self.slots[i], self.copies[i]) for i in range(self.n)]

    def check(self):
        """Raise AssertionError if an invariant is broken."""
        samples = self.samples()
        assert self.n <= self.capacity
        assert all(copies > 0 for _, copies in samples)
        assert sum(copies for _, copies in samples) == self.total
        assert len({slot for slot, _ in samples}) == self.n

    def __sizeof__(self):
        return object.__sizeof__(self) + 2 * self.capacity * sizeof(int)

    def state(self):
        """Slots and copies in order of forgetting."""
        return {
            "slots": np.array([self.slots[i] for i in range(self.n)], np.int32),
            "copies": np.array([self.copies[i] for i in range(self.n)], np.int32),
        }

    @classmethod
    def restored(cls, values):
        """The samples of a state. Whether the window has them is the owner's to check."""
        cdef Retained retained = Retained()
        cdef int slot, copies
        state = State("Retained", values, ("slots", "copies"))
        slots = state.array("slots", np.int32, None)
        numbers = state.array("copies", np.int32, len(slots))
        require(np.all(numbers > 0) and numbers.sum(dtype=np.int64) <= LARGEST_TOTAL,
                "Retained: no copies of a sample, or too many")
        retained.reserve(max(1, len(slots)))
        for slot, copies in zip(slots, numbers):
            retained.add(slot, copies)
        return retained

    def __reduce__(self):
        return from_state, (type(self), self.state())


cdef Retained moved(Retained retained, const int[::1] place):
    """The same samples in another window, in which the sample of slot i is in slot place[i]."""
    cdef Retained copy = Retained()
    cdef int i
    copy.reserve(max(1, retained.n))
    for i in range(retained.n):
        copy.add(place[retained.slots[i]], retained.copies[i])
    return copy
