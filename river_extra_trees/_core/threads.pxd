"""Jobs in threads that the main thread always waits for."""

from cpython.pythread cimport PyThread_type_lock

cdef class Job:
    cdef PyThread_type_lock lock
    cdef object work
    cdef object number
    cdef bint has_ticket    # which lets go of the lock when no thread holds it any more
    cdef bint begun         # a thread has begun with it
    cdef object error

cdef list jobs_of(object work, int n)
cdef int run(list jobs) except -1
