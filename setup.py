"""Build the compiled core; everything else about the package is in pyproject.toml.

The environment variable ``RIVER_EXTRA_TREES_BUILD`` selects the mode:

- ``release`` (the default): for users.
- ``checked``: bounds checks of lists and memoryviews, and the asserts in Python's own C macros.
  Most of the core reads through raw pointers, which only ``asan`` checks. The passes over rows are
  compiled from plain C, as for processors without SSE2: so both versions are tested on any machine.
- ``asan``: address and undefined-behaviour sanitizers, without bounds checks: these would raise
  before the sanitizer sees the bug. Run it through ``make asan``.
- ``coverage``: gcc counts the lines of the generated C, for the coverage of the Cython lines.

Each combination of mode, flags, compiler and version of Cython has its own folder in ``build/``.
So objects of different builds never mix, and switching back compiles nothing again. A wheel is not
built in the folder of the build in place: pip installs a Cython for each wheel. Its files are newer
than all generated C, so Cython generates all of it again, and the build in place would follow.
"""

from __future__ import annotations

import hashlib
import os
import sysconfig
from pathlib import Path

import Cython
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CORE = Path("river_extra_trees/_core")
# This module holds the code that Cython would generate into every module, mainly for memoryviews.
SHARED = "river_extra_trees._core._cyutility"
HEADERS = sorted(CORE.rglob("*.h"))
MODES = ("release", "checked", "asan", "coverage")

# Contraction into fused multiply-adds would make predictions depend on the processor.
WINDOWS = os.name == "nt"  # where the compiler is Microsoft's
RELEASE_FLAGS = ["/O2", "/fp:precise"] if WINDOWS else ["-O3", "-g0", "-ffp-contract=off"]
SANITIZERS = "-fsanitize=address,undefined"
COMPILE_FLAGS = {
    "release": RELEASE_FLAGS,
    # Many interpreters compile extensions with -DNDEBUG, which silences C asserts.
    "checked": ["-O1", "-ffp-contract=off", "-UNDEBUG", "-DPLAIN"],
    # Python's own -fwrapv would hide signed overflows from the sanitizer, hence -fno-wrapv.
    "asan": [
        *("-O1", "-g", "-ffp-contract=off", "-UNDEBUG", "-fno-omit-frame-pointer"),
        *(SANITIZERS, "-fno-sanitize-recover=undefined", "-fno-wrapv"),
    ],
    "coverage": ["-O0", "-ffp-contract=off", "--coverage"],
}
LINK_FLAGS = {"asan": [SANITIZERS], "coverage": ["--coverage"]}


def build_mode() -> str:
    """Return the selected mode; refuse a misspelt one."""
    mode = os.environ.get("RIVER_EXTRA_TREES_BUILD") or "release"
    if mode not in MODES:
        raise SystemExit(f"RIVER_EXTRA_TREES_BUILD is {mode!r}; it can be {', '.join(MODES)}.")
    if WINDOWS and mode != "release":
        raise SystemExit(f"RIVER_EXTRA_TREES_BUILD={mode} needs gcc; Windows has release only.")
    return mode


def directives(mode: str) -> dict[str, object]:
    """Return the compiler directives of Cython for a mode."""
    checked = mode == "checked"
    return {
        "language_level": "3",
        "boundscheck": checked,
        "show_performance_hints": not checked,  # they ask to leave the bounds unchecked
        "wraparound": False,
        "initializedcheck": checked,
        "nonecheck": False,  # it needs Python's lock, and most loops run without
        "cdivision": True,
        "embedsignature": False,
        "linetrace": mode == "coverage",
    }


def extensions(mode: str) -> list[Extension]:
    """Return one extension per .pyx file of the core, and the shared one."""
    paths = sorted(CORE.rglob("*.pyx"))
    sources = {".".join(path.with_suffix("").parts): [str(path)] for path in paths}
    return [
        Extension(
            name,
            source,
            extra_compile_args=list(COMPILE_FLAGS[mode]),
            extra_link_args=list(LINK_FLAGS.get(mode, [])),
            include_dirs=sorted({str(header.parent) for header in HEADERS}),
            # Linked by name: the default would be the `log` and `exp` of the oldest C library.
            libraries=[] if WINDOWS else ["m"],
        )
        for name, source in {**sources, SHARED: []}.items()
    ]


def build_folder(mode: str, in_place: bool) -> Path:
    """Return the folder for everything that determines the compiled code."""
    decides = (
        in_place,
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
    """Compile in the folder of the mode, and leave no stale extension in the source tree."""

    def run(self) -> None:
        mode = build_mode()
        # Known here at last: an editable installation is made in place, too.
        self.folder = build_folder(mode, bool(self.inplace))
        self.build_temp = str(self.folder / "objects")
        self.parallel = self.parallel or os.cpu_count()
        if self.inplace:
            self.build_lib = str(self.folder / "lib")
            self.remove_stale_extensions()
        self.generate(mode)
        super().run()

    def generate(self, mode: str) -> None:
        """Generate the C that is compiled."""
        # Coverage looks for it beside the .pyx file only.
        generated = cythonize(
            extensions(mode),
            build_dir=None if mode == "coverage" else str(self.folder / "cython"),
            compiler_directives=directives(mode),
            shared_utility_qualified_name=SHARED,
            nthreads=os.cpu_count() or 1,
            force=bool(self.force),
            quiet=True,
        )
        by_name = {extension.name: extension for extension in generated}
        for extension in self.extensions:
            extension.sources = by_name[extension.name].sources
            extension.depends = by_name[extension.name].depends

    def remove_stale_extensions(self) -> None:
        """Delete extensions of another mode, and extensions whose .pyx file is gone."""
        label = Path("build") / "in_place"
        same = label.exists() and label.read_text() == self.folder.name
        kept = {".".join(ext.name.split(".")[1:]) for ext in self.extensions} if same else set()
        for built in CORE.rglob("*" + sysconfig.get_config_var("EXT_SUFFIX")):
            module = built.with_name(built.name.split(".")[0])
            if ".".join(module.parts[1:]) not in kept:
                built.unlink()
        label.parent.mkdir(exist_ok=True)
        label.write_text(self.folder.name)


if __name__ == "__main__":
    setup(ext_modules=extensions(build_mode()), cmdclass={"build_ext": BuildCore})
