"""Jobs in threads that the main thread always waits for.

A pool of `concurrent.futures` is Python code: a signal that raises in the middle of it, as Ctrl-C
does, leaves threads behind which still write to the trees. Here no bytecode is run between the
first job and the last, so that a signal is handled when all of them are done.
"""

from cpython.pythread cimport (
    NOWAIT_LOCK, WAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock,
    PyThread_release_lock, PyThread_type_lock,
)

import _thread


cdef class Job:
    """A job for another thread. The lock is held until no thread has to do with it any more."""

    cdef PyThread_type_lock lock
    cdef object work
    cdef int number
    cdef bint begun
    cdef object error

    def __cinit__(self, work, int number):
        self.work, self.number = work, number
        self.lock = PyThread_allocate_lock()
        if self.lock == NULL:
            raise MemoryError
        PyThread_acquire_lock(self.lock, NOWAIT_LOCK)

    def __dealloc__(self):
        if self.lock != NULL:
            PyThread_free_lock(self.lock)


cdef class Ticket:
    """What a thread holds of its job: however the thread ends, it lets go of it."""

    cdef Job job

    def __cinit__(self, Job job):
        self.job = job

    def __call__(self):
        self.job.begun = True
        try:
            self.job.work(self.job.number)
        except BaseException as error:
            self.job.error = error

    def __dealloc__(self):
        if self.job is not None:
            PyThread_release_lock(self.job.lock)


cdef int start(Job job) except -1:
    _thread.start_new_thread(Ticket(job), ())
    return 0


cdef int run(object work, int n_jobs) except -1:
    """Call work(0), ..., work(n_jobs - 1), the first one here and each other in its own thread.

    What no thread could be had for, for want of memory for instance, is done here as well.
    """
    cdef Job job
    cdef int number
    if n_jobs == 1:
        work(0)
        return 0
    jobs = [Job(work, number) for number in range(1, n_jobs)]
    for job in jobs:
        try:
            start(job)
        except (MemoryError, RuntimeError):
            pass                # its ticket is gone again, and the lock open
    error = None
    try:
        work(0)
    except BaseException as raised:
        error = raised
    for job in jobs:
        with nogil:
            PyThread_acquire_lock(job.lock, WAIT_LOCK)
        if not job.begun:
            job.work(job.number)
        error = error or job.error
    if error is not None:
        raise error
    return 0
