"""Check that a build stops at bugs that were planted on purpose; fail if it misses one.

Usage: python -m tools.planted_bugs asan|checked. `make asan` and `make checked-core` do this before
the tests: a green run of checks that are blind, for instance because of -fwrapv, would prove
nothing. The sanitizers have to be loaded by tools/under_sanitizers.sh.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.compiled import SUFFIX, build

SOURCE = Path(__file__).parents[1] / "tests" / "planted" / "planted.pyx"
BUGS = {
    "asan": {
        "heap_overflow": ("heap_overflow(8)", "heap-buffer-overflow"),
        "signed_overflow": ("signed_overflow(1)", "signed integer overflow"),
        "bad_shift": ("bad_shift(40)", "shift exponent 40 is too large"),
    },
    "checked": {
        "read_behind_a_view": ("read_behind_a_view(8)", "IndexError: Out of bounds"),
        "read_behind_a_list": ("read_behind_a_list(8)", "IndexError: list index out of range"),
        "false_c_assert": ("false_c_assert(8)", "Assertion `"),
    },
}


def main() -> int:
    """Return the number of bugs that were missed."""
    missed = 0
    mode = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        build(SOURCE, mode, Path(name, f"planted{SUFFIX}"))
        for bug, (call, message) in BUGS[mode].items():
            command = [sys.executable, "-c", f"import planted; planted.{call}"]
            done = subprocess.run(command, cwd=name, capture_output=True, text=True)
            caught = done.returncode != 0 and message in done.stderr
            missed += not caught
            print(f"planted {bug}: {'caught' if caught else 'MISSED'}")
    return missed


if __name__ == "__main__":
    sys.exit(main())
