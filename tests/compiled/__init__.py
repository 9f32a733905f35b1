"""A compiled module of the tests: it calls functions of the core that Python does not see."""

import functools
import hashlib
import importlib.util
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")


def __getattr__(name: str) -> Any:
    """Something of core.pyx, which is compiled when a test first needs it."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(core(), name)


@functools.cache
def core() -> ModuleType:
    """Compile core.pyx as the core is compiled, unless that is done; import it."""
    source = Path(__file__).with_name("core.pyx")
    headers = sorted((ROOT / "river_extra_trees" / "_core").rglob("*.pxd"))
    mode = runpy.run_path(str(ROOT / "setup.py"))["build_mode"]()
    texts = [mode, sys.version, *(path.read_text() for path in (source, *headers))]
    digest = hashlib.sha256("".join(texts).encode()).hexdigest()[:10]
    path = ROOT / "build" / f"tests-{digest}" / f"core{SUFFIX}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        build(source, mode, path)
    spec = importlib.util.spec_from_file_location("core", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(source: Path, mode: str, path: Path) -> None:
    """Compile a module in a folder of its own, then move it to its place at once."""
    setup = runpy.run_path(str(ROOT / "setup.py"))
    flags, links = setup["COMPILE_FLAGS"][mode], setup["LINK_FLAGS"].get(mode, [])
    if os.name == "posix" and mode == "release":
        flags = [*flags, "-O1"]  # compiles in half the time; the last one wins
    includes = sorted({str(ROOT / header.parent) for header in setup["HEADERS"]})
    script = (
        "from Cython.Build import cythonize\n"
        "from setuptools import Extension, setup\n"
        f"setup(ext_modules=cythonize([Extension({source.stem!r}, [{source.name!r}],"
        f" include_dirs={includes!r}, extra_compile_args={flags!r}, extra_link_args={links!r})],"
        f" compiler_directives={setup['directives'](mode)!r},"
        f" include_path=[{str(ROOT)!r}], quiet=True))\n"
    )
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        shutil.copy(source, folder)
        Path(folder, "setup.py").write_text(script)
        command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        os.replace(Path(folder, path.name), path)
