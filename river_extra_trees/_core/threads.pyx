"""Jobs in threads that the main thread always waits for.

A pool of `concurrent.futures` is Python code: a signal that raises in the middle of it, as Ctrl-C
does, leaves threads behind which still write to the trees. Here no bytecode is run between the
first job and the last, so that a signal is handled when all of them are done.
"""

from cpython.pythread cimport (
    NOWAIT_LOCK, WAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock,
    PyThread_release_lock,
)

import _thread


cdef class Job:
    """A call of `work` with a number. The lock is held while a thread may have to do with it."""

    def __cinit__(self, work, number):
        self.work, self.number = work, number
        self.lock = PyThread_allocate_lock()
        if self.lock == NULL:
            raise MemoryError
        PyThread_acquire_lock(self.lock, NOWAIT_LOCK)

    def __dealloc__(self):
        if self.lock != NULL:
            PyThread_acquire_lock(self.lock, NOWAIT_LOCK)
            PyThread_release_lock(self.lock)    # only an open lock may be freed
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


cdef list jobs_of(object work, int n):
    """The calls work(0), ..., work(n - 1)."""
    return [Job(work, number) for number in range(n)]


cdef int start(Job job) except -1:
    """Start a thread for a job.

    An error does not say that there is none: its number may be what there was no memory for. So
    it is the ticket that tells when no thread has to do with the job any more.
    """
    cdef Ticket ticket = Ticket(job)
    job.has_ticket = True
    _thread.start_new_thread(ticket, ())
    return 0


cdef int run(list jobs) except -1:
    """Do the first job here and each other one in its own thread, and wait for them.

    What no thread could be had for, for want of memory for instance, is done here as well: this
    fails only if a job does.
    """
    cdef Job first = jobs[0], job
    cdef int i
    for i in range(1, len(jobs)):
        try:
            start(jobs[i])
        except (MemoryError, RuntimeError):
            pass
    try:
        first.work(first.number)
    except BaseException as error:
        first.error = error
    for i in range(1, len(jobs)):
        job = jobs[i]
        if job.has_ticket:
            with nogil:
                PyThread_acquire_lock(job.lock, WAIT_LOCK)
        if not job.begun:
            job.work(job.number)
        first.error = first.error or job.error
    if first.error is not None:
        raise first.error
    return 0
