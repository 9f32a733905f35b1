"""Objects that allow only one call at a time.

A call of a core object may run Python code: the methods of a value in the sample, or a finalizer.
That code, another thread or a signal handler may call the same object in the middle of a change.
Therefore every method that reads or writes a structure locks the object while it runs, and a
second call raises a RuntimeError.

A call that changes the structures is a step: between `begin_step` and `end_step` only a lack of
memory can fail. The structures are then half changed, so that the lock is never released again:
every later call raises a RuntimeError that tells to load the last file. Everything that refuses
invalid input comes before `begin_step`, and no step calls a function written in Python, in which
a signal handler could raise an error.
"""

from .parts cimport Part

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    #define begin_use(flag) (_InterlockedExchange((flag), 1) == 0)
    #define end_use(flag) ((void)_InterlockedExchange((flag), 0))
    #elif defined(Py_GIL_DISABLED)
    #define begin_use(flag) (__atomic_exchange_n((flag), 1, __ATOMIC_ACQUIRE) == 0)
    #define end_use(flag) __atomic_store_n((flag), 0, __ATOMIC_RELEASE)
    #else
    /* Python's lock is held. */
    #define begin_use(flag) (*(flag) ? 0 : (*(flag) = 1))
    #define end_use(flag) (*(flag) = 0)
    #endif
    """
    bint begin_use(long* flag) noexcept
    void end_use(long* flag) noexcept

cdef class Guarded(Part):
    # Not part of the state:
    cdef long in_use            # 1 while a call holds the lock
    cdef bint in_step           # whether a step has begun and not ended
    cdef readonly bint is_broken    # whether a step failed

    cdef Use using(self)

cdef class Use:
    """Locks an object for a `with` statement; for methods that are not called per sample."""
    cdef Guarded held

cdef class Holder:
    """Locks an object until this one is deallocated."""
    cdef Guarded held

cdef int refuse_call(Guarded guarded) except -1

cdef inline int hold(Guarded guarded) except -1:
    """Lock an object until `release`; raise a RuntimeError if another call holds it."""
    return 0 if begin_use(&guarded.in_use) else refuse_call(guarded)

cdef inline void release(Guarded guarded) noexcept:
    """Unlock an object, unless a step failed."""
    if guarded.in_step:
        guarded.is_broken = True
    else:
        end_use(&guarded.in_use)

cdef inline void begin_step(Guarded guarded) noexcept nogil:
    """Begin to change a locked object; only a lack of memory may fail before `end_step`."""
    guarded.in_step = True

cdef inline void end_step(Guarded guarded) noexcept nogil:
    """End a step: the object is whole again."""
    guarded.in_step = False
