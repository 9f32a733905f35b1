#!/bin/sh
# Run a command with gcc's sanitizers loaded before Python, which is not built with them.
# Usage: tools/under_sanitizers.sh COMMAND [ARGUMENT ...]

# libstdc++ too, or the sanitizer cannot find the function that throws C++ exceptions.
preload=
for library in libasan.so libubsan.so libstdc++.so; do
    preload="$preload $(gcc -print-file-name=$library)"
done

export LD_PRELOAD="${preload# }"
# Python itself frees nothing at exit, so leaks are left to the tests of memory.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
# Python's own allocator would put its blocks between ours and the guarded memory around them.
export PYTHONMALLOC=malloc
export OPENBLAS_NUM_THREADS=1
exec "$@"
