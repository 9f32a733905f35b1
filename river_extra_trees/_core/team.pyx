"""Threads that do the tasks of a job side by side. See the header."""

import _thread
from os import getpid

from cpython.pythread cimport (
    NOWAIT_LOCK, WAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock,
    PyThread_release_lock,
)


cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    #define load(number) _InterlockedOr((number), 0)
    #define store(number, value) ((void)_InterlockedExchange((number), (value)))
    #define count_up(number) (_InterlockedIncrement(number))
    #define exchange(number, old, value) \\
        (_InterlockedCompareExchange((number), (value), (old)) == (old))
    #else
    #define load(number) __atomic_load_n((number), __ATOMIC_SEQ_CST)
    #define store(number, value) __atomic_store_n((number), (value), __ATOMIC_SEQ_CST)
    #define count_up(number) __atomic_add_fetch((number), 1, __ATOMIC_SEQ_CST)
    static inline int exchange(long *number, long old, long value) {
        return __atomic_compare_exchange_n(
            number, &old, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
    #endif
    """
    long load(long* number) noexcept nogil
    void store(long* number, long value) noexcept nogil
    long count_up(long* number) noexcept nogil          # returns the new value
    bint exchange(long* number, long old, long value) noexcept nogil

cdef extern from *:
    """
    #if defined(_WIN32)
    typedef int signals;
    #define hold_signals() 0
    #define let_signals_pass(held) ((void)(held))
    #else
    #include <signal.h>
    typedef sigset_t signals;
    static sigset_t hold_signals(void) {
        /* All but those that a fault sends to the thread itself. */
        static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
        sigset_t held, before;
        size_t i;
        sigfillset(&held);
        for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
            sigdelset(&held, faults[i]);
        pthread_sigmask(SIG_BLOCK, &held, &before);
        return before;
    }
    static void let_signals_pass(sigset_t before) {
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    #endif
    """
    ctypedef struct signals:
        pass
    signals hold_signals() noexcept
    void let_signals_pass(signals before) noexcept


cdef class Job(Owner):
    """A job that consists of tasks. See the header."""

    cdef int do(self, long task, int thread) except -1 nogil:
        return 0


cdef class Team(Owner):
    """The calling thread and others, which do tasks side by side. See the header.

    Use it as a context manager: its threads end with the block.

    Parameters
    ----------
    n_threads
        Number of threads, the calling one included.
    """

    def __cinit__(self, int n_threads=1):
        cdef int thread
        self.n_threads = max(1, n_threads)
        self.renew(&self.gates, self.n_threads, sizeof(PyThread_type_lock))
        self.renew(&self.sleeps, self.n_threads, sizeof(long))
        self.ended, self.empty = PyThread_allocate_lock(), PyThread_allocate_lock()
        for thread in range(self.n_threads):
            self.gates[thread] = PyThread_allocate_lock()
            if self.gates[thread] == NULL or self.ended == NULL or self.empty == NULL:
                raise MemoryError
            PyThread_acquire_lock(self.gates[thread], NOWAIT_LOCK)

    def __dealloc__(self):
        cdef int thread
        for thread in range(self.n_threads):
            if self.gates != NULL and self.gates[thread] != NULL:
                PyThread_free_lock(self.gates[thread])
        if self.ended != NULL:
            PyThread_free_lock(self.ended)
        if self.empty != NULL:
            PyThread_free_lock(self.empty)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end_threads()

    cdef int end_threads(self) except -1:
        """Let the other threads end, and wait for them.

        A process that was forked in the middle of the call has none of them.
        """
        cdef int thread
        store(&self.is_over, True)
        for thread in range(1, self.n_threads):
            self.wake(thread)
        if self.n_started and getpid() == self.process:
            with nogil:
                PyThread_acquire_lock(self.empty, WAIT_LOCK)
                PyThread_release_lock(self.empty)
        return 0

    cdef int begin(self) except -1 with gil:
        """Start the other threads, unless that has been done.

        They inherit that signals are blocked. A signal that another thread takes, Python handles
        late: up to Python 3.12, the main thread learns of it when it next takes Python's lock,
        which may be after the call.
        """
        cdef signals before
        if self.has_begun:
            return 0
        self.has_begun, self.process = True, getpid()
        PyThread_acquire_lock(self.empty, NOWAIT_LOCK)
        before = hold_signals()
        try:
            self.start_threads()
        finally:
            let_signals_pass(before)
        return 0

    cdef int start_threads(self) except -1:
        cdef int thread
        for thread in range(1, self.n_threads):
            try:
                _thread.start_new_thread(self.work, (thread,))
                self.n_started += 1
            except (MemoryError, RuntimeError):     # the threads so far will do
                break
        return 0

    def work(self, int thread):
        """Do tasks until the team ends; called in each of the other threads."""
        while not load(&self.is_over):
            try:
                with nogil:
                    self.serve(thread)
            except BaseException as error:
                self.error = error
                store(&self.has_failed, True)
                self.finish()
        if count_up(&self.n_left) == self.n_started:
            PyThread_release_lock(self.empty)

    cdef int run(self, Job job, long n_tasks) except -1 nogil:
        """Do tasks 0 to n_tasks - 1 of a job. If one fails, its exception is raised at the end."""
        cdef long task
        cdef int thread
        cdef bint is_done = False
        if self.n_threads == 1 or n_tasks < 2:
            for task in range(n_tasks):
                job.do(task, 0)
            return 0
        if not self.has_begun:
            self.begin()
        PyThread_acquire_lock(self.ended, NOWAIT_LOCK)
        self.job, self.first, self.has_failed = <PyObject*>job, self.end, False
        store(&self.end, self.end + n_tasks)
        for thread in range(1, <int>min(<long>self.n_threads, n_tasks)):
            self.wake(thread)
        try:
            self.do_tasks(0)
            is_done = True
        finally:
            if not is_done:         # tasks that nobody has begun are skipped
                self.finish()
                while self.next_task() >= 0:
                    self.finish()
            PyThread_acquire_lock(self.ended, WAIT_LOCK)
            PyThread_release_lock(self.ended)
        if self.has_failed:
            self.raise_error()
        return 0

    cdef int raise_error(self) except -1 with gil:
        error, self.error = self.error, None
        raise error

    cdef int serve(self, int thread) except -1 nogil:
        """Do tasks of all jobs, and sleep in between."""
        while not load(&self.is_over):
            self.do_tasks(thread)
            self.sleep(thread)
        return 0

    cdef int do_tasks(self, int thread) except -1 nogil:
        """Do tasks of the current job until all have begun."""
        cdef long task = self.next_task()
        while task >= 0:
            (<Job>self.job).do(task - self.first, thread)
            self.finish()
            task = self.next_task()
        return 0

    cdef long next_task(self) noexcept nogil:
        """The next task that nobody has begun, or -1."""
        cdef long task = load(&self.next)
        while task < load(&self.end):
            if exchange(&self.next, task, task + 1):
                return task
            task = load(&self.next)
        return -1

    cdef void finish(self) noexcept nogil:
        """Count a task that is done; the last one ends the job."""
        cdef long end = self.end    # before: another job may begin with the last task
        if count_up(&self.n_done) == end:
            PyThread_release_lock(self.ended)

    cdef void sleep(self, int thread) noexcept nogil:
        """Wait for the next job or the end of the team."""
        store(&self.sleeps[thread], True)
        if (load(&self.next) < load(&self.end) or load(&self.is_over)) and (
                exchange(&self.sleeps[thread], True, False)):
            return
        PyThread_acquire_lock(self.gates[thread], WAIT_LOCK)

    cdef void wake(self, int thread) noexcept nogil:
        """Wake a thread if it sleeps; one that is about to sleep looks for tasks once more."""
        if exchange(&self.sleeps[thread], True, False):
            PyThread_release_lock(self.gates[thread])
