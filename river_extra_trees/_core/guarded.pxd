"""Objects of which one call runs at a time.

A call of a core object may run Python: the methods of a value in the sample, or a finalizer. That
Python, another thread or a signal handler may call the same object again, half-way through a
change. So every method that reads or writes a structure holds the object while it runs, and a
second call raises a RuntimeError.
"""

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

cdef class Guarded:
    cdef long in_use        # 1 while a call holds this object; no part of the state

    cdef Use using(self)

cdef class Use:
    """Holds an object in a `with` statement; for methods that are not called per sample."""
    cdef Guarded held

cdef class Holder:
    """Holds an object for as long as this one lives."""
    cdef Guarded held

cdef int refuse_call() except -1

cdef inline int hold(Guarded guarded) except -1:
    """Hold an object until `end_use`, or refuse a call while another one runs."""
    return 0 if begin_use(&guarded.in_use) else refuse_call()

cdef inline void release(Guarded guarded) noexcept:
    """Let the next call in."""
    end_use(&guarded.in_use)
