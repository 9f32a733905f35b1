"""Build the compiled core; everything else about the package is in pyproject.toml."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup

# RIVER_EXTRA_TREES_BUILD=checked turns on bounds checks and C asserts in the core.
CHECKED = os.environ.get("RIVER_EXTRA_TREES_BUILD") == "checked"

DIRECTIVES = {
    "language_level": "3",
    "boundscheck": CHECKED,
    "wraparound": False,
    "initializedcheck": CHECKED,
    "cdivision": True,
    "embedsignature": False,
}

extensions = [
    Extension(
        str(path.with_suffix("")).replace(os.sep, "."),
        [str(path)],
        include_dirs=[np.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
        # Contraction into fused multiply-adds would make answers depend on the processor.
        extra_compile_args=["-O2", "-ffp-contract=off"] + (["-UNDEBUG"] if CHECKED else []),
    )
    for path in sorted(Path("river_extra_trees/_core").glob("*.pyx"))
]

setup(ext_modules=cythonize(extensions, compiler_directives=DIRECTIVES))
