"""Threads that do the tasks of a job side by side.

A `Team` is made for one call that reads a table, or for one growth. Its threads begin with the
first job and end with the call; in between they sleep. `run` starts the tasks of a job and returns
when all are done. The calling thread does tasks, too, so that a job ends even if no other thread
can start. A task is any part of the job that no other task reads or changes; each thread takes the
next task that nobody has begun. So the results do not depend on the number of threads.

Neither side needs Python's lock between two jobs: `run` wakes the threads by a lock of the
operating system each. (An executor of `concurrent.futures` takes Python's lock for each task.)

The tasks of all jobs are numbered in one sequence. A job begins when `end` moves up, and a thread
takes a task by moving `next` up, if it is below `end`. So a thread that wakes too late cannot take
a task of a job that is over.
"""

from cpython.object cimport PyObject
from cpython.pythread cimport PyThread_type_lock

from .parts cimport Owner

cdef class Job(Owner):
    # Does one task; `thread` is the number of the thread in the team, 0 for the calling thread.
    cdef int do(self, long task, int thread) except -1 nogil

cdef class Team(Owner):
    cdef readonly int n_threads         # the calling one included
    cdef long n_started                 # other threads that were started
    cdef long process                   # number of the process that has them
    cdef long n_left                    # how many of these have left
    cdef bint has_begun                 # whether the other threads were started
    cdef PyObject* job                  # the current job
    cdef long first                     # number of its first task
    cdef long next                      # the next task that nobody has begun
    cdef long end                       # after the last task
    cdef long n_done                    # tasks of all jobs that are done
    cdef long is_over                   # whether the threads have to end
    cdef long has_failed                # whether a task of the current job failed
    cdef object error                   # exception of a task in another thread
    cdef PyThread_type_lock ended       # locked until all tasks of the job are done
    cdef PyThread_type_lock empty       # locked until all other threads have left
    cdef PyThread_type_lock* gates      # per thread: locked unless it has to wake up
    cdef long* sleeps                   # per thread: whether it waits at its gate

    cdef int begin(self) except -1 with gil
    cdef int run(self, Job job, long n_tasks) except -1 nogil
    cdef int start_threads(self) except -1
    cdef int end_threads(self) except -1
    cdef int raise_error(self) except -1 with gil
    cdef int serve(self, int thread) except -1 nogil
    cdef int do_tasks(self, int thread) except -1 nogil
    cdef long next_task(self) noexcept nogil
    cdef void finish(self) noexcept nogil
    cdef void sleep(self, int thread) noexcept nogil
    cdef void wake(self, int thread) noexcept nogil
