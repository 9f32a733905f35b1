"""Jobs in threads that the main thread always waits for."""

cdef int run(object work, int n_jobs) except -1
