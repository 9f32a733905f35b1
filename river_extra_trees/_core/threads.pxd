"""Jobs in threads that the main thread always waits for."""

from cpython.pythread cimport PyThread_type_lock

cdef class Job:
    cdef PyThread_type_lock lock
    cdef object work
    cdef object number
    cdef bint started       # a thread has it
    cdef bint begun         # and has begun with it
    cdef object error

cdef list jobs_of(object work, int n)
cdef int run(list jobs) except -1
