"""The stubs of the compiled modules say what the modules are."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "river_extra_trees" / "_core"


@pytest.mark.slow
def test_stubs(tmp_path: Path) -> None:
    """Every name of a stub is there, and takes what the stub says.

    Stubs leave out what only compiled code uses. What they import, such as numpy's types, `make
    lint` checks; to read it here would take ten times as long.
    """
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nfollow_imports = skip\ndisable_error_code = override\n")
    stubs = [stub.relative_to(ROOT).with_suffix("") for stub in sorted(CORE.rglob("*.pyi"))]
    modules = [".".join(stub.parts) for stub in stubs]
    command = [sys.executable, "-m", "mypy.stubtest", *modules]
    options = ["--concise", "--ignore-missing-stub", "--ignore-disjoint-bases"]
    options += ["--mypy-config-file", str(settings)]
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
