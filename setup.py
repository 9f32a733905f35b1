"""Build the compiled core; everything else about the package is in pyproject.toml.

The environment variable ``RIVER_EXTRA_TREES_BUILD`` chooses how it is compiled:

- ``release`` (the default): what users get.
- ``checked``: bounds checks of lists and memoryviews, and the asserts in Python's own C macros.
  Raw pointers, by which most of the core reads, are for ``asan``.
- ``asan``: address and undefined-behaviour sanitizers. Without bounds checks on purpose: those
  would raise before the sanitizer sees the bug. Run it through ``make asan``.
- ``coverage``: gcc counts the lines of the generated C, for the coverage of the Cython lines.

Each mode, together with the flags, the compiler and the version of Cython, has a folder of its
own under ``build/``. So nothing built one way is taken for the other, and going
back to an earlier mode costs no compilation.
"""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
from pathlib import Path

import Cython
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CORE = Path("river_extra_trees/_core")
# One module holds what Cython's generated code has in common, above all that of memoryviews.
SHARED = "river_extra_trees._core._cyutility"
MODES = ("release", "checked", "asan", "coverage")

# Contraction into fused multiply-adds would make answers depend on the processor.
COMMON_FLAGS = ["-O3", "-g0", "-ffp-contract=off"]
SANITIZERS = "-fsanitize=address,undefined"
COMPILE_FLAGS = {
    "release": COMMON_FLAGS,
    # Many interpreters compile extensions with -DNDEBUG, which silences C asserts.
    "checked": ["-O1", "-ffp-contract=off", "-UNDEBUG"],
    # Python's own -fwrapv would hide signed overflows from the sanitizer, hence -fno-wrapv.
    "asan": [
        *("-O1", "-g", "-ffp-contract=off", "-UNDEBUG", "-fno-omit-frame-pointer"),
        *(SANITIZERS, "-fno-sanitize-recover=undefined", "-fno-wrapv"),
    ],
    "coverage": ["-O0", "-ffp-contract=off", "--coverage"],
}
LINK_FLAGS = {"asan": [SANITIZERS], "coverage": ["--coverage"]}


def build_mode() -> str:
    """Return the mode asked for, refusing a misspelt one rather than building something else."""
    mode = os.environ.get("RIVER_EXTRA_TREES_BUILD") or "release"
    if mode not in MODES:
        raise SystemExit(f"RIVER_EXTRA_TREES_BUILD is {mode!r}; it can be {', '.join(MODES)}.")
    return mode


def directives(mode: str) -> dict[str, object]:
    """Return the compiler directives of Cython for a mode."""
    checked = mode == "checked"
    return {
        "language_level": "3",
        "boundscheck": checked,
        "wraparound": False,
        "initializedcheck": checked,
        "nonecheck": False,  # it needs Python's lock, and most loops run without
        "cdivision": True,
        "embedsignature": False,
        "linetrace": mode == "coverage",
    }


def extensions(mode: str) -> list[Extension]:
    """Return one extension per .pyx file of the core, and the one that they share."""
    paths = sorted(CORE.rglob("*.pyx"))
    sources = {".".join(path.with_suffix("").parts): [str(path)] for path in paths}
    return [
        Extension(
            name,
            source,
            extra_compile_args=list(COMPILE_FLAGS[mode]),
            extra_link_args=list(LINK_FLAGS.get(mode, [])),
            # Named, so that `log` and `exp` are not those of the oldest C library.
            libraries=["m"] if os.name == "posix" else [],
        )
        for name, source in {**sources, SHARED: []}.items()
    ]


# A list comprehension of Cython 3.3 whose list cannot grow gives its new item back twice: once
# here and once where every error ends. The next use of the item's memory then may crash.
GIVEN_BACK_TWICE = "int result = PyList_Append(list, x);\n    Py_DECREF(x);"
GIVEN_BACK_ONCE = "int result = PyList_Append(list, x);\n    if (likely(!result)) Py_DECREF(x);"


def mend(generated: list[Extension]) -> list[Extension]:
    """Correct what Cython has generated, and return it."""
    for extension in generated:
        for source in map(Path, extension.sources):
            text = source.read_text(encoding="utf-8")
            if GIVEN_BACK_TWICE in text:
                source.write_text(text.replace(GIVEN_BACK_TWICE, GIVEN_BACK_ONCE), encoding="utf-8")
    return generated


def build_folder(mode: str) -> Path:
    """Return the folder that belongs to everything which decides what the compiler makes."""
    decides = (
        directives(mode),
        COMPILE_FLAGS[mode],
        LINK_FLAGS.get(mode),
        Cython.__version__,
        [sysconfig.get_config_var(name) for name in ("EXT_SUFFIX", "CC", "CFLAGS")],
        [os.environ.get(name) for name in ("CC", "CFLAGS", "CPPFLAGS", "LDFLAGS")],
    )
    digest = hashlib.sha256(repr(decides).encode()).hexdigest()
    return Path("build") / f"{mode}-{digest[:10]}"


class BuildCore(build_ext):
    """Compile in the folder of the mode, and never leave a stale extension in the source tree."""

    def finalize_options(self) -> None:
        mode = build_mode()
        self.folder = build_folder(mode)
        # Coverage looks for the generated C beside the .pyx file, and nowhere else.
        generated = cythonize(
            extensions(mode),
            build_dir=None if mode == "coverage" else str(self.folder / "cython"),
            compiler_directives=directives(mode),
            shared_utility_qualified_name=SHARED,
            nthreads=os.cpu_count() or 1,
            force=bool(self.force),
            quiet=True,
        )
        self.distribution.ext_modules = mend(generated)
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()
        self.build_temp = str(self.folder / "objects")
        self.compiled: list[str] = []
        if self.inplace:
            self.build_lib = str(self.folder / "lib")

    def run(self) -> None:
        if self.inplace:
            self.remove_stale_extensions()
        super().run()

    def remove_stale_extensions(self) -> None:
        """Delete what another mode left in the source tree, and what has lost its .pyx file."""
        label = Path("build") / "in_place"
        same = label.exists() and label.read_text() == self.folder.name
        kept = {".".join(ext.name.split(".")[1:]) for ext in self.extensions} if same else set()
        for built in CORE.rglob("*" + sysconfig.get_config_var("EXT_SUFFIX")):
            module = built.with_name(built.name.split(".")[0])
            if ".".join(module.parts[1:]) not in kept:
                built.unlink()
        label.parent.mkdir(exist_ok=True)
        label.write_text(self.folder.name)

    def build_extensions(self) -> None:
        if self.compiler.compiler_type == "msvc":
            # /fp:precise, the default there, contracts nothing; the flags above are unknown to it.
            for extension in self.extensions:
                extension.extra_compile_args = ["/O2"]
        super().build_extensions()
        if self.compiled and sys.stdout.isatty():
            print()

    def build_extension(self, ext: Extension) -> None:
        """Compile an extension if it has changed; say on a terminal how far the build is."""
        path = Path(self.get_ext_fullpath(ext.name))
        before = path.stat().st_mtime if path.exists() else None
        super().build_extension(ext)
        if path.stat().st_mtime != before:
            self.compiled.append(ext.name)
            if sys.stdout.isatty():
                done, name = len(self.compiled), ext.name.removeprefix("river_extra_trees._core.")
                line = f"\r  {done} of {len(self.extensions)} modules compiled: {name:24}"
                print(line, end="", flush=True)


if __name__ == "__main__":
    setup(ext_modules=extensions(build_mode()), cmdclass={"build_ext": BuildCore})
