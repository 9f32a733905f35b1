"""Check that the sanitizers stop at bugs that were planted on purpose; fail if they miss one.

Run it by tools/under_sanitizers.sh, which `make asan` does before the tests: a green run of
sanitizers that are blind, for instance because of -fwrapv, would prove nothing.
"""

from __future__ import annotations

import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUGS = {
    "heap_overflow": ("heap_overflow(8)", "heap-buffer-overflow"),
    "signed_overflow": ("signed_overflow(1)", "signed integer overflow"),
    "bad_shift": ("bad_shift(40)", "shift exponent 40 is too large"),
}


def build(folder: Path) -> None:
    """Compile the bugs with the flags of the sanitized core."""
    flags = runpy.run_path(str(ROOT / "setup.py"))
    script = (
        "from Cython.Build import cythonize\n"
        "from setuptools import Extension, setup\n"
        f"setup(ext_modules=cythonize([Extension('planted', {[str(folder / 'planted.pyx')]!r},"
        f" extra_compile_args={flags['COMPILE_FLAGS']['asan']!r},"
        f" extra_link_args={flags['LINK_FLAGS']['asan']!r})], quiet=True))\n"
    )
    source = ROOT / "tests" / "planted" / "planted.pyx"
    (folder / "planted.pyx").write_text(source.read_text())
    (folder / "setup.py").write_text(script)
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, check=True)


def main() -> int:
    """Return the number of bugs that were missed."""
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        build(Path(name))
        for bug, (call, message) in BUGS.items():
            command = [sys.executable, "-c", f"import planted; planted.{call}"]
            done = subprocess.run(command, cwd=name, capture_output=True, text=True)
            caught = done.returncode != 0 and message in done.stderr
            missed += not caught
            print(f"planted {bug}: {'caught' if caught else 'MISSED'}")
    return missed


if __name__ == "__main__":
    sys.exit(main())
